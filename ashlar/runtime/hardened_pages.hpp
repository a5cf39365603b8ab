// runtime/hardened_pages.hpp: pages of a hardened process that no access is possible to, and where
// its heap lies.
// Layer: runtime.
//
//   | slab | closed page |          the page heap does it (pages/page_heap.hpp)
//   | large block | closed page |   done here: its run is a page longer than the block
//
// Nobody uses a closed page. So where the system refuses to close one, nothing changes but a
// statistic.
// Thread-safety: any caller at any time, unless a function says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/pages/run.hpp>

namespace ashlar::runtime {

/// What the run of a large block is longer by.
inline constexpr std::size_t closed_bytes = detail::page_size;
/// Behind so many slabs and large blocks there is a closed page. Each takes up to two of the
/// mappings that a process may have, usually 65,530.
inline constexpr std::size_t closed_slabs_max = 8192;
inline constexpr std::size_t closed_blocks_max = 4096;

/// Effects: from now on pages are closed, or not any more. Requires: one thread; to turn it off, no
/// page of a large block is closed.
void close_pages(bool on) noexcept;

/// Effects: the page behind a new large block of `bytes` is closed, if there are not too many.
void close_first(void* block, std::size_t bytes) noexcept;
/// Effects: the same behind a block that was opened and stays, with `bytes` from now on.
void close_behind(void* block, std::size_t bytes) noexcept;
/// Effects: the page behind the large block, closed or not, is as other pages. Returns: false when
/// the system refuses.
[[nodiscard]] bool open_behind(void* block, std::size_t bytes) noexcept;
/// Effects: one block of those that close_first was called for ends. The page heap closes all its
/// pages.
void end_closed_block() noexcept;

/// Returns: how often the system refused to close the page behind a large block.
[[nodiscard]] std::uint64_t closes_refused() noexcept;

}  // namespace ashlar::runtime
