// tools/shim/import_slots.cpp. Layer: shim.
#include "tools/shim/import_slots.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ashlar/os/own_code.hpp>

#include "tools/shim/log.hpp"
#include "tools/trace/dynamic_symbols.hpp"

namespace ashlar::shim {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t call_slot = R_X86_64_JUMP_SLOT, data_slot = R_X86_64_GLOB_DAT,
                        pointer = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint32_t call_slot = R_AARCH64_JUMP_SLOT, data_slot = R_AARCH64_GLOB_DAT,
                        pointer = R_AARCH64_ABS64;
#else  // no slot is known: nothing is diverted
constexpr std::uint32_t call_slot = UINT32_MAX, data_slot = UINT32_MAX, pointer = UINT32_MAX;
#endif

void* open_library(const char* file, int flags);

int close_library(void* library);

/// Of the loader's functions.
enum loader_function : std::size_t { opens, closes, loader_functions_count };
diverted_function* loader_functions() {
  static constinit diverted_function all[loader_functions_count] = {{"dlopen", nullptr, nullptr},
                                                                    {"dlclose", nullptr, nullptr}};
  return all;
}

template <class Use>
void for_each_function(Use use) {
  for (diverted_function& each : entry_points()) use(each);
  for (std::size_t i = 0; i < loader_functions_count; ++i) use(loader_functions()[i]);
}

/// A file that is mapped, with its tables.
struct module {
  explicit module(const dl_phdr_info& info) : bias(info.dlpi_addr) {
    const ElfW(Dyn)* section = nullptr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info.dlpi_phdr[i];
      const std::uintptr_t at = bias + part.p_vaddr;
      if (part.p_type == PT_DYNAMIC) section = reinterpret_cast<const ElfW(Dyn)*>(at);
      if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
        code_begin = at;
        code_end = at + part.p_memsz;
      }
      if (part.p_type == PT_GNU_RELRO) {
        const auto page = static_cast<std::uintptr_t>(::getpagesize());
        read_only_begin = at / page * page;
        read_only_end = (at + part.p_memsz) / page * page;
      }
    }
    if (section != nullptr) symbols.read(section, bias);
  }
  [[nodiscard]] bool is_own() const {
    return os::is_own_code(reinterpret_cast<const void*>(code_begin));
  }

  std::uintptr_t bias;
  std::uintptr_t code_begin = 0;
  std::uintptr_t code_end = 0;
  std::uintptr_t read_only_begin = 0;  // what the loader protects when it is done
  std::uintptr_t read_only_end = 0;
  trace::dynamic_symbols symbols;
};

/// Writes slots of one file, also where the loader has made them read-only.
class slot_writer {
 public:
  explicit slot_writer(const module& of) : of_(of) {}
  ~slot_writer() {
    if (is_open_) static_cast<void>(protect(PROT_READ));
  }
  slot_writer(const slot_writer&) = delete;
  slot_writer& operator=(const slot_writer&) = delete;

  void write(void** slot, void* value) {
    const auto at = reinterpret_cast<std::uintptr_t>(slot);
    if (at >= of_.read_only_begin && at < of_.read_only_end && !is_open_) {
      if (!protect(PROT_READ | PROT_WRITE)) return;
      is_open_ = true;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  }

 private:
  [[nodiscard]] bool protect(int rights) const {
    return ::mprotect(reinterpret_cast<void*>(of_.read_only_begin),
                      of_.read_only_end - of_.read_only_begin, rights) == 0;
  }
  const module& of_;
  bool is_open_ = false;
};

diverted_function* find_function(const char* name) {
  diverted_function* found = nullptr;
  for_each_function([&](diverted_function& each) {
    if (each.name[0] == name[0] && each.name[1] == name[1] && std::strcmp(each.name, name) == 0)
      found = &each;
  });
  return found;
}

constexpr std::uintptr_t always_bound = UINTPTR_MAX;

/// Calls `use(slot, function, own)` for each slot of a function that is recorded. `own`: the address
/// of the file's own definition, 0: it has none; or always_bound.
template <class Use>
void for_slots(const module& m, Use use) {
  for (int table = 0; table < 2; ++table) {
    for (std::size_t i = 0; i < m.symbols.relocation_counts[table]; ++i) {
      const ElfW(Rela)& r = m.symbols.relocations[table][i];
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info));
      const auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(r.r_info));
      if (symbol == 0 || r.r_addend != 0) continue;
      if (type != call_slot && type != data_slot && type != pointer) continue;
      const ElfW(Sym)& named = m.symbols.symbols[symbol];
      diverted_function* const function = find_function(m.symbols.strings + named.st_name);
      if (function == nullptr || function->next == nullptr) continue;
      // A call that was never made leads to the loader, by code of the file that is not the function.
      const std::uintptr_t own = named.st_shndx == SHN_UNDEF ? 0 : m.bias + named.st_value;
      use(reinterpret_cast<void**>(m.bias + r.r_offset), *function,
          type == call_slot ? own : always_bound);
    }
  }
}

int divert_module(dl_phdr_info* info, std::size_t, void*) {
  const module m(*info);
  if (m.symbols.symbols == nullptr || m.is_own()) return 0;
  slot_writer writer(m);
  for_slots(m, [&](void** slot, const diverted_function& function, std::uintptr_t own) {
    void* const now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const auto at = reinterpret_cast<std::uintptr_t>(now);
    const bool is_unbound =
        own != always_bound && at >= m.code_begin && at < m.code_end && at != own;
    if (now == function.next || is_unbound) writer.write(slot, function.ours);
  });
  return 0;
}

