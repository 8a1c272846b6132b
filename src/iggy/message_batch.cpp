#include "iggy/message_batch.hpp"

#include <algorithm>
#include <limits>

#include "bytes/word.hpp"
#include "iggy/checksum.hpp"
#include "iggy/limits.hpp"

namespace tidemark::iggy {

namespace {

constexpr std::size_t kLengthAt = 32;
constexpr std::size_t kChecksumAt = 40;
constexpr std::size_t kCountAt = 48;
constexpr std::size_t kProducerFlagAt = 52;

using bytes::load;

bool all_zero(std::span<const std::uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

// 64 bits wide also where a size is not: two lengths of the sender's could wrap to a small one.
std::uint64_t frame_size(const std::uint8_t* frame) {
  return std::uint64_t{kMessageHeaderSize} + load<std::uint32_t>(frame + 32) +
         load<std::uint32_t>(frame + 36);
}
// Of a frame that check_frames() has seen, or that was just written.
std::size_t checked_size(const std::uint8_t* frame) { return static_cast<std::size_t>(frame_size(frame)); }

// The batch checksum covers bytes 0-39, 48-51 and the producer when there is one, then every frame's own
// checksum. The parts are gathered first: 8 bytes per message cost less than a second, streaming hash in the
// module.
std::uint64_t batch_checksum(const std::uint8_t* batch, std::size_t size, std::uint32_t count) {
  bytes::Buffer covered;
  covered.reserve(64 + std::size_t{count} * 8);
  bytes::Writer writer(covered);
  writer.bytes({batch, kChecksumAt});
  writer.bytes({batch + kCountAt, 4});
  if (batch[kProducerFlagAt] == 1) {
    writer.u8(1);
    writer.bytes({batch + 56, 8});
    writer.bytes({batch + 64, 2});
    writer.bytes({batch + 68, 4});
  }
  for (std::size_t at = kBatchHeaderSize; at < size; at += frame_size(batch + at))
    writer.bytes({batch + at, 8});
  return xxh3_64(covered);
}

bool valid(const Producer& producer) {
  return producer.id <= INT64_MAX && producer.epoch <= INT16_MAX && producer.base_sequence <= INT32_MAX;
}

Error refusal(Rule rule, std::size_t position = 0) {
  Error error;
  error.rule = rule;
  error.position = static_cast<std::uint32_t>(position);
  return error;
}

}  // namespace

Error encode_batch(std::span<const OutgoingMessage> messages, Dialect dialect, bytes::Buffer& out,
                   const Producer* producer) {
  if (messages.empty()) return refusal(Rule::batch_empty);
  if (messages.size() > std::numeric_limits<std::uint32_t>::max()) return refusal(Rule::message_too_large);
  if (producer != nullptr && (!is_v12(dialect) || !valid(*producer))) return refusal(Rule::producer_section);

  auto earliest = messages[0].timestamp_micros;
  auto latest = earliest;
  std::size_t size = kBatchHeaderSize;
  for (std::size_t index = 0; index < messages.size(); ++index) {
    const auto& message = messages[index];
    if (message.payload.size() > limits::kPayload || message.headers.size() > limits::kUserHeaders)
      return refusal(Rule::message_too_large, index);
    earliest = std::min(earliest, message.timestamp_micros);
    latest = std::max(latest, message.timestamp_micros);
    size += kMessageHeaderSize + message.payload.size() + message.headers.size();
  }
  if (latest - earliest > std::numeric_limits<std::uint32_t>::max()) return refusal(Rule::timestamp_spread);

  const auto start = out.size();
  out.reserve(start + size);
  bytes::Writer writer(out);
  const auto count = static_cast<std::uint32_t>(messages.size());
  writer.zeros(24);
  writer.u64(earliest);
  writer.u64(size);
  writer.u64(0);
  writer.u32(count);
  writer.u32(producer != nullptr ? 1 : 0);
  writer.u64(producer != nullptr ? producer->id : 0);
  writer.u32(producer != nullptr ? producer->epoch : 0U);
  writer.u32(producer != nullptr ? producer->base_sequence : 0);
  writer.zeros(kBatchHeaderSize - 72);

  for (std::uint32_t index = 0; index < count; ++index) {
    const auto& message = messages[index];
    const auto at = out.size();
    writer.u64(0);
    writer.u64(message.id.low);
    writer.u64(message.id.high);
    writer.u32(index);
    writer.u32(static_cast<std::uint32_t>(message.timestamp_micros - earliest));
    writer.u32(static_cast<std::uint32_t>(message.headers.size()));
    writer.u32(static_cast<std::uint32_t>(message.payload.size()));
    writer.u64(0);
    writer.bytes(message.payload);
    writer.bytes(message.headers);
    writer.patch_u64(at, xxh3_64(std::span(out).subspan(at + 8)));
  }
  writer.patch_u64(start + kChecksumAt, batch_checksum(out.data() + start, size, count));
  return {};
}

BatchReader::BatchReader(std::span<const std::uint8_t> input, Dialect dialect, bool verify) {
  read_header(input, dialect, verify);
  if (!error_) check_frames(input.first(static_cast<std::size_t>(header_.length)), verify);
  if (error_) return;
  size_ = static_cast<std::size_t>(header_.length);
  frames_ = input.subspan(kBatchHeaderSize, size_ - kBatchHeaderSize);
}

void BatchReader::fail(Rule rule, std::size_t position) {
  if (!error_) error_ = refusal(rule, position);
}

void BatchReader::read_header(std::span<const std::uint8_t> input, Dialect dialect, bool verify) {
  if (input.size() < kBatchHeaderSize) return fail(Rule::truncated, input.size());
  const auto* at = input.data();
  header_.partition_id = load<std::uint64_t>(at);
  header_.base_offset = load<std::uint64_t>(at + 8);
  header_.base_timestamp = load<std::uint64_t>(at + 16);
  header_.origin_timestamp = load<std::uint64_t>(at + 24);
  header_.length = load<std::uint64_t>(at + kLengthAt);
  header_.checksum = load<std::uint64_t>(at + kChecksumAt);
  header_.count = load<std::uint32_t>(at + kCountAt);
  if (header_.length < kBatchHeaderSize) return fail(Rule::batch_length, kLengthAt);
  if (header_.length > input.size()) return fail(Rule::truncated, input.size());
  if (header_.count == 0) return fail(Rule::batch_empty, kCountAt);

  const bool flagged = is_v12(dialect) && at[kProducerFlagAt] == 1;
  if (flagged) {
    header_.has_producer = true;
    header_.producer = {load<std::uint64_t>(at + 56), load<std::uint16_t>(at + 64),
                        load<std::uint32_t>(at + 68)};
    if (!valid(header_.producer)) return fail(Rule::producer_section, 56);
  }
  if (!verify) return;
  const bool zero = flagged ? all_zero(input.subspan(53, 3)) && all_zero(input.subspan(66, 2)) &&
                                  all_zero(input.subspan(72, kBatchHeaderSize - 72))
                            : all_zero(input.subspan(kProducerFlagAt, kBatchHeaderSize - kProducerFlagAt));
  if (!zero) fail(Rule::batch_reserved, kProducerFlagAt);
}

void BatchReader::check_frames(std::span<const std::uint8_t> batch, bool verify) {
  std::uint32_t count = 0;
  std::uint32_t last_delta = 0;
  for (std::size_t at = kBatchHeaderSize; at < batch.size();) {
    if (batch.size() - at < kMessageHeaderSize) return fail(Rule::batch_length, at);
    const auto* frame = batch.data() + at;
    const auto length = frame_size(frame);
    if (length > batch.size() - at) return fail(Rule::batch_length, at);
    const auto delta = load<std::uint32_t>(frame + 24);
    // Offsets must rise, or a reader could step back; a slice may start anywhere.
    if ((count > 0 && delta <= last_delta) || header_.base_offset > UINT64_MAX - delta)
      return fail(Rule::message_offset_delta, at + 24);
    if (verify && load<std::uint64_t>(frame + 40) != 0) return fail(Rule::batch_reserved, at + 40);
    last_delta = delta;
    count += 1;
    at += static_cast<std::size_t>(length);
  }
  if (count != header_.count) return fail(Rule::count_mismatch, kCountAt);
  if (!verify) return;
  if (batch_checksum(batch.data(), batch.size(), count) != header_.checksum)
    return fail(Rule::batch_checksum, kChecksumAt);
  for (std::size_t at = kBatchHeaderSize; at < batch.size();) {
    const auto* frame = batch.data() + at;
    const auto length = checked_size(frame);
    if (xxh3_64({frame + 8, length - 8}) != load<std::uint64_t>(frame))
      return fail(Rule::message_checksum, at);
    at += length;
  }
}

bool BatchReader::next(BatchMessage& out) {
  if (at_ >= frames_.size()) return false;
  const auto* frame = frames_.data() + at_;
  const std::size_t headers = load<std::uint32_t>(frame + 32);
  const std::size_t payload = load<std::uint32_t>(frame + 36);
  out.checksum = load<std::uint64_t>(frame);
  out.id = {load<std::uint64_t>(frame + 8), load<std::uint64_t>(frame + 16)};
  out.offset_delta = load<std::uint32_t>(frame + 24);
  out.timestamp_delta = load<std::uint32_t>(frame + 28);
  out.payload = frames_.subspan(at_ + kMessageHeaderSize, payload);
  out.headers = frames_.subspan(at_ + kMessageHeaderSize + payload, headers);
  out.offset = header_.base_offset + out.offset_delta;
  out.origin_timestamp = header_.origin_timestamp + out.timestamp_delta;
  at_ += kMessageHeaderSize + payload + headers;
  return true;
}

PollReply::PollReply(std::span<const std::uint8_t> body, Dialect dialect, bool verify)
    : body_(body), dialect_(dialect), verify_(verify) {
  bytes::Reader reader(body);
  partition_id_ = reader.u32();
  current_offset_ = reader.u64();
  count_ = reader.u32();
  if (is_v12(dialect)) context_ = {reader.u64(), reader.u64(), reader.u64()};
  error_ = reader.error();
  at_ = reader.position();
}

bool PollReply::next_batch(BatchReader& out) {
  if (error_) return false;
  if (at_ == body_.size()) {
    if (seen_ != count_) error_ = refusal(Rule::count_mismatch, 12);
    return false;
  }
  out = BatchReader(body_.subspan(at_), dialect_, verify_);
  if (out.error()) {
    error_ = refusal(out.error().rule, at_ + out.error().position);
    return false;
  }
  at_ += out.size();
  seen_ += out.header().count;
  return true;
}

bool PollReply::next(PolledMessage& out) {
  BatchMessage message;
  while (!batch_.next(message))
    if (!next_batch(batch_)) return false;
  out.offset = message.offset;
  out.timestamp_micros = batch_.header().base_timestamp;
  out.origin_timestamp_micros = message.origin_timestamp;
  out.id = message.id;
  out.payload = message.payload;
  out.headers = message.headers;
  return true;
}

// `section` stands behind the partition's status.
PollReply::PollReply(bytes::Reader& section) : dialect_(Dialect::v12), verify_(true) {
  current_offset_ = section.u64();
  count_ = section.u32();
  context_ = {section.u64(), section.u64(), section.u64()};
  section.skip(8);  // where to go on: that follows from the records
}

FetchReply::FetchReply(std::span<const std::uint8_t> body) : records_(body) {
  constexpr std::size_t section_size = 56;
  const auto count = records_.u32();
  if (count > records_.remaining() / section_size) records_.fail(Rule::truncated);
  sections_ = bytes::Reader(records_.take(records_.ok() ? count * section_size : 0));
}

std::optional<PollReply> FetchReply::next(std::uint32_t& status) {
  if (sections_.at_end()) {
    records_.expect_end();
    return std::nullopt;
  }
  const auto partition = sections_.u32();
  status = sections_.u32();
  PollReply reply(sections_);
  reply.partition_id_ = partition;
  reply.body_ = records_.take(sections_.u32());
  if (!records_.ok()) return std::nullopt;
  return reply;
}

}  // namespace tidemark::iggy
