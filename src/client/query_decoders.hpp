#pragma once

#include <memory>
#include <vector>

namespace tidemark::agdx {
class QueryReplyDecoder;
}

namespace tidemark::client {

// Decoders of query replies that are not in use, for the next reply: their buffers are warm. One comes back
// by being let go of.
class QueryDecoders {
 public:
  std::shared_ptr<agdx::QueryReplyDecoder> take();

 private:
  std::vector<std::shared_ptr<agdx::QueryReplyDecoder>> decoders_;
};

}  // namespace tidemark::client