int restore_module(dl_phdr_info* info, std::size_t, void*) {
  const module m(*info);
  if (m.symbols.symbols == nullptr || m.is_own()) return 0;
  slot_writer writer(m);
  for_slots(m, [&](void** slot, const diverted_function& function, std::uintptr_t) {
    if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == function.ours) writer.write(slot, function.next);
  });
  return 0;
}

int find_in_module(dl_phdr_info* info, std::size_t, void*) {
  const module m(*info);
  if (m.is_own()) return 0;
  for_each_function([&](diverted_function& each) {
    if (each.next != nullptr) return;
    const ElfW(Sym)* const found = m.symbols.find(each.name);
    if (found != nullptr) each.next = reinterpret_cast<void*>(m.bias + found->st_value);
  });
  return 0;
}

struct caller_search {
  std::uintptr_t address;
  bool has_own_paths;
};
int look_for_own_paths(dl_phdr_info* info, std::size_t, void* argument) {
  caller_search& search = *static_cast<caller_search*>(argument);
  const module m(*info);
  if (search.address < m.code_begin || search.address >= m.code_end) return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* d = reinterpret_cast<const ElfW(Dyn)*>(m.bias + info->dlpi_phdr[i].p_vaddr);
    for (; d->d_tag != DT_NULL; ++d)
      search.has_own_paths |= d->d_tag == DT_RUNPATH || d->d_tag == DT_RPATH;
  }
  return 1;
}

/// Returns: whether the loader looks at the file that calls it, to find this one.
bool depends_on_caller(const char* file, void* caller) {
  if (file == nullptr || std::strchr(file, '$') != nullptr) return file != nullptr;
  if (std::strchr(file, '/') != nullptr) return false;
  caller_search search{reinterpret_cast<std::uintptr_t>(caller), false};
  with_modules_locked([](void* s) { ::dl_iterate_phdr(&look_for_own_paths, s); }, &search);
  return search.has_own_paths;
}

using open_function = void*(const char*, int);
using close_function = int(void*);

open_function* next_open() {
  return reinterpret_cast<open_function*>(loader_functions()[opens].next);
}

// While the loader works, a fork waits a moment: a child that finds the loader's lock taken by a
// thread that it does not have would wait for ever where it looks for its files.
[[gnu::noinline]] void* open_and_divert(const char* file, int flags) {
  struct opening {
    const char* file;
    int flags;
    void* opened;
  } of{file, flags, nullptr};
  with_modules_locked(
      [](void* argument) {
        opening& o = *static_cast<opening*>(argument);
        o.opened = next_open()(o.file, o.flags);
      },
      &of);
  if (of.opened != nullptr && is_on()) {
    const bool was_inside = own_log.inside;
    own_log.inside = true;
    divert_slots();
    own_log.inside = was_inside;
  }
  return of.opened;
}

int close_library(void* library) {
  struct closing {
    void* library;
    int status;
  } of{library, 0};
  with_modules_locked(
      [](void* argument) {
        closing& c = *static_cast<closing*>(argument);
        c.status = reinterpret_cast<close_function*>(loader_functions()[closes].next)(c.library);
      },
      &of);
  return of.status;
}

/// The loader takes the place that it returns to for the caller's. Where that matters, it is left to
/// return there, by a jump; then the new file's calls are diverted with the thread's next event.
#if defined(__GNUC__) && !defined(__clang__)
[[gnu::optimize("O2", "omit-frame-pointer"), gnu::noinline]]
#endif
void* open_library(const char* file, int flags) {
  if (!depends_on_caller(file, __builtin_return_address(0))) return open_and_divert(file, flags);
  divert_at_next_event();
#if defined(__clang__)
  [[clang::musttail]]
#endif
  return next_open()(file, flags);
}

}  // namespace

bool is_interposed() {
  struct first_definition {
    bool is_known = false, is_own = false;
  } first;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        const module m(*info);
        if (m.symbols.find("malloc") == nullptr) return 0;
        *static_cast<first_definition*>(argument) = {true, m.is_own()};
        return 1;
      },
      &first);
  return first.is_own;
}

bool find_definitions() {
  loader_functions()[opens].ours = reinterpret_cast<void*>(&open_library);
  loader_functions()[closes].ours = reinterpret_cast<void*>(&close_library);
  with_modules_locked([](void*) { ::dl_iterate_phdr(&find_in_module, nullptr); }, nullptr);
  return definition_of("malloc") != nullptr && definition_of("free") != nullptr &&
         definition_of("calloc") != nullptr && definition_of("realloc") != nullptr;
}

void* definition_of(const char* name) {
  const diverted_function* const found = find_function(name);
  return found != nullptr ? found->next : nullptr;
}

void divert_slots() {
  with_modules_locked(
      [](void*) {
        ::dl_iterate_phdr(&find_in_module, nullptr);  // the first C++ library may be a new one
        ::dl_iterate_phdr(&divert_module, nullptr);
      },
      nullptr);
}

void restore_slots() {
  with_modules_locked([](void*) { ::dl_iterate_phdr(&restore_module, nullptr); }, nullptr);
}

}  // namespace ashlar::shim
