// os/thread_words.hpp: what the library knows of each thread beside the heap, in 16 bytes.
// Layer: os.
//
// One object, because static TLS is scarce: a plugin that links libashlar.a has a copy of all
// thread-locals, and the C library keeps room for two such plugins (lifetime_plugins).
#pragma once

namespace ashlar::detail {
struct fault_history;  // fault/report.hpp
}

namespace ashlar::os {

struct thread_words {
  int number = 0;             ///< the system's; 0: not asked for yet
  bool is_capturing = false;  ///< it unwinds its stack, which may call malloc
  /// The program's function of faults runs: a fault inside it is the last one.
  bool is_called_back = false;
  bool ends_at_fault = false;  ///< the process ends at a fault, also where others go on
  bool asks_nothing = false;   ///< it collects figures without asking the system
  const detail::fault_history* history = nullptr;  ///< of the fault that it is about to report
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local thread_words own_words;

}  // namespace ashlar::os
