// tests/work_bound/worst.hpp: programs with calls that do much: what work_bound_search found, kept.
#pragma once

namespace ashlar::work_bound {

inline constexpr const char* worst_programs[] = {
    // Found when all classes were summed up in one step: 24,140 instructions.
    "0 32 128 176 0; 0 8 4 16 0; 4 960 4096 256 0; 0 160 64 1 0; 0 80 128 8 0; 0 106496 128 1 0;",
    // Found when the cost of a batch was spent too late: 16,328 instructions, within the formula then.
    "0 1280 256 16 1; 4 512 512 512 0; 0 8 8192 1024 0;",
    "0 224 4096 8 0; 0 2 8192 8 1;",
    "4 1 512 1024 1; 0 32768 4096 288 1;",
    "4 14336 8 16 0; 0 14336 1024 208 0; 4 320 4096 8 0; 4 128 32 32 0; "
    "4 1 8192 1024 1; 6 352 512 96 1; 4 64 2 128 1; 0 48 960 32 0;",
    // Found when a batch did not get smaller by what was sorted before growth: 19,092 instructions.
    "0 20480 64 2 0; 0 1 1024 64 1; 0 192 1024 4 0; 1 960 32 512 1; 1 960 112 1 0; 0 2 8192 128 0;",
    // Each block of a batch belongs to another slab.
    "0 64 8192 1 0; 3 64 8192 1 0;",
    // Calls that pass many runs, look at slabs, or sum up classes.
    "4 16 512 8 1; 0 144 8192 8 0;",
    "4 1 8 64 0; 4 512 192 288 0; 4 128 16 80 0; 0 28672 224 128 0; 6 256 4096 256 0; "
    "0 128 16 128 1;",
    "4 64 512 1024 0; 0 144 8192 16 1;",
    "4 5120 512 8 0; 0 160 128 256 1;",
    // The same, with the bounds for low latency.
    "0 28672 512 1024 1; 3 3584 512 32 1;",
    "0 122880 2 64 0; 0 352 2 176 0;",
    "4 5120 8192 128 0; 0 32768 64 32 0;",
    "0 224 1 1024 0; 4 8 8 8 1; 0 30720 3584 416 1;",
};

}  // namespace ashlar::work_bound
