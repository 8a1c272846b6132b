#include "bytes/error.hpp"

namespace tidemark {
namespace {

// A number each, and the names one after another: a switch would be a branch and a string for each of them.
constexpr std::uint16_t numbers[] = {
#define RULE(number, name) number,
#include "bytes/rules.def"
#undef RULE
};
constexpr char names[] =
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name cannot stand in any
#define RULE(number, name) #name "\0"
#include "bytes/rules.def"
#undef RULE
    ;

}  // namespace

std::string_view rule_name(Rule rule) {
  if (rule == Rule::none) return "none";
  // Two rules share the contract's name: nesting that cannot be read, and values nested deeper than is valid.
  if (rule == Rule::cbor_depth) return "depth_exceeded";
  const auto* name = names;
  for (const auto number : numbers) {
    const std::string_view found(name);
    if (number == static_cast<std::uint16_t>(rule)) return found;
    name += found.size() + 1;
  }
  return "unknown";
}

}  // namespace tidemark
