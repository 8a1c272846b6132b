#include "agdx/change_columns.hpp"
#include "descriptor.hpp"
#include "iggy/defaults.hpp"
#include "name_tape.hpp"

namespace tidemark::wasm {

// Change records without a client, for payloads that an application got by itself.
class ChangeDecoder {
 public:
  std::uint32_t input(std::uint32_t length) { return input_.room(length, iggy::defaults::kMaxFrame); }
  std::uint32_t descriptor() const { return descriptor_.where(); }

  // The input holds `count + 1` starts as words, then the payloads' bytes.
  void decode(std::uint32_t count, std::uint32_t length) {
    const auto input = input_.first(length);
    const std::uint64_t head = (std::uint64_t{count} + 1) * 4;
    columns_.count = 0;
    if (head <= input.size()) {
      const std::span<const std::uint32_t> starts(reinterpret_cast<const std::uint32_t*>(input.data()),
                                                  count + 1);
      decoder_.decode_run(input.subspan(static_cast<std::size_t>(head)), starts, columns_, skipped_);
    }
    auto& words = descriptor_.reset();
    words.put(0U);
    words.put(static_cast<std::uint32_t>(columns_.count));
    words.put(std::span<const std::uint8_t>{});
    words.put(names_.size());
    words.put(columns_.feed_partition.data());
    words.put(columns_.offset.data());
    words.put(columns_.timestamp.data());
    words.put(columns_.partition.data());
    words.put(columns_.from.data());
    words.put(columns_.to.data());
    words.put(columns_.rows.data());
    words.put(columns_.index.data());
    words.put(columns_.stream.data());
  }

  void names(std::uint32_t first) {
    answer_.clear();
    write_names(names_, first, answer_);
    descriptor_.reset().put(std::span<const std::uint8_t>(answer_));
  }

  std::uint32_t malformed() const { return skipped_.malformed; }
  std::uint32_t other_version() const { return skipped_.version; }

 private:
  Input input_;
  Descriptor descriptor_;
  bytes::Buffer answer_;
  agdx::NameTable names_;
  agdx::ChangeDecoder decoder_{names_};
  agdx::ChangeColumns columns_;
  agdx::SkipCounts skipped_;
};

}  // namespace tidemark::wasm

EMSCRIPTEN_BINDINGS(changes) {
  using namespace tidemark::wasm;
  constructor<ChangeDecoder>("ChangeDecoder.new", "ChangeDecoder.delete");
  method<&ChangeDecoder::input>("ChangeDecoder.input");
  method<&ChangeDecoder::descriptor>("ChangeDecoder.descriptor");
  method<&ChangeDecoder::decode>("ChangeDecoder.decode");
  method<&ChangeDecoder::names>("ChangeDecoder.names");
  method<&ChangeDecoder::malformed>("ChangeDecoder.malformed");
  method<&ChangeDecoder::other_version>("ChangeDecoder.otherVersion");
}
