// bench_decode PAGE...: prints of the milliseconds that decoding all the pages to columns takes the median,
// the fastest round, the lower and the upper quartile.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "agdx/query_reply.hpp"

int main(int count, char** names) {
  constexpr int warm = 20;
  constexpr int timed = 101;
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<std::uint8_t>> pages;
  for (int index = 1; index < count; ++index) {
    std::ifstream file(names[index], std::ios::binary);
    pages.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  tidemark::agdx::QueryReplyDecoder decoder;
  // Pages are copied in, as they are into wasm memory.
  std::vector<std::uint8_t> input;
  std::vector<double> times;
  for (int round = 0; round < warm + timed; ++round) {
    const auto start = Clock::now();
    for (const auto& page : pages) {
      input.assign(page.begin(), page.end());
      if (decoder.decode(input) != tidemark::agdx::QueryReplyDecoder::Outcome::page) {
        std::fprintf(stderr, "a page was refused: rule %u\n", static_cast<unsigned>(decoder.error().rule));
        return 1;
      }
    }
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    if (round >= warm) times.push_back(took.count());
  }
  std::sort(times.begin(), times.end());
  std::printf("%.4f %.4f %.4f %.4f\n", times[timed / 2], times[0], times[timed / 4], times[timed * 3 / 4]);
}
