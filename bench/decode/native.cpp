// bench_decode PAGE...: decodes all the pages to columns, again and again, for at least as many milliseconds
// as a line of standard input says, and prints the mean of the times in milliseconds: a turn a line, so that
// turns alternate with others'.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "agdx/query_reply.hpp"

int main(int count, char** names) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<std::uint8_t>> pages;
  for (int index = 1; index < count; ++index) {
    std::ifstream file(names[index], std::ios::binary);
    pages.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  tidemark::agdx::QueryReplyDecoder decoder;
  // Pages are copied in, as they are into wasm memory.
  std::vector<std::uint8_t> input;
  double least = 0;
  while (std::scanf("%lf", &least) == 1) {
    const auto start = Clock::now();
    std::chrono::duration<double, std::milli> took{};
    int times = 0;
    do {
      for (const auto& page : pages) {
        input.assign(page.begin(), page.end());
        if (decoder.decode(input) != tidemark::agdx::QueryReplyDecoder::Outcome::page) {
          std::fprintf(stderr, "a page was refused: rule %u\n", static_cast<unsigned>(decoder.error().rule));
          return 1;
        }
      }
      ++times;
      took = Clock::now() - start;
    } while (took.count() < least);
    std::printf("%.5f\n", took.count() / times);
    std::fflush(stdout);
  }
}
