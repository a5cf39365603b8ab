// os/probe.hpp: places in the library that tracers find and stop at (USDT): a tool of the kernel's
// uprobes, such as bpftrace or the OpenTelemetry eBPF profiler, or gdb.
// Layer: os. For Linux on x86-64 and AArch64; elsewhere a probe is nothing.
//
// A probe is one nop, and a note in the file that says where it is and in which registers its
// arguments are. Nothing of that is loaded, and nothing is called. The format of a note:
// https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
#pragma once

#if defined(__linux__) && defined(__x86_64__)
#define ASHLAR_PROBE_ARGUMENT(n) "8@%" #n
#elif defined(__linux__) && defined(__aarch64__)
#define ASHLAR_PROBE_ARGUMENT(n) "8@%x" #n
#endif

#if defined(ASHLAR_PROBE_ARGUMENT)
// The symbol is where the linker has put the section: tools subtract what moved since then.
#define ASHLAR_PROBE(provider, name, arguments, ...)                                     \
  __asm__ volatile(                                                                      \
      "770: nop\n"                                                                       \
      ".pushsection .note.stapsdt, \"\", \"note\"\n"                                     \
      ".balign 4\n"                                                                      \
      ".4byte 772f - 771f, 774f - 773f, 3\n"                                             \
      "771: .asciz \"stapsdt\"\n"                                                        \
      "772: .balign 4\n"                                                                 \
      "773: .8byte 770b, _.stapsdt.base, 0\n" /* the last one would count who listens */ \
      ".asciz \"" provider "\"\n.asciz \"" name "\"\n.asciz \"" arguments                \
      "\"\n"                                                                             \
      "774: .balign 4\n"                                                                 \
      ".popsection\n"                                                                    \
      ".ifndef _.stapsdt.base\n"                                                         \
      ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"        \
      ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                                   \
      "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"                              \
      ".popsection\n"                                                                    \
      ".endif\n" ::__VA_ARGS__)
#endif

namespace ashlar::os {

/// The probe `alloc` of the provider `otel_memory`: a block was sampled, and stands for so many
/// bytes. The contract: design document 3 of
/// https://github.com/open-telemetry/opentelemetry-ebpf-profiler.
[[gnu::always_inline]] inline void probe_alloc([[maybe_unused]] const void* block,
                                               [[maybe_unused]] unsigned long size,
                                               [[maybe_unused]] unsigned long weight) noexcept {
#if defined(ASHLAR_PROBE)
  ASHLAR_PROBE("otel_memory", "alloc",
               ASHLAR_PROBE_ARGUMENT(0) " " ASHLAR_PROBE_ARGUMENT(1) " " ASHLAR_PROBE_ARGUMENT(2),
               "r"(block), "r"(size), "r"(weight));
#endif
}
/// The probe `free`: a block that was sampled is about to be freed.
[[gnu::always_inline]] inline void probe_free([[maybe_unused]] const void* block) noexcept {
#if defined(ASHLAR_PROBE)
  ASHLAR_PROBE("otel_memory", "free", ASHLAR_PROBE_ARGUMENT(0), "r"(block));
#endif
}

}  // namespace ashlar::os

#undef ASHLAR_PROBE
#undef ASHLAR_PROBE_ARGUMENT
