#pragma once

#include <string_view>

// Rules that the contract sets for text, over valid UTF-8. White space and control are Unicode notions.
namespace tidemark::agdx {

bool has_control(std::string_view text);
// Control characters other than newline, carriage return and tab.
bool has_control_except_layout(std::string_view text);
bool has_outer_space(std::string_view text);
bool is_blank(std::string_view text);
// 1 to 255 bytes, no white space around it, no control character: fields, indexes, engines, tables.
bool is_name(std::string_view text);

}  // namespace tidemark::agdx
