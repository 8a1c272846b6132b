#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "machine/operation.hpp"

namespace tidemark::agdx::test {

inline std::filesystem::path vectors() { return std::filesystem::path(TIDEMARK_VECTORS) / "agdx"; }

inline bytes::Buffer payload(const std::string& vector) {
  std::ifstream file(vectors() / (vector + ".bin"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline nlohmann::json scenario(const std::string& name) {
  std::ifstream file(vectors() / "scenarios" / (name + ".json"));
  return nlohmann::json::parse(file);
}

// Writes plain JSON as JavaScript would hand it over: numbers as f64, { "$big": n } as u64, { "$bytes": [..]
// }.
inline void write_tape(tape::Writer& out, const nlohmann::json& value) {
  if (value.is_null()) {
    out.null();
  } else if (value.is_boolean()) {
    out.boolean(value.get<bool>());
  } else if (value.is_number()) {
    out.f64(value.get<double>());
  } else if (value.is_string()) {
    out.text(value.get<std::string>());
  } else if (value.is_array()) {
    const auto mark = out.open(tape::Tag::array);
    for (const auto& item : value) write_tape(out, item);
    out.close(mark, static_cast<std::uint32_t>(value.size()));
  } else if (value.contains("$big")) {
    out.u64(value.at("$big").get<std::uint64_t>());
  } else if (value.contains("$bytes")) {
    out.bytes(value.at("$bytes").get<std::vector<std::uint8_t>>());
  } else {
    const auto mark = out.open(tape::Tag::map);
    for (const auto& [key, item] : value.items()) {
      out.key(key);
      write_tape(out, item);
    }
    out.close(mark, static_cast<std::uint32_t>(value.size()));
  }
}
inline bytes::Buffer tape_of(const nlohmann::json& value) {
  bytes::Buffer out;
  tape::Writer writer(out);
  write_tape(writer, value);
  return out;
}

// A clock that only moves when an operation waits.
struct Clock {
  Now now{1'000'000, 1'717'171'717'000'000};
  void advance(std::uint64_t micros) {
    now.mono_micros += micros;
    now.wall_micros += micros;
  }
};

inline Reply answer(const bytes::Buffer& payload) {
  Reply reply;
  reply.payload = payload;
  return reply;
}
inline Reply lost() {
  Reply reply;
  reply.outcome = Outcome::unknown;
  return reply;
}

// Runs an operation to its end: `respond` gets each request and gives its reply. Gives back the requests.
template <class Op, class Respond>
std::vector<Request> drive(Op& operation, Clock& clock, Respond respond) {
  std::vector<Request> sent;
  while (!operation.finished()) {
    if (auto request = operation.poll_request(clock.now)) {
      sent.push_back(*request);
      const Reply reply = respond(sent.size() - 1, sent.back());
      operation.on_reply(request->tag, reply, clock.now);
      continue;
    }
    if (operation.finished()) break;
    const auto deadline = operation.poll_deadline();
    if (!deadline || sent.size() > 1000) break;
    if (*deadline > clock.now.mono_micros) clock.advance(*deadline - clock.now.mono_micros);
    operation.expire(clock.now);
  }
  return sent;
}

}  // namespace tidemark::agdx::test
