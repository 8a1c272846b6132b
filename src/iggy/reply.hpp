#pragma once

#include "iggy/frame.hpp"

namespace tidemark::iggy {

// What a reply says, whichever of its two channels it used (evictions, the third, are frames of their own).
struct Answer {
  bool ok = false;
  std::uint32_t code = 0;                 // of a refusal, from the status or the first result entry
  bool from_status = false;               // refused before it was executed
  std::span<const std::uint8_t> payload;  // result section taken off
  Error error;                            // result_section: the reply breaks the protocol, and is no success
};

Answer read_answer(const ReplyHeader& header, std::span<const std::uint8_t> body);

}  // namespace tidemark::iggy
