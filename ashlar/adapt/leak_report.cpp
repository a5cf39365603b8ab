// adapt/leak_report.cpp: what is in use now, by the places that allocated it, or by class.
// Layer: adapt. ashlar/adapt/c_api.h: ashlar_leaks_write, ashlar_check_blocks.
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include <ashlar/adapt/c_api.h>
#include <ashlar/adapt/json_text.hpp>
#include <ashlar/check/heap_leaks.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/call_stack.hpp>
#include <ashlar/runtime/process_heap.hpp>

namespace {

using namespace ashlar;

/// The sites of all blocks of the process heap that are in use.
detail::leak_sites current_sites() noexcept {
  return detail::leak_sites([](auto visit) { runtime::for_each_known_block(visit); });
}

using totals = detail::leak_totals;

/// Effects: calls visit(block size or 0, blocks, bytes) for each class with blocks in use. Returns:
/// the sum.
template <class Visit>
totals for_each_class(Visit visit) {
  ashlar_stats stats;
  ashlar_stats_get(&stats);
  totals t;
  const auto see = [&](const ashlar_class_stats& c) {
    if (c.blocks_in_use == 0) return;
    const std::uint64_t bytes =
        c.block_size != 0 ? c.blocks_in_use * c.block_size : c.committed_bytes;
    visit(c.block_size, c.blocks_in_use, bytes);
    t.blocks += c.blocks_in_use;
    t.bytes += bytes;
  };
  for (std::uint32_t i = 0; i < stats.class_count; ++i) see(stats.classes[i]);
  see(stats.large);
  return t;
}

// ---- text ---------------------------------------------------------------------------------------

void write_text_of_sites(std::FILE* out) {
  const detail::leak_sites all = current_sites();
  const totals t = all.total();
  std::fprintf(out, "ashlar: %" PRIu64 " bytes in %" PRIu64 " blocks are in use\n", t.bytes,
               t.blocks);
  for (const detail::leak_site& s : all) {
    std::fprintf(out, "ashlar: %" PRIu64 " bytes in %" PRIu64 " block%s by %s%s\n", s.bytes,
                 s.blocks, s.blocks == 1 ? "" : "s", s.call, s.at.depth != 0 ? ":" : "");
    for (unsigned i = 0; i < s.at.depth; ++i) {
      line_writer<512> line;
      os::append_frame(line, i, s.at.frames[i]);
      line.end_line();
      std::fwrite(line.data(), 1, line.size(), out);
    }
  }
}

void write_text_of_classes(std::FILE* out) {
  const totals t =
      for_each_class([out](std::uint64_t size, std::uint64_t blocks, std::uint64_t bytes) {
        std::fprintf(out, "ashlar: %" PRIu64 " bytes in %" PRIu64 " block%s of ", bytes, blocks,
                     blocks == 1 ? "" : "s");
        if (size != 0)
          std::fprintf(out, "%" PRIu64 " bytes\n", size);
        else
          std::fprintf(out, "more than %zu bytes\n", small_size_max);
      });
  std::fprintf(out,
               "ashlar: %" PRIu64 " bytes in %" PRIu64
               " blocks are in use or in caches; ASHLAR_CHECK=full tells who allocated them\n",
               t.bytes, t.blocks);
}

// ---- JSON ---------------------------------------------------------------------------------------

void write_string(std::FILE* out, const char* name, const char* text) {
  if (text == nullptr) return;
  std::fprintf(out, ", \"%s\": \"", name);
  detail::write_escaped(out, text);
  std::fprintf(out, "\"");
}

void write_json_of_sites(std::FILE* out) {
  const detail::leak_sites all = current_sites();
  const totals t = all.total();
  std::fprintf(out, " \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64 ",\n \"sites\": [", t.blocks,
               t.bytes);
  const char* separator = "\n  ";
  for (const detail::leak_site& s : all) {
    std::fprintf(out, "%s{\"bytes\": %" PRIu64 ", \"blocks\": %" PRIu64, separator, s.bytes,
                 s.blocks);
    write_string(out, "call", s.call);
    std::fprintf(out, ", \"frames\": [");
    for (unsigned i = 0; i < s.at.depth; ++i) {
      const os::frame_place p = os::place_of(s.at.frames[i]);
      std::fprintf(out, "%s{\"address\": \"%p\"", i == 0 ? "" : ", ", s.at.frames[i]);
      write_string(out, "file", p.file);
      std::fprintf(out, ", \"offset\": \"0x%zx\"", p.offset);
      write_string(out, "function", p.function);
      std::fprintf(out, "}");
    }
    std::fprintf(out, "]}");
    separator = ",\n  ";
  }
  std::fprintf(out, "]}\n");
}

void write_json_of_classes(std::FILE* out) {
  std::fprintf(out, " \"classes\": [");
  const char* separator = "\n  ";
  const totals t =
      for_each_class([&](std::uint64_t size, std::uint64_t blocks, std::uint64_t bytes) {
        std::fprintf(
            out, "%s{\"block_size\": %" PRIu64 ", \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
            separator, size, blocks, bytes);
        separator = ",\n  ";
      });
  std::fprintf(out, "],\n \"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", t.blocks, t.bytes);
}

}  // namespace

extern "C" int ashlar_leaks_write(std::FILE* stream, ashlar_stats_format format) noexcept {
  const bool by_site = runtime::has_full_checks();
  if (format == ASHLAR_STATS_TEXT) {
    by_site ? write_text_of_sites(stream) : write_text_of_classes(stream);
  } else if (format == ASHLAR_STATS_JSON) {
    std::fprintf(stream, "{\"ashlar\": \"%d.%d.%d\", \"schema\": 1,\n", ASHLAR_VERSION_MAJOR,
                 ASHLAR_VERSION_MINOR, ASHLAR_VERSION_PATCH);
    by_site ? write_json_of_sites(stream) : write_json_of_classes(stream);
  } else {
    errno = EINVAL;
    return -1;
  }
  return std::fflush(stream) == 0 && std::ferror(stream) == 0 ? 0 : -1;
}

extern "C" std::size_t ashlar_check_blocks() noexcept {
  return runtime::check_blocks("ashlar_check_blocks");
}
