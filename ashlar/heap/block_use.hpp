// heap/block_use.hpp: which blocks of slabs are in use, and which rest: what a miss asks and
// changes.
// Layer: heap.
//
// block_sign.hpp has the two signs, and does the same for hits. Whoever calls these has the block,
// or has been told an address that lies in a slab of that shift's windows.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ashlar/core/memory_tools.hpp>
#include <ashlar/pages/block_sign.hpp>
#include <ashlar/pages/block_tables.hpp>

namespace ashlar::detail {

/// `Pages` is a page_heap. `shift` is the logarithm of the windows of the block's class.
template <class Pages>
class block_use {
 public:
  explicit block_use(Pages& pages, unsigned shift) noexcept : pages_(pages), shift_(shift) {}

  /// Returns: whether a block in use starts at `block`. Takes no lock but for a later range's.
  [[nodiscard]] bool is_in_use(const void* block) const noexcept {
    return *mark_at(block) == mark_of(block) && !rests_with_key(block);
  }
  /// Effects: `block`, which is in use, rests from now on. Returns: its mark.
  block_mark* put_to_rest(void* block) const noexcept {
    block_mark* const mark = mark_at(block);
    if (pages_.keys().are_in_use())
      write(block, key_of(pages_.keys().secret(), block));
    else
      *mark = 0;
    return mark;
  }
  /// Effects: `block`, which rests, is in use from now on. Returns: false, and nothing has changed,
  /// if it was written to while it rested, or rests twice.
  [[nodiscard]] bool wake(void* block) const noexcept {
    block_mark* const mark = mark_at(block);
    if (*mark == 0)
      *mark = mark_of(block);
    else if (first_word_is_key(block))  // the first cache's, before keys are said to be in use
      write(block, 0);
    else
      return false;
    return true;
  }

  /// Effects: the blocks, which have left their slabs, rest with their keys.
  void give_keys(void* const* blocks, std::size_t count) const noexcept {
    const auto secret = pages_.keys().secret();
    for_each_mark(blocks, count, [=](std::size_t i, block_mark& mark) {
      // Stores to lines that are far away wait for each other; loads do not.
      if (i + 16 < count) __builtin_prefetch(blocks[i + 16], 1);
      void* const block = blocks[i];
      mark = mark_of(block);
      write(block, key_of(secret, block));
    });
  }
  /// Effects: the lines of the last `asked_at_once` blocks, whose first words hits are about to
  /// read and write, are asked for: other threads had them.
  void ask_for(void* const* blocks, std::size_t count) const noexcept {
    if (!pages_.keys().are_in_use()) return;
    void* const* const end = blocks + count;
    for (void* const* at = end; at != blocks && end - at != asked_at_once;)
      __builtin_prefetch(*--at, 1);
  }
  /// Effects: the blocks, which come back to their slabs, have no marks any more, and no keys if
  /// those are cleared there.
  void take_signs(void* const* blocks, std::size_t count) const noexcept {
    for_each_mark(blocks, count, [](std::size_t, block_mark& mark) { mark = 0; });
    if (!pages_.keys().are_cleared_in_slabs()) [[likely]]
      return;
    for (std::size_t i = 0; i < count; ++i) write(blocks[i], 0);
  }

  [[nodiscard]] block_mark* mark_at(const void* block) const noexcept {
    return pages_.mark_at(block, shift_);
  }

 private:
  /// Effects: calls `change` with the number of each block, and its mark. Requires: the caller has
  /// the blocks.
  template <class Change>
  void for_each_mark(void* const* blocks, std::size_t count, Change change) const noexcept {
    if (pages_.first_tables_tell_all()) [[likely]] {
      // A copy: a store to a mark would make the compiler load the original again.
      const block_tables tables = pages_.first_tables();
      for (std::size_t i = 0; i < count; ++i) change(i, *tables.mark_at(blocks[i], shift_));
    } else {
      for (std::size_t i = 0; i < count; ++i) change(i, *mark_at(blocks[i]));
    }
  }

  // A tool may watch: a block that rests is closed, and of one in use the program need not have
  // written the first word.
  [[nodiscard]] bool rests_with_key(const void* block) const noexcept {
    return pages_.keys().are_in_use() && first_word_is_key(block);
  }
  [[nodiscard]] bool first_word_is_key(const void* block) const noexcept {
    tell_looking();
    const std::uint64_t word = first_word(block);
    tell_looked();
    if constexpr (tools_present) tell_open(&word, sizeof word);
    return word == key_of(pages_.keys().secret(), block);
  }
  static void write(void* block, std::uint64_t value) noexcept {
    tell_looking();
    set_first_word(block, value);
    tell_looked();
  }

  static constexpr std::ptrdiff_t asked_at_once = 64;
  Pages& pages_;
  unsigned shift_;
};

}  // namespace ashlar::detail
