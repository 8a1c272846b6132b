#pragma once

// Names of a reply's parts, in the order in which Keys numbers them.
namespace tidemark::agdx::reply {

inline constexpr const char* result_keys[] = {"fields", "rows", "page", "context"};
inline constexpr const char* row_keys[] = {"values", "score"};

}  // namespace tidemark::agdx::reply
