#pragma once

#include <string_view>

#include "agdx/message.hpp"

namespace vectors {

// The table of a message by the name that sidecars use; nothing for messages that are no table.
const tidemark::agdx::Field* find_message(std::string_view name);

}  // namespace vectors
