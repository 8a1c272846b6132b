#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "feed/batch.hpp"
#include "feed/position.hpp"

namespace tidemark::feed {

enum class ReaderMode : std::uint8_t {
  watch,  // the vendor's rules: no gaps, a missing topic reads as empty, up to 10,000 records a partition and
          // read
  durable,  // looks for gaps, waits for a missing topic, reads up to a cap of bytes
};
enum class Start : std::uint8_t { beginning, now };
enum class OnHistoryLost : std::uint8_t { earliest, now };
enum class ReaderState : std::uint8_t { reading, idle, waiting_for_source };
enum class ReadOutcome : std::uint8_t { batch, failure, cancelled };

struct ReaderOptions {
  std::string stream;
  std::string topic;
  ReaderMode mode = ReaderMode::watch;
  Content content = Content::changes;
  std::string index{};                       // only changes of this index; empty for all
  std::uint32_t batch = 1000;                // records a request
  std::uint32_t byte_cap = 8 * 1024 * 1024;  // of one batch, durable
  std::variant<Start, Positions> from = Start::beginning;
  std::optional<SourceIdentity> identity{};  // that the positions belong to
  OnHistoryLost on_history_lost = OnHistoryLost::earliest;
};

}  // namespace tidemark::feed
