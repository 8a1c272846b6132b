#pragma once

#include "agdx/message.hpp"

namespace tidemark::agdx {

// { topic_generation, partition, offset }: how far a surface's fold has applied its mutation log.
extern const Message mutation_position;

}  // namespace tidemark::agdx
