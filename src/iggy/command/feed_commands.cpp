#include "iggy/command/command.hpp"
#include "iggy/command/records.hpp"

// What reading a topic and publishing to it needs. Poll and send bodies are not among them: readers and
// publishers build and read those without a tape.
namespace tidemark::iggy {

namespace {

using namespace record;

constexpr Field kStreamId[] = {{"stream_id", Kind::identifier}};
constexpr Field kTopicId[] = {{"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}};
constexpr Field kPartitionsChange[] = {
    {"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}, {"partitions_count", Kind::u32}};

constexpr Field kLogin[] = {
    {"protocol_version", Kind::version},
    {"sdk_name", Kind::name},
    {"sdk_version", Kind::name},
    {.key = "bind_secret", .kind = Kind::bytes32, .in = In::v12},
    {"username", Kind::name},
    {"password", Kind::secret_text},
    {"client_context", Kind::context_text},
};
constexpr Field kTokenLogin[] = {
    {"protocol_version", Kind::version}, {"sdk_name", Kind::name},
    {"sdk_version", Kind::name},         {.key = "bind_secret", .kind = Kind::bytes32, .in = In::v12},
    {"token", Kind::secret_text},        {"client_context", Kind::context_text},
};
constexpr Field kLoginReply[] = {{"user_id", Kind::u32},
                                 {"session", Kind::u64},
                                 {"server_protocol_version", Kind::u32},
                                 {"server_version", Kind::name}};

constexpr Field kRoster[] = {{"name", Kind::text}, {"nodes", Kind::list, kNode}};

constexpr Field kOffsetOf[] = {{"consumer", Kind::offset_consumer},
                               {"stream_id", Kind::identifier},
                               {"topic_id", Kind::identifier},
                               {"partition_id", Kind::optional_partition}};
constexpr Field kStoreOffset[] = {
    {"consumer", Kind::offset_consumer},
    {"stream_id", Kind::identifier},
    {"topic_id", Kind::identifier},
    {"partition_id", Kind::optional_partition},
    {"offset", Kind::u64},
    {.key = "ack", .kind = Kind::u8, .optional = true, .otherwise = 1},
};
constexpr Field kDeleteOffset[] = {
    {"consumer", Kind::offset_consumer},
    {"stream_id", Kind::identifier},
    {"topic_id", Kind::identifier},
    {"partition_id", Kind::optional_partition},
    {.key = "ack", .kind = Kind::u8, .optional = true, .otherwise = 1},
};
constexpr Field kOffsetReply[] = {
    {"partition_id", Kind::u32}, {"current_offset", Kind::u64}, {"stored_offset", Kind::u64}};

constexpr Field kStreamReply[] = {{"stream", Kind::map, kStream}, {"topics", Kind::list_counted, kTopic}};
constexpr Field kCreatedStream[] = {{"stream", Kind::map, kStream}};
constexpr Field kStreams[] = {{"streams", Kind::list_rest, kStream}};
constexpr Field kTopicReply[] = {{"topic", Kind::map, kTopic},
                                 {"partitions", Kind::list_counted, kPartition}};
constexpr Field kTopics[] = {{.key = "topics_count", .kind = Kind::u32, .counts = true},
                             {"topics", Kind::list_counted, kTopic}};
constexpr Field kCreateStream[] = {{"name", Kind::name}, {"options", Kind::options}};
constexpr Field kCreateTopic[] = {{"stream_id", Kind::identifier},
                                  {"partitions_count", Kind::u32},
                                  {"name", Kind::name},
                                  {"options", Kind::options}};

constexpr Field kRoute[] = {
    {"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}, {"partition_id", Kind::u32}};
constexpr Field kRouteReply[] = {{"incarnation", Kind::u64},
                                 {"metadata_op", Kind::u64},
                                 {"view", Kind::u32},
                                 {"partitions_count", Kind::u32},
                                 {"primary_replica", Kind::u8}};

constexpr Command kCommands[] = {
    {1, false, {}, {}},
    {12, false, {}, kRoster},
    {39, false, {}, {}},
    {40, false, kLogin, kLoginReply},
    {45, false, kTokenLogin, kLoginReply},
    {105, false, kRoute, kRouteReply},
    {120, true, kOffsetOf, kOffsetReply},
    {121, false, kStoreOffset, {}},
    {122, false, kDeleteOffset, {}},
    {200, true, kStreamId, kStreamReply},
    {201, false, {}, kStreams},
    {202, false, kCreateStream, kCreatedStream},
    {203, false, kStreamId, {}},
    {300, true, kTopicId, kTopicReply},
    {301, false, kStreamId, kTopics},
    {302, false, kCreateTopic, kTopicReply},
    {303, false, kTopicId, {}},
    {402, false, kPartitionsChange, {}},
    {403, false, kPartitionsChange, {}},
};

}  // namespace

const CommandSet& feed_commands() {
  static constexpr CommandSet kSet{kCommands, nullptr};
  return kSet;
}

}  // namespace tidemark::iggy
