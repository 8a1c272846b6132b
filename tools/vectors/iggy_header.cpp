#include "iggy_header.hpp"

#include "iggy/operation.hpp"
#include "iggy/result_code.hpp"
#include "tape_compare.hpp"

namespace vectors {

namespace {

using namespace tidemark;
using namespace tidemark::iggy;

std::string_view operation_name(std::uint8_t operation) {
  switch (operation) {
    case 1: return "Register";
    case 2: return "NonReplicated";
    case 3: return "Logout";
    case 64: return "CreateTopicWithAssignments";
    case 65: return "CreatePartitionsWithAssignments";
    case 68: return "DeleteSegmentsWithAssignments";
    case 128: return "CreateStream";
    case 129: return "UpdateStream";
    case 130: return "DeleteStream";
    case 131: return "PurgeStream";
    case 132: return "CreateTopic";
    case 133: return "UpdateTopic";
    case 134: return "DeleteTopic";
    case 135: return "PurgeTopic";
    case 136: return "CreatePartitions";
    case 137: return "DeletePartitions";
    case 138: return "DeleteSegments";
    case 139: return "CreateConsumerGroup";
    case 140: return "DeleteConsumerGroup";
    case 146: return "CreatePersonalAccessToken";
    case 147: return "DeletePersonalAccessToken";
    case 148: return "JoinConsumerGroup";
    case 149: return "LeaveConsumerGroup";
    case 160: return "SendMessages";
    case 161: return "StoreConsumerOffset";
    case 162: return "DeleteConsumerOffset";
    default: return "";
  }
}

// The header as a map on a tape, so that it is compared like any other value.
class HeaderTape {
 public:
  HeaderTape() : out_(bytes_), mark_(out_.open(tape::Tag::map)) {}
  void text(std::string_view key, std::string_view value) { out_.key(key), out_.text(value), ++count_; }
  void u32(std::string_view key, std::uint32_t value) { out_.key(key), out_.u32(value), ++count_; }
  void u64(std::string_view key, std::uint64_t value) { out_.key(key), out_.u64(value), ++count_; }
  void u128(std::string_view key, tape::U128 value) { out_.key(key), out_.u128(value), ++count_; }
  tape::Value value() {
    out_.close(mark_, count_);
    return tape::Value(bytes_);
  }

  void common(const CommonHeader& header) {
    u128("checksum", header.checksum);
    u128("checksum_body", header.checksum_body);
    u128("cluster", header.cluster);
    u32("size", header.size);
    u32("view", header.view);
    u32("release", header.release);
    u32("command", header.command);
    u32("replica", header.replica);
  }

 private:
  bytes::Buffer bytes_;
  tape::Writer out_;
  std::size_t mark_;
  std::uint32_t count_ = 0;
};

void put(const RequestHeader& header, HeaderTape& out) {
  out.text("type", "request");
  out.common(header.common);
  out.u128("client", header.client);
  out.u128("request_checksum", header.request_checksum);
  out.u64("timestamp", header.timestamp);
  out.u64("request", header.request);
  out.u32("operation", header.operation);
  out.text("operation_name", operation_name(header.operation));
  out.u64("session", header.session);
  out.u32("user_id", header.user_id);
  out.u32("command_code_at_196", header.command_code);
  out.u64("partition_incarnation", header.partition_incarnation);
  out.u64("owner_generation", header.owner_generation);
  out.u64("minimum_metadata_op", header.minimum_metadata_op);
}

void put(const ReplyHeader& header, HeaderTape& out) {
  out.text("type", "reply");
  out.common(header.common);
  out.u128("request_checksum", header.request_checksum);
  out.u128("context", header.context);
  out.u128("client", header.client);
  out.u64("op", header.op);
  out.u64("commit", header.commit);
  out.u64("timestamp", header.timestamp);
  out.u64("request", header.request);
  out.u32("operation", header.operation);
  out.text("operation_name", operation_name(header.operation));
  out.u32("status", header.status);
  out.u32("committed_marker", header.committed_marker);
  out.u64("partition_incarnation", header.partition_incarnation);
}

void put(const EvictionHeader& header, HeaderTape& out) {
  out.text("type", "eviction");
  out.common(header.common);
  out.u128("client", header.client);
  out.u32("server_protocol_version", header.server_version);
  out.u32("server_protocol_version_min", header.server_version_min);
  out.u32("reason", header.reason);
  out.text("reason_name", eviction_info(header.reason).name);
}

}  // namespace

std::string compare_header(const nlohmann::json& expected, const Frame& frame) {
  HeaderTape tape;
  switch (frame.kind()) {
    case FrameKind::request: put(frame.request(), tape); break;
    case FrameKind::reply: put(frame.reply(), tape); break;
    case FrameKind::eviction: put(frame.eviction(), tape); break;
  }
  return compare(expected, tape.value(), "header");
}

}  // namespace vectors
