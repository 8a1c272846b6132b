#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bytes/tape.hpp"
#include "bytes/writer.hpp"
#include "client/problem.hpp"
#include "feed/reader_options.hpp"

namespace tidemark::agdx {
class QueryReplyDecoder;
}

namespace tidemark::client {

// What the owner must know next. A `tape` is a CoreEvent of js/core/contract.ts as a map; of a `batch` the
// reader holds the columns until its next read; a `page` is the result of a query, held by the event.
struct Event {
  enum class Kind : std::uint8_t { tape, batch, page } kind = Kind::tape;
  std::uint32_t reader = 0;
  bytes::Buffer tape;
  std::uint32_t ticket = 0;  // of a page
  std::shared_ptr<const agdx::QueryReplyDecoder> page;
};

// Events in the order they happened, each with its own data.
class Events {
 public:
  std::optional<Event> next();

  void dial(std::uint32_t generation) { generation_only("dial", generation); }
  void credentials(std::uint32_t generation) { generation_only("credentials", generation); }
  void drop(std::uint32_t generation) { generation_only("drop", generation); }
  void capabilities(std::span<const std::uint8_t> value);
  void result(std::uint32_t ticket, std::span<const std::uint8_t> value);
  void failure(std::uint32_t ticket, const Problem& problem);
  void page(std::uint32_t ticket, std::shared_ptr<const agdx::QueryReplyDecoder> page);
  void batch(std::uint32_t reader);
  void reader_failure(std::uint32_t reader, const Problem& problem);
  void reader_state(std::uint32_t reader, feed::ReaderState state);
  // Another event, written by its maker: one map with the key `type`.
  void raw(bytes::Buffer tape);
  // The reader is gone, and with it what it had to say.
  void forget_reader(std::uint32_t reader);

 private:
  void generation_only(std::string_view type, std::uint32_t generation);
  std::vector<Event> queue_;
  std::size_t taken_ = 0;  // of the queue, already handed over
};

}  // namespace tidemark::client
