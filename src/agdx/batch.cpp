#include "agdx/batch.hpp"

#include "agdx/command.hpp"
#include "agdx/table.hpp"

namespace tidemark::agdx {

using namespace table;

namespace {

constexpr std::uint32_t item_cap = 64;
constexpr std::size_t payload_cap = 8'388'608;
constexpr std::size_t total_cap = 67'108'864;

constexpr Field item_fields[] = {u32("code"), blob("payload")};
constexpr Message item{item_fields};

bool check_batch(tape::Value value, Error& error) {
  std::size_t total = 0;
  return each(value.get("ops"), [&](tape::Value op, std::uint32_t) {
    if (number(op.get("code")) == command::batch) return refuse(error, Rule::batch_nested, "ops");
    const auto size = op.get("payload").bytes().size();
    total += size;
    return (size <= payload_cap && total <= total_cap) || refuse(error, Rule::batch_payload, "ops");
  });
}

constexpr Field request_fields[] = {
    version(),
    message("ops", item).list().keeps(Limit::items, Rule::batch_size, 0, item_cap),
};
constexpr Message request{request_fields, check_batch};

constexpr Field reply_fields[] = {blob("results").list()};
constexpr Message reply{reply_fields};

}  // namespace

constexpr Field batch_request = message("", request);
constexpr Field batch_reply = message("", reply);

}  // namespace tidemark::agdx
