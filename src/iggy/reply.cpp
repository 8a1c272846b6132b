#include "iggy/reply.hpp"

#include "bytes/reader.hpp"
#include "iggy/operation.hpp"

namespace tidemark::iggy {

Answer read_answer(const ReplyHeader& header, std::span<const std::uint8_t> body) {
  Answer answer;
  const auto broken = [&](std::size_t position) {
    answer.error.rule = Rule::result_section;
    answer.error.position = static_cast<std::uint32_t>(position);
    return answer;
  };
  if (header.status != 0) {
    if (!body.empty()) return broken(0);
    answer.code = header.status;
    answer.from_status = true;
    return answer;
  }
  const bool framed = is_result_framed(header.operation) || (header.operation == kRegister && !body.empty());
  if (!framed) {
    answer.ok = true;
    answer.payload = body;
    return answer;
  }
  bytes::Reader reader(body);
  const auto count = reader.u32();
  if (!reader.ok() || count > reader.remaining() / 8) return broken(0);
  if (count > 0) {
    reader.skip(4);
    answer.code = reader.u32();
    reader.skip(std::size_t{count - 1} * 8);
    // Zero would be an error that is none, and a refusal carries no payload.
    return answer.code == 0 || !reader.at_end() ? broken(reader.position()) : answer;
  }
  answer.ok = true;
  answer.payload = reader.rest();
  return answer;
}

}  // namespace tidemark::iggy
