// os/call_filter_none.cpp: os/call_filter.hpp for systems whose sandboxes refuse and do not kill.
// Layer: os.
#include <ashlar/os/call_filter.hpp>

namespace ashlar::os {

void note_call_filters() noexcept {}
bool has_new_call_filter() noexcept {
  return false;
}

}  // namespace ashlar::os
