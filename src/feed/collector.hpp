#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agdx/change_columns.hpp"
#include "feed/batch.hpp"
#include "iggy/message_batch.hpp"

namespace tidemark::feed {

// Puts the records of a read into its batch, in the content's form, and brings them into one order at the
// end.
class Collector {
 public:
  Collector(ReaderBatch& batch, agdx::NameTable& names, std::string index) : batch_(batch), changes_(names) {
    changes_.only_index(std::move(index));
  }

  // Forgets what was collected, the skip counts of this read too.
  void clear();
  // Takes one partition's records, in their order. Payloads need not outlive the call.
  void take(std::uint32_t partition, const std::vector<iggy::PolledMessage>& messages);
  // Orders by (append time, partition, offset). With `keep_partition_order` a partition's records stay in the
  // order of their offsets even where the server's clock went back.
  void finish(bool keep_partition_order);
  std::size_t count() const { return batch_.count(); }
  // Skipped since clear(); added to the batch's totals by whoever hands the batch over.
  const agdx::SkipCounts& skipped() const { return skipped_; }

 private:
  void make_keys(bool keep_partition_order);

  ReaderBatch& batch_;
  agdx::ChangeDecoder changes_;
  agdx::SkipCounts skipped_;
  std::vector<agdx::FeedPayload> payloads_;
  std::vector<std::uint64_t> keys_;  // append time, raised to the partition's latest where order is kept
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> merged_;
  agdx::ChangeColumns change_scratch_;
  RecordColumns record_scratch_;
};

}  // namespace tidemark::feed
