#include "changefeed/lazy.hpp"

#include "changefeed/support.hpp"

namespace tidemark::changefeed::test {
namespace {

using Do = Lazy::Action;

struct Shared {
  Lazy lazy;
  Now now{1'000'000, 1'000'000};
  void pass(std::uint64_t ms) { now.mono_micros += micros_from_ms(ms); }
  Do poll() { return lazy.poll(now); }
};

TEST_CASE("nothing runs without subscribers") {
  Shared shared;
  CHECK(shared.poll() == Do::none);
  CHECK_FALSE(shared.lazy.poll_deadline());
}

// Row 61, D8: one feed for many, whoever comes and goes.
TEST_CASE("the first subscriber runs the consumer and more find it running") {
  Shared shared;
  shared.lazy.acquire();
  CHECK(shared.poll() == Do::run);
  shared.lazy.acquire();
  CHECK(shared.lazy.subscribers() == 2);
  CHECK(shared.poll() == Do::none);
}

TEST_CASE("the consumer is stopped 30 s after the last has left and not before") {
  Shared shared;
  const auto first = shared.lazy.acquire();
  const auto second = shared.lazy.acquire();
  shared.poll();
  shared.lazy.release(first, shared.now);
  shared.pass(60'000);
  CHECK(shared.poll() == Do::none);
  shared.lazy.release(second, shared.now);
  CHECK(shared.poll() == Do::hold);
  CHECK(shared.lazy.poll_deadline() == shared.now.mono_micros + 30'000'000);
  shared.pass(29'999);
  CHECK(shared.poll() == Do::none);
  shared.pass(1);
  CHECK(shared.poll() == Do::stop);
}

TEST_CASE("who returns inside the grace finds the same stream, and the grace begins anew") {
  Shared shared;
  const auto first = shared.lazy.acquire();
  shared.poll();
  shared.lazy.release(first, shared.now);
  CHECK(shared.poll() == Do::hold);
  shared.pass(29'000);
  const auto second = shared.lazy.acquire();
  CHECK(shared.poll() == Do::resume);
  shared.pass(29'000);
  shared.lazy.release(second, shared.now);
  CHECK(shared.poll() == Do::hold);
  shared.pass(29'000);
  CHECK(shared.poll() == Do::none);
}

TEST_CASE("a release may be called often and counts once") {
  Shared shared;
  const auto first = shared.lazy.acquire();
  shared.lazy.acquire();
  CHECK(shared.lazy.release(first, shared.now));
  CHECK_FALSE(shared.lazy.release(first, shared.now));
  CHECK(shared.lazy.subscribers() == 1);
}

// Row 60: reopening after the grace.
TEST_CASE("who comes while the consumer is being stopped gets a run of their own") {
  Shared shared;
  const auto first = shared.lazy.acquire();
  shared.poll();
  shared.lazy.release(first, shared.now);
  shared.pass(30'000);
  CHECK(shared.poll() == Do::stop);
  shared.lazy.acquire();
  CHECK(shared.poll() == Do::none);
  shared.lazy.ended();
  CHECK(shared.poll() == Do::run);
}

TEST_CASE("close stops whatever the subscribers and nobody comes in afterwards") {
  Shared shared;
  shared.lazy.acquire();
  shared.poll();
  shared.lazy.close();
  CHECK(shared.poll() == Do::stop);
  shared.lazy.ended();
  CHECK(shared.lazy.acquire() == 0);
  CHECK(shared.lazy.subscribers() == 0);
  CHECK(shared.poll() == Do::none);
}

}  // namespace
}  // namespace tidemark::changefeed::test
