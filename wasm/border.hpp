#pragma once

#include <emscripten/bind.h>

#include <cstdint>

// What JavaScript may call, as Embind functions named `Class.method` whose first argument is the object's
// address; js/core/glue.ts makes classes of them again. Embind's own classes would bring three kilobytes of
// glue for inheritance, smart pointers and properties, of which nothing is used here.
namespace tidemark::wasm {

inline std::uint32_t address(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

template <class T>
T& object(std::uint32_t self) {
  return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(self));
}

template <auto Method>
struct Bound;

template <class T, class Result, class... Arguments, Result (T::*Method)(Arguments...)>
struct Bound<Method> {
  static Result call(std::uint32_t self, Arguments... arguments) {
    return (object<T>(self).*Method)(arguments...);
  }
};

template <class T, class Result, class... Arguments, Result (T::*Method)(Arguments...) const>
struct Bound<Method> {
  static Result call(std::uint32_t self, Arguments... arguments) {
    return (object<T>(self).*Method)(arguments...);
  }
};

template <auto Method>
void method(const char* name) {
  emscripten::function(name, &Bound<Method>::call);
}

template <class T>
void constructor(const char* name, const char* destructor_name) {
  emscripten::function(name, +[] { return address(new T); });
  emscripten::function(destructor_name, +[](std::uint32_t self) { delete &object<T>(self); });
}

}  // namespace tidemark::wasm
