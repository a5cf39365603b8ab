// tools/trace/compression.cpp. Layer: trace.
#include "tools/trace/compression.hpp"

#include <new>

#include <zstd.h>

namespace ashlar::trace {
namespace {

// What is shorter does not become smaller.
constexpr std::size_t compressed_from = 32;

template <class Context>
Context* checked(Context* context) {
  if (context == nullptr) throw std::bad_alloc();
  return context;
}

}  // namespace

void compressor::release::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void decompressor::release::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

compressor::compressor() : context_(checked(ZSTD_createCCtx())) {}
decompressor::decompressor() : context_(checked(ZSTD_createDCtx())) {}

void compressor::put_column(std::string& out, byte_view bytes, int level) {
  put_varint(out, bytes.size());
  std::string packed;
  if (bytes.size() >= compressed_from) {
    packed.resize(ZSTD_compressBound(bytes.size()));
    const std::size_t size = ZSTD_compressCCtx(context_.get(), packed.data(), packed.size(),
                                               bytes.data(), bytes.size(), level);
    if (ZSTD_isError(size) != 0)
      throw std::bad_alloc();  // with room for the bound, nothing else can fail
    packed.resize(size < bytes.size() ? size : 0);
  }
  put_varint(out, packed.size());
  out.append(packed.empty() ? text_of(bytes) : std::string_view(packed));
}

bool decompressor::get_column(byte_reader& from, std::size_t length_max, std::string& out) {
  const auto length = from.varint();
  const auto packed_length = from.varint();
  if (!length || !packed_length || *length > length_max) return false;
  const auto bytes = from.take(*packed_length == 0 ? *length : *packed_length);
  if (!bytes) return false;
  if (*packed_length == 0) {
    out.assign(text_of(*bytes));
    return true;
  }
  out.resize(static_cast<std::size_t>(*length));
  return ZSTD_decompressDCtx(context_.get(), out.data(), out.size(), bytes->data(),
                             bytes->size()) == *length;
}

}  // namespace ashlar::trace
