#!/usr/bin/env python3
"""What every process runs stands together in the drop-in library's code (docs/decisions/0002).

Usage: text_order.py LIBRARY. Its symbols are needed. Ends with a non-zero status when the functions of RUN do not all
lie within MOST bytes, or one of NOT_RUN lies between them: then more of the library is in every process's memory.
"""
import subprocess
import sys

MOST = 160 * 1024
# The first and last of what a process of two lines calls, as callgrind has listed it: each stands for its source.
RUN = ("malloc", "free", "operator new(unsigned long)", "pthread_atfork", "ashlar::os::mutex::lock()",
       "ashlar::os::system_space::commit(void*, unsigned long)", "ashlar::runtime::own_cache()",
       "ashlar::runtime::read_settings(char**)", "ashlar::runtime::control::end_with_process()",
       "ashlar::runtime::background::end(ashlar::runtime::background::state)",
       "ashlar::runtime::decide_hardening(bool, bool)", "ashlar::runtime::end_sampling()")
NOT_RUN = ("ashlar_stats_write", "ashlar::os::walk_frames(void const**, unsigned int)", "ashlar::runtime::hardened_look(char const*)",
           "ashlar::runtime::reserve_heap::allocate(unsigned long, unsigned long)", "malloc_info")


def main() -> None:
    names = subprocess.run(["nm", "--defined-only", "-C", sys.argv[1]], check=True, capture_output=True, text=True).stdout
    places = {}
    for line in names.splitlines():
        address, _, name = line.split(" ", 2)
        places[name] = int(address, 16)
    missing = [name for name in RUN + NOT_RUN if name not in places]
    if missing:
        raise SystemExit(f"text_order: {sys.argv[1]} has no {', no '.join(missing)}; was it renamed?")
    at = sorted((places[name], name) for name in RUN)
    (first, first_name), (last, last_name) = at[0], at[-1]
    if last - first > MOST:
        raise SystemExit(f"text_order: {last - first} bytes from {first_name} to {last_name}, and {MOST} are allowed. "
                         "Is a source missing in sources_of_every_process (ashlar/CMakeLists.txt)?")
    between = [name for name in NOT_RUN if first <= places[name] <= last]
    if between:
        raise SystemExit(f"text_order: {', '.join(between)}: no process runs it, and it is among what every process runs")
    print(f"text_order: {last - first} bytes, {MOST} are allowed")


main()
