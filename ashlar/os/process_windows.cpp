// os/process_windows.cpp: os/process.hpp by fiber-local storage, whose callbacks run when a thread
// ends.
// Layer: os.
#include <cstddef>
#include <cstdlib>

#include <ashlar/os/process.hpp>
#include <ashlar/os/windows.hpp>

extern "C" __declspec(dllimport) BOOLEAN NTAPI RtlDllShutdownInProgress();

namespace ashlar::os {
namespace {

/// A callback is told its value alone: so each key has one of its own.
constexpr std::size_t keys_max = 4;
constinit void (*ended_of[keys_max])(void*) noexcept = {};

template <std::size_t Key>
void NTAPI end_thread(void* value) noexcept {
  // At the end of the process its other threads are gone already, with whatever locks they had.
  if (value != nullptr && ::RtlDllShutdownInProgress() == 0) ended_of[Key](value);
}
constexpr PFLS_CALLBACK_FUNCTION callbacks[keys_max] = {end_thread<0>, end_thread<1>, end_thread<2>,
                                                        end_thread<3>};
constinit std::size_t keys = 0;

}  // namespace

char** environment() noexcept { return _environ; }
bool has_more_rights() noexcept { return false; }
std::size_t process_number() noexcept { return ::GetCurrentProcessId(); }

void thread_end::start(void (*ended)(void*) noexcept) noexcept {
  const error_keeper keeper;
  if (keys == keys_max) return;
  ended_of[keys] = ended;
  const DWORD key = ::FlsAlloc(callbacks[keys++]);
  is_valid_ = key != FLS_OUT_OF_INDEXES;
  key_ = key;
}
bool thread_end::watch(void* value) noexcept {
  const error_keeper keeper;
  return is_valid_ && ::FlsSetValue(key_, value) != 0;
}

void at_fork(void (*)() noexcept, void (*)() noexcept, void (*)() noexcept) noexcept {}

bool are_last_threads(unsigned) noexcept { return false; }

}  // namespace ashlar::os
