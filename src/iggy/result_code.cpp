#include "iggy/result_code.hpp"

namespace tidemark::iggy {

namespace {

using enum CodeAction;

constexpr CodeInfo kCodes[] = {
    {1, stop, "Error"},
    {2, stop, "InvalidConfiguration"},
    {3, stop, "InvalidCommand"},
    {4, stop, "InvalidFormat"},
    {5, stop, "FeatureUnavailable"},
    {6, stop, "InvalidIdentifier"},
    {20, stop, "ResourceNotFound"},
    {30, log_in, "StaleClient"},
    {40, log_in, "Unauthenticated"},
    {41, stop, "Unauthorized"},
    {42, ask_credentials, "InvalidCredentials"},
    {43, stop, "InvalidUsername"},
    {44, stop, "InvalidPassword"},
    {45, stop, "InvalidUserStatus"},
    {46, stop, "UserAlreadyExists"},
    {48, stop, "CannotDeleteUser"},
    {49, stop, "CannotChangePermissions"},
    {50, stop, "InvalidPersonalAccessTokenName"},
    {51, stop, "PersonalAccessTokenAlreadyExists"},
    {52, stop, "PersonalAccessTokensLimitReached"},
    {53, ask_credentials, "InvalidPersonalAccessToken"},
    {54, ask_credentials, "PersonalAccessTokenExpired"},
    {56, stop, "InvalidPersonalAccessTokenExpiry"},
    {57, repeat_identical, "TransientNotCommitted"},
    {58, repeat, "TransientNotAccepted"},
    {59, read_back, "RequestAlreadyApplied"},
    {85, stop, "RequestTooOld"},
    {87, new_context, "HistoryUnavailable"},
    {88, new_request, "LifecycleBusy"},
    {89, other_node, "NotPrimary"},
    {90, repeat, "DeferredPollCapacityExceeded"},
    {91, stop, "ProducerIdsExhausted"},
    {92, stop, "ProducerSequenceGap"},
    {93, stop, "ProducerEpochNewer"},
    {94, stop, "ProducerUnknown"},
    {95, stop, "ProducerPartitionRequired"},
    {100, stop, "ClientNotFound"},
    {1009, stop, "StreamIdNotFound"},
    {1010, stop, "StreamNameNotFound"},
    {1012, stop, "StreamNameAlreadyExists"},
    {1013, stop, "InvalidStreamName"},
    {1014, stop, "InvalidStreamId"},
    {1020, stop, "TooManyStreams"},
    {2010, stop, "TopicIdNotFound"},
    {2011, stop, "TopicNameNotFound"},
    {2013, stop, "TopicNameAlreadyExists"},
    {2014, stop, "InvalidTopicName"},
    {2015, stop, "TooManyPartitions"},
    {2016, stop, "InvalidTopicId"},
    {2018, stop, "InvalidReplicationFactor"},
    {2019, stop, "InvalidPartitionsCount"},
    {2021, stop, "TooManyTopics"},
    {2022, stop, "PartitionsLimitReached"},
    {2023, stop, "PartitionResizeDisabled"},
    {3007, stop, "PartitionNotFound"},
    {3008, stop, "NoPartitions"},
    {3013, stop, "PartitionIdSpaceExhausted"},
    {3014, new_request, "PartitionHistoryChanged"},
    {3021, stop, "ConsumerOffsetNotFound"},
    {3022, stop, "NotResolvedConsumer"},
    {3024, stop, "TooManyConsumerOffsets"},
    {4009, stop, "InvalidMessage"},
    {4017, stop, "InvalidMessage"},
    {4018, stop, "InvalidHeader"},
    {4019, stop, "InvalidHeader"},
    {4022, stop, "InvalidMessage"},
    {4023, stop, "InvalidMessage"},
    {4024, stop, "InvalidMessage"},
    {4025, stop, "InvalidMessage"},
    {4027, stop, "InvalidMessageChecksum"},
    {4036, stop, "InvalidMessage"},
    {4037, stop, "InvalidMessage"},
    {4038, stop, "InvalidMessageTimestampDelta"},
    {4039, stop, "InvalidBatchChecksum"},
    {4040, stop, "InvalidHeader"},
    {4041, stop, "UnsupportedOptionKey"},
    {4042, stop, "InvalidOptionValue"},
    {4043, stop, "OptionsBlockTooLarge"},
    {4100, stop, "InvalidOffset"},
    {4102, stop, "SegmentSizeMismatchAtOpen"},
    {4103, stop, "InvalidOption"},
    {4104, stop, "InvalidOption"},
    {4105, stop, "InvalidOption"},
    {4106, stop, "InvalidOption"},
    {4107, stop, "InvalidOption"},
    {4108, stop, "InvalidOption"},
    {5000, stop, "ConsumerGroupIdNotFound"},
    {5003, stop, "ConsumerGroupNameNotFound"},
    {5004, stop, "ConsumerGroupNameAlreadyExists"},
    {5006, stop, "ConsumerGroupMemberNotFound"},
    {5009, sync_group, "ConsumerGroupPartitionNotOwned"},
    {5010, stop, "TooManyConsumerGroups"},
};

constexpr CodeInfo kUnknownCode{0, stop, "Unknown"};

constexpr EvictionInfo kEvictions[] = {
    {0, EvictionAction::log_in, "Reserved"},
    {1, EvictionAction::log_in, "NoSession"},
    {2, EvictionAction::stop, "ClientReleaseTooLow"},
    {3, EvictionAction::stop, "ClientReleaseTooHigh"},
    {4, EvictionAction::stop, "InvalidRequestOperation"},
    {5, EvictionAction::stop, "InvalidRequestBody"},
    {6, EvictionAction::stop, "InvalidRequestBodySize"},
    {7, EvictionAction::log_in, "SessionTooLow"},
    {8, EvictionAction::log_in, "SessionReleaseMismatch"},
    {9, EvictionAction::ask_credentials, "InvalidCredentials"},
    {10, EvictionAction::ask_credentials, "InvalidToken"},
    {11, EvictionAction::ask_credentials, "UserInactive"},
    {12, EvictionAction::new_client, "SessionError"},
    {13, EvictionAction::log_in, "StaleClient"},
    {14, EvictionAction::other_version, "IncompatibleProtocol"},
    {15, EvictionAction::stop, "MalformedLogin"},
};

constexpr EvictionInfo kUnknownReason{255, EvictionAction::log_in, "Unknown"};

}  // namespace

const CodeInfo& code_info(std::uint32_t code) {
  for (const auto& info : kCodes)
    if (info.code == code) return info;
  return kUnknownCode;
}

const EvictionInfo& eviction_info(std::uint8_t reason) {
  return reason < sizeof kEvictions / sizeof kEvictions[0] ? kEvictions[reason] : kUnknownReason;
}

}  // namespace tidemark::iggy
