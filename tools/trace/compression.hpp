// tools/trace/compression.hpp: bytes made small and whole again, by zstd. Layer: trace.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tools/trace/bytes.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace ashlar::trace {

class compressor {
 public:
  compressor();  // throws: std::bad_alloc
  /// A level of zstd's: higher ones take longer for little (docs/decisions/0014).
  static constexpr int usual = 5;
  /// Small numbers without a pattern, as times, are mostly smaller so than at levels 4 to 6.
  static constexpr int fastest = 1;
  /// Effects: appends the bytes to `out` as a column: length, compressed length or 0, bytes.
  void put_column(std::string& out, byte_view bytes, int level = usual);

 private:
  struct release {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, release> context_;
};

class decompressor {
 public:
  decompressor();  // throws: std::bad_alloc
  /// Effects: reads a column of at most `length_max` bytes. Returns: false where there is none.
  bool get_column(byte_reader& from, std::size_t length_max, std::string& out);

 private:
  struct release {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, release> context_;
};

}  // namespace ashlar::trace
