// core/elf_note.hpp: the ELF notes by which others find a library or a program of ashlar's in a
// file, a core or a process. Layer: core.
#pragma once

#define ASHLAR_NOTE_OWNER "ashlar"
// Their types. A type is never used for something else.
#define ASHLAR_NOTE_HEAP 1      // how far it is to a heap_image (core/heap_image.hpp)
#define ASHLAR_NOTE_WATCH 2     // how far it is to a watch_image (core/watch_image.hpp)
#define ASHLAR_NOTE_DROP_IN 16  // the drop-in's version, as text (dropin/serves_process.cpp)

#define ASHLAR_NOTE_TEXT_OF(number) #number
#define ASHLAR_NOTE_TEXT(number) ASHLAR_NOTE_TEXT_OF(number)

#if defined(__ELF__)
/// Effects: the program or library that this is compiled into has an ELF note of that type. Its
/// descriptor has `bytes`, a number, and is what the assembler makes of the text `descriptor`.
#define ASHLAR_ELF_NOTE(type, bytes, descriptor) \
  __asm__(                                                                    \
      ".pushsection .note.ashlar,\"a\",%note\n"                               \
      ".balign 4\n"                                                           \
      ".4byte 7, " ASHLAR_NOTE_TEXT(bytes) ", " ASHLAR_NOTE_TEXT(type) "\n"   \
      ".asciz \"" ASHLAR_NOTE_OWNER "\"\n"                                    \
      ".balign 4\n" descriptor "\n"                                          \
      ".balign 4\n"                                                           \
      ".popsection\n")
#else
#define ASHLAR_ELF_NOTE(type, bytes, descriptor) static_assert(true)
#endif

/// Effects: as ASHLAR_ELF_NOTE. The descriptor is the distance from itself to `symbol`, so neither
/// a symbol table nor a relocation is needed to find that.
#define ASHLAR_ELF_NOTE_TO(type, symbol)    \
  ASHLAR_ELF_NOTE(type, __SIZEOF_POINTER__, \
                  "." ASHLAR_NOTE_TEXT(__SIZEOF_POINTER__) "byte " symbol " - .")
