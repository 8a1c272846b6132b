#include <emscripten/bind.h>

#include <cstdlib>

// Embind's registry with the three types that cross the border. The one that comes with it registers every
// type there is, and thereby links the glue of strings, big integers, views and values into each page.
namespace {

using namespace emscripten::internal;

InitFunc* first_bindings = nullptr;

}  // namespace

extern "C" {

void _embind_register_bindings(InitFunc* bindings) {
  bindings->next = first_bindings;
  first_bindings = bindings;
}

void _embind_initialize_bindings() {
  for (const auto* bindings = first_bindings; bindings != nullptr; bindings = bindings->next)
    bindings->init_func();
}

// Only asked for the name of a type that was not registered; the glue frees it.
const char* __getTypeName(const std::type_info*) { return static_cast<const char*>(std::calloc(1, 1)); }

}  // extern "C"

EMSCRIPTEN_BINDINGS(types) {
  _embind_register_void(TypeID<void>::get(), "void");
  // Nothing here is one: the glue of the others wants what only this one asks for.
  _embind_register_bool(TypeID<bool>::get(), "bool", true, false);
  _embind_register_integer(TypeID<std::uint32_t>::get(), "unsigned int", 4, 0, UINT32_MAX);
  _embind_register_float(TypeID<double>::get(), "double", 8);
}
