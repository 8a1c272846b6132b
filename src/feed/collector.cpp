#include "feed/collector.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace tidemark::feed {
namespace {

// What was collected is a few runs in order, one or more of each partition: neighbours are merged until one
// is left.
template <class Before>
void merge_runs(std::vector<std::uint32_t>& order, std::vector<std::uint32_t>& merged, Before before) {
  merged.resize(order.size());
  for (bool is_one_run = false; !is_one_run; order.swap(merged)) {
    const auto* first = order.data();
    const auto* const end = first + order.size();
    auto* out = merged.data();
    const auto run_end = [&](const std::uint32_t* at) {
      do ++at;
      while (at != end && !before(*at, at[-1]));
      return at;
    };
    is_one_run = true;
    while (first != end) {
      const auto* const middle = run_end(first);
      const auto* const last = middle == end ? end : run_end(middle);
      is_one_run = is_one_run && last == end;
      const auto* right = middle;
      while (first != middle && right != last) *out++ = before(*right, *first) ? *right++ : *first++;
      while (first != middle) *out++ = *first++;
      while (right != last) *out++ = *right++;
      first = last;
    }
  }
}

}  // namespace

void Collector::clear() {
  batch_.changes.count = 0;
  batch_.records.count = 0;
  skipped_ = {};
}

void Collector::take(std::uint32_t partition, const std::vector<iggy::PolledMessage>& messages) {
  if (batch_.content == Content::records) {
    for (const auto& message : messages) {
      std::array<std::uint8_t, 16> id;
      std::memcpy(id.data(), &message.id.low, 8);
      std::memcpy(id.data() + 8, &message.id.high, 8);
      batch_.records.append(partition, message.offset, message.timestamp_micros,
                            message.origin_timestamp_micros, id, message.payload, message.headers);
    }
    return;
  }
  payloads_.clear();
  payloads_.reserve(messages.size());
  for (const auto& message : messages)
    payloads_.push_back({partition, static_cast<std::uint32_t>(message.payload.size()), message.offset,
                         message.timestamp_micros, message.payload.data()});
  changes_.decode(payloads_, batch_.changes, skipped_);
}

void Collector::make_keys(bool keep_partition_order) {
  const bool is_changes = batch_.content == Content::changes;
  const auto* times = is_changes ? batch_.changes.timestamp.data() : batch_.records.timestamp.data();
  const auto* partitions =
      is_changes ? batch_.changes.feed_partition.data() : batch_.records.partition.data();
  keys_.assign(times, times + batch_.count());
  if (!keep_partition_order) return;
  struct Latest {
    std::uint32_t partition = 0;
    std::uint64_t time = 0;
  };
  std::vector<Latest> latest;  // few: runs are long, and partitions capped
  for (std::size_t at = 0; at < keys_.size();) {
    const auto partition = partitions[at];
    auto found = std::find_if(latest.begin(), latest.end(),
                              [&](const Latest& one) { return one.partition == partition; });
    if (found == latest.end()) found = latest.insert(found, {partition, 0});
    auto& time = found->time;
    for (; at < keys_.size() && partitions[at] == partition; ++at)
      keys_[at] = time = std::max(time, keys_[at]);
  }
}

void Collector::finish(bool keep_partition_order) {
  if (count() < 2) return;
  make_keys(keep_partition_order);
  const bool is_changes = batch_.content == Content::changes;
  const auto* partitions =
      is_changes ? batch_.changes.feed_partition.data() : batch_.records.partition.data();
  const auto* offsets = is_changes ? batch_.changes.offset.data() : batch_.records.offset.data();
  const auto before = [&](std::uint32_t left, std::uint32_t right) {
    if (keys_[left] != keys_[right]) return keys_[left] < keys_[right];
    if (partitions[left] != partitions[right]) return partitions[left] < partitions[right];
    return offsets[left] < offsets[right];
  };
  order_.resize(count());
  std::iota(order_.begin(), order_.end(), 0U);
  if (std::is_sorted(order_.begin(), order_.end(), before)) return;
  merge_runs(order_, merged_, before);
  if (is_changes)
    batch_.changes.permute(order_, change_scratch_);
  else
    batch_.records.permute(order_, record_scratch_);
}

}  // namespace tidemark::feed
