#include "iggy/command/batch_tape.hpp"
#include "iggy/command/command.hpp"
#include "iggy/command/records.hpp"

namespace tidemark::iggy {

namespace {

using namespace record;

constexpr Field kTopicId[] = {{"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}};
constexpr Field kStreamId[] = {{"stream_id", Kind::identifier}};
constexpr Field kGroupId[] = {
    {"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}, {"group_id", Kind::identifier}};
constexpr Field kCreateGroup[] = {
    {"stream_id", Kind::identifier}, {"topic_id", Kind::identifier}, {"name", Kind::name}};

constexpr Field kGroup[] = {{"id", Kind::u32},
                            {"partitions_count", Kind::u32},
                            {.key = "members_count", .kind = Kind::u32, .counts = true},
                            {"name", Kind::name}};
constexpr Field kMember[] = {{"id", Kind::u32}, {"partitions", Kind::list_u32}};
constexpr Field kGroupReply[] = {{"group", Kind::map, kGroup}, {"members", Kind::list_counted, kMember}};
constexpr Field kGroups[] = {{"groups", Kind::list_rest, kGroup}};
constexpr Field kAssignment[] = {{"generation", Kind::u64}, {"partitions", Kind::list_u32}};

constexpr Field kMembership[] = {{"stream_id", Kind::u32}, {"topic_id", Kind::u32}, {"group_id", Kind::u32}};
constexpr Field kClient[] = {
    {"client_id", Kind::u32},
    {"user_id", Kind::u32},
    {"transport", Kind::u8},
    {"address", Kind::text},
    {.key = "consumer_groups_count", .kind = Kind::u32, .counts = true},
    {"consumer_groups", Kind::list_counted, kMembership},
};
constexpr Field kListedClient[] = {{"client_id", Kind::u32},
                                   {"user_id", Kind::u32},
                                   {"transport", Kind::u8},
                                   {"address", Kind::text},
                                   {"consumer_groups_count", Kind::u32}};
constexpr Field kClients[] = {{"clients", Kind::list_rest, kListedClient}};
constexpr Field kClientId[] = {{"client_id", Kind::u32}};

constexpr Field kCache[] = {{"stream_id", Kind::u32}, {"topic_id", Kind::u32}, {"partition_id", Kind::u32},
                            {"hits", Kind::u64},      {"misses", Kind::u64},   {"hit_ratio", Kind::f32}};
constexpr Field kStats[] = {
    {"process_id", Kind::u32},
    {"cpu_usage", Kind::f32},
    {"total_cpu_usage", Kind::f32},
    {"memory_usage", Kind::u64},
    {"total_memory", Kind::u64},
    {"available_memory", Kind::u64},
    {"run_time", Kind::u64},
    {"start_time", Kind::u64},
    {"read_bytes", Kind::u64},
    {"written_bytes", Kind::u64},
    {"messages_size_bytes", Kind::u64},
    {"streams_count", Kind::u32},
    {"topics_count", Kind::u32},
    {"partitions_count", Kind::u32},
    {"segments_count", Kind::u32},
    {"messages_count", Kind::u64},
    {"clients_count", Kind::u32},
    {"consumer_groups_count", Kind::u32},
    {"hostname", Kind::text},
    {"os_name", Kind::text},
    {"os_version", Kind::text},
    {"kernel_version", Kind::text},
    {"iggy_server_version", Kind::text},
    {"iggy_server_semver", Kind::u32},
    {"cache_metrics", Kind::list, kCache},
    {"threads_count", Kind::u32},
    {"free_disk_space", Kind::u64},
    {"total_disk_space", Kind::u64},
    {.key = "open_files_count", .kind = Kind::u64, .in = In::v12, .tail = true},
    {.key = "open_files_limit", .kind = Kind::u64, .in = In::v12, .tail = true},
};

constexpr Field kScope[] = {{.key = "scope", .kind = Kind::u8, .optional = true, .otherwise = 1}};
constexpr Field kOption[] = {{"key", Kind::name},
                             {"kind", Kind::u8},
                             {.key = "flags", .kind = Kind::u8, .in = In::v12},
                             {"default", Kind::blob},
                             {"description", Kind::text}};
constexpr Field kOptions[] = {{"entries", Kind::list, kOption}};

constexpr Field kCreateToken[] = {{"name", Kind::name},
                                  {.key = "expiry", .kind = Kind::u64, .optional = true}};
constexpr Field kToken[] = {{"token", Kind::secret_text}};
constexpr Field kTokenName[] = {{"name", Kind::name}};

constexpr Field kBindSession[] = {
    {"protocol_version", Kind::version}, {"sdk_name", Kind::name}, {"sdk_version", Kind::name},
    {"client_id", Kind::u128},           {"session", Kind::u64},   {"metadata_watermark", Kind::u64},
    {"bind_secret", Kind::bytes32}};
constexpr Field kBound[] = {{"user_id", Kind::u32},
                            {"session", Kind::u64},
                            {"server_protocol_version", Kind::u32},
                            {"server_version", Kind::name}};
constexpr Field kSession[] = {
    {"client_id", Kind::u128}, {"session", Kind::u64}, {"metadata_watermark", Kind::u64}};
constexpr Field kRouting[] = {{"consumer_session", Kind::map, kSession}, {"primary", Kind::map, kNode}};

constexpr Field kPoll[] = {
    {"consumer", Kind::consumer},   {"stream_id", Kind::identifier},
    {"topic_id", Kind::identifier}, {"partition_id", Kind::optional_partition},
    {"strategy", Kind::strategy},   {"count", Kind::u32},
    {"auto_commit", Kind::flag},
};
constexpr Field kDeferredPoll[] = {
    {"consumer", Kind::consumer},      {"stream_id", Kind::identifier},
    {"topic_id", Kind::identifier},    {"partition_id", Kind::optional_partition},
    {"strategy", Kind::strategy},      {"count", Kind::u32},
    {"auto_commit", Kind::flag},       {"wait_us", Kind::u64},
    {"min_count", Kind::u32},          {"max_bytes", Kind::u32},
    {"request_timeout_us", Kind::u64},
};
constexpr Field kTarget[] = {{"partition_id", Kind::u32},
                             {"strategy", Kind::strategy},
                             {"max_bytes", Kind::u32},
                             {"incarnation", Kind::u64},
                             {"owner_generation", Kind::u64}};
constexpr Field kFetch[] = {
    {"consumer", Kind::consumer},
    {"stream_id", Kind::identifier},
    {"topic_id", Kind::identifier},
    {"wait_us", Kind::u64},
    {"request_timeout_us", Kind::u64},
    {"min_count", Kind::u32},
    {"count", Kind::u32},
    {"max_bytes", Kind::u32},
    {"auto_commit", Kind::flag},
    {"targets", Kind::list, kTarget},
};
constexpr Field kOffsetOf[] = {{"consumer", Kind::offset_consumer},
                               {"stream_id", Kind::identifier},
                               {"topic_id", Kind::identifier},
                               {"partition_id", Kind::optional_partition}};

constexpr Field kConfirmation[] = {{"stream_id", Kind::u32},
                                   {"topic_id", Kind::u32},
                                   {"partition_id", Kind::u32},
                                   {"base_offset", Kind::u64}};
constexpr Field kConfirmations[] = {{"confirmations", Kind::list, kConfirmation}};

constexpr Field kSend[] = {{.key = "", .kind = Kind::custom, .custom = &kSendBody}};
constexpr Field kPolled[] = {{.key = "", .kind = Kind::custom, .custom = &kPollReply}};
constexpr Field kFetched[] = {{.key = "", .kind = Kind::custom, .custom = &kFetchReply}};

constexpr Command kCommands[] = {
    {10, false, {}, kStats},
    {13, false, kScope, kOptions},
    {14, false, kSession, {}},
    {15, false, kBindSession, kBound},
    {20, false, {}, kClient},
    {21, true, kClientId, kClient},
    {22, false, {}, kClients},
    {42, false, kCreateToken, kToken},
    {43, false, kTokenName, {}},
    {100, false, kPoll, kPolled},
    {101, true, kSend, kConfirmations},  // an empty body is a send that the server recognised as a repeat
    {103, false, kPoll, kRouting},
    {104, false, kPoll, kPolled},
    {106, false, kDeferredPoll, kPolled},
    {108, false, {}, {}},
    {109, false, kFetch, kFetched},
    {123, false, kOffsetOf, kRouting},
    {205, false, kStreamId, {}},
    {305, false, kTopicId, {}},
    {600, true, kGroupId, kGroupReply},
    {601, false, kTopicId, kGroups},
    {602, false, kCreateGroup, kGroupReply},
    {603, false, kGroupId, {}},
    {604, false, kGroupId, {}},
    {605, false, kGroupId, {}},
    {606, true, kGroupId, kAssignment},
};

}  // namespace

const CommandSet& all_commands() {
  static const CommandSet kSet{kCommands, &feed_commands()};
  return kSet;
}

}  // namespace tidemark::iggy
