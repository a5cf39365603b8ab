// check/heap_leaks.cpp: the lines about blocks in use at the end of a heap instance.
// Layer: check.

#include <ashlar/check/heap_leaks.hpp>
#include <ashlar/core/fault.hpp>
#include <ashlar/core/line_writer.hpp>
#include <ashlar/os/last_words.hpp>

namespace ashlar::detail {
namespace {

void write_site(const leak_site& site) noexcept {
  line_writer<4096> lines;
  lines << "ashlar: " << site.bytes << " bytes in " << site.blocks
        << (site.blocks == 1 ? " block" : " blocks") << " by " << site.call
        << (site.at.depth != 0 ? ":\n" : "\n");
  os::append_frames(lines, site.at);
  os::write_to_stderr(lines.data(), lines.size());
}

void tell(heap_leaks leaks, const fault& what) noexcept {
  if (leaks == heap_leaks::stop) ashlar_fault(what);
  ashlar_report(what);
}

}  // namespace

void tell_leaks(heap_leaks leaks, full_check& checks, const ashlar_stats& stats,
                const char* name) noexcept {
  fault what{.kind = fault_kind::leak, .call = "~heap", .pool = name};
  if (!checks.is_on()) {
    const auto tell_class = [leaks, &what](const ashlar_class_stats& c) {
      what.block_size = static_cast<std::size_t>(c.block_size);
      what.blocks = static_cast<std::size_t>(c.blocks_in_use);
      if (what.blocks != 0) tell(leaks, what);
    };
    std::for_each(stats.classes, stats.classes + stats.class_count, tell_class);
    tell_class(stats.large);
    return;
  }
  bool is_of_one_size = true;
  checks.for_each_live([&what, &is_of_one_size](const block_record& r) {
    is_of_one_size = is_of_one_size && (what.blocks == 0 || what.block_size == r.size);
    what.block_size = r.size;
    ++what.blocks;
  });
  if (what.blocks == 0) return;
  if (!is_of_one_size) what.block_size = 0;
  const leak_sites sites([&checks](auto visit) { checks.for_each_live(visit); });
  for (const leak_site& site : sites) write_site(site);
  tell(leaks, what);
}

}  // namespace ashlar::detail
