// compat/xallocator_document_pools.h: the pools that STATIC_POOLS means, the document's table.
// Layer: compat. C++20. Included by xallocator.h where a program is built with STATIC_POOLS.
//
//   -DSTATIC_POOLS                           12 sizes from 8 to 4096 bytes, 32 blocks of each
//   -DSTATIC_POOLS -DMAX_BLOCKS=100          100 blocks of each
//   -DSTATIC_POOLS -DMAX_ALLOCATORS=6        the 6 smallest sizes
//
// Each C++ file that includes xallocator.h has the functions, inline, and the program keeps one
// copy. So no file of the program has to be chosen, and libashlar's xmalloc is not linked. A file
// with XALLOCATOR_STATIC_POOLS(...) wins over this table, in all files. Files with another
// MAX_BLOCKS or MAX_ALLOCATORS do not link. Behind a shared library, or with -flto, they use the
// pools of the program's first file.
#pragma once

#include <cstddef>
#include <utility>

#include <ashlar/compat/xmalloc_pools.hpp>
#include <ashlar/pool/blocks.hpp>

#define ASHLAR_DOCUMENT_POOLS

#ifndef MAX_BLOCKS
#define MAX_BLOCKS 32
#endif
#ifndef MAX_ALLOCATORS
#define MAX_ALLOCATORS 12
#endif

namespace ashlar::compat {

inline constexpr std::size_t document_sizes[] = {8,   16,  32,  64,   128,  256,
                                                 396, 512, 768, 1024, 2048, 4096};
inline constexpr std::size_t document_size_count =
    sizeof(document_sizes) / sizeof(document_sizes[0]);

template <std::size_t Count, class Indices>
struct document_pools;
template <std::size_t Count, std::size_t... I>
struct document_pools<Count, std::index_sequence<I...>> {
  using type = static_xmalloc<blocks<document_sizes[I], Count>...>;
};

template <std::size_t Blocks, std::size_t Sizes>
inline constinit
    typename document_pools<Blocks, std::make_index_sequence<Sizes>>::type the_document_pools;

}  // namespace ashlar::compat

static_assert(MAX_ALLOCATORS > 0 && MAX_ALLOCATORS <= ashlar::compat::document_size_count,
              "MAX_ALLOCATORS: the table has 12 sizes; for sizes of your own write "
              "XALLOCATOR_STATIC_POOLS(ashlar::blocks<64, 32>, ...) in one source file");

#ifdef __ELF__
namespace {
/// Defines two symbols whose values are the counts. A linker takes them twice if they are equal.
[[gnu::used, gnu::noinline]] void one_count_in_all_files() {
  __asm__(
      ".globl MAX_BLOCKS_differs_between_the_files_of_this_program\n"
      ".hidden MAX_BLOCKS_differs_between_the_files_of_this_program\n"
      ".set MAX_BLOCKS_differs_between_the_files_of_this_program, %c0\n"
      ".globl MAX_ALLOCATORS_differs_between_the_files_of_this_program\n"
      ".hidden MAX_ALLOCATORS_differs_between_the_files_of_this_program\n"
      ".set MAX_ALLOCATORS_differs_between_the_files_of_this_program, %c1"
      :
      : "i"(MAX_BLOCKS), "i"(MAX_ALLOCATORS));
}
}  // namespace
#endif

#define ASHLAR_THE_DOCUMENT_POOLS \
  (::ashlar::compat::the_document_pools<(MAX_BLOCKS), (MAX_ALLOCATORS)>)
ASHLAR_XMALLOC_FUNCTIONS(ASHLAR_ONE_COPY, ASHLAR_THE_DOCUMENT_POOLS);
#undef ASHLAR_THE_DOCUMENT_POOLS
