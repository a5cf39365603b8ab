// tools/trace/source_lines.cpp. Layer: trace.
#include "tools/trace/source_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "tools/files/text.hpp"
#include "tools/trace/symbols.hpp"

namespace ashlar::trace {
namespace {

// What is no file is not opened: a pipe waits.
bool is_file(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

/// Where the system keeps what was taken from a file of this build id.
std::string debug_file_of(const std::string& build_id) {
  if (build_id.size() < 2) return {};
  return "/usr/lib/debug/.build-id/" + files::hexadecimal(build_id).insert(2, "/") + ".debug";
}

}  // namespace

// The library's view of one file, at addresses of its own.
class source_lines::debug_information {
 public:
  explicit debug_information(const std::string& path) : all_(::dwfl_begin(&callbacks)) {
    if (all_ == nullptr) return;
    ::dwfl_report_begin(all_);
    use(::dwfl_report_offline(all_, path.c_str(), path.c_str(), -1));
    ::dwfl_report_end(all_, nullptr, nullptr);
  }
  /// A file that is nowhere here: a debuginfod server may have it.
  explicit debug_information(const std::string& path, const std::string& build_id)
      : all_(::dwfl_begin(&callbacks)) {
    if (all_ == nullptr) return;
    constexpr GElf_Addr begin = 1u << 28;  // any that has room behind it
    constexpr GElf_Addr end = begin << 8;
    ::dwfl_report_begin(all_);
    Dwfl_Module* const file = ::dwfl_report_module(all_, path.c_str(), begin, end);
    if (file != nullptr) {
      ::dwfl_module_report_build_id(file, reinterpret_cast<const unsigned char*>(build_id.data()),
                                    build_id.size(), 0);
    }
    ::dwfl_report_end(all_, nullptr, nullptr);
    use(file);
  }
  ~debug_information() {
    if (all_ != nullptr) ::dwfl_end(all_);
  }
  debug_information(const debug_information&) = delete;
  debug_information& operator=(const debug_information&) = delete;

  [[nodiscard]] bool is_open() const { return file_ != nullptr; }

  /// Effects: adds what is known, the innermost function first.
  void add_places(std::uint64_t address, std::vector<source_place>& places) {
    if (file_ == nullptr) return;
    const std::size_t before = places.size();
    source_place here;
    if (const unit_range* const unit = unit_at(address + bias_); unit != nullptr) {
      const Dwarf_Addr inside = address + bias_ - unit->bias;
      if (Dwarf_Line* const line = ::dwarf_getsrc_die(unit->unit, inside); line != nullptr) {
        int number = 0;
        ::dwarf_lineno(line, &number);
        set_place(here, ::dwarf_linesrc(line, nullptr, nullptr), number, folder_of(unit->unit));
      }
      Dwarf_Die whole = with_functions(unit->unit);
      add_functions(&whole, inside, here, places);
    }
    if (places.size() == before) places.push_back(here);
    if (places.back().function.empty()) places.back().function = symbol_at(address);
  }

  static_variable largest_variable() {
    static_variable largest;
    GElf_Addr address = 0;  // in the library's view
    const int count = file_ != nullptr ? ::dwfl_module_getsymtab(file_) : 0;
    for (int i = 0; i < count; ++i) {
      GElf_Sym s{};
      GElf_Addr begin = 0;
      GElf_Word section = SHN_UNDEF;
      Elf* elf = nullptr;
      const char* const name =
          ::dwfl_module_getsym_info(file_, i, &s, &begin, &section, &elf, nullptr);
      if (name == nullptr || GELF_ST_TYPE(s.st_info) != STT_OBJECT || s.st_size <= largest.bytes)
        continue;
      GElf_Shdr head{};
      if (::gelf_getshdr(::elf_getscn(elf, section), &head) == nullptr ||
          (head.sh_flags & SHF_WRITE) == 0)
        continue;
      largest = {demangled(name), s.st_size};
      address = begin;
    }
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr;
         largest.bytes != 0 && (unit = ::dwfl_module_nextcu(file_, unit, &bias)) != nullptr;) {
      Dwarf_Die whole = with_functions(unit);
      if (find_variable(&whole, address - bias, unit, largest)) break;
    }
    return largest;
  }

 private:
  /// Effects: gives it the name and the place of the variable that the unit has at the address. Returns:
  /// whether there is one.
  static bool find_variable(Dwarf_Die* in, Dwarf_Addr address, Dwarf_Die* unit,
                            static_variable& found) {
    Dwarf_Die inner;
    if (::dwarf_child(in, &inner) != 0) return false;
    do {
      switch (::dwarf_tag(&inner)) {
        case DW_TAG_variable:
          if (!is_at(&inner, address)) break;
          found.name = declared_name(inner);
          if (const char* const file = ::dwarf_decl_file(&inner); file != nullptr) {
            int line = 0;
            ::dwarf_decl_line(&inner, &line);
            set_place(found.place, file, line, folder_of(unit));
          }
          return true;
        case DW_TAG_namespace:
        case DW_TAG_subprogram:
        case DW_TAG_lexical_block:
          if (find_variable(&inner, address, unit, found)) return true;
          break;
        default:
          break;
      }
    } while (::dwarf_siblingof(&inner, &inner) == 0);
    return false;
  }
  static bool is_at(Dwarf_Die* variable, Dwarf_Addr address) {
    Dwarf_Attribute attribute;
    Dwarf_Op* steps = nullptr;
    std::size_t count = 0;
    return ::dwarf_attr(variable, DW_AT_location, &attribute) != nullptr &&
           ::dwarf_getlocation(&attribute, &steps, &count) == 0 && count == 1 &&
           steps->atom == DW_OP_addr && steps->number == address;
  }

  void use(Dwfl_Module* file) {
    GElf_Addr bias = 0;
    if (file == nullptr || ::dwfl_module_getelf(file, &bias) == nullptr) return;
    file_ = file;
    bias_ = bias;
  }

  /// `folder`: where the compiler ran, as far as the file says; null: it does not.
  static void set_place(source_place& place, const char* file, int line, const char* folder) {
    if (file == nullptr || line <= 0) return;
    std::filesystem::path whole(file);
    if (whole.is_relative() && folder != nullptr && *folder == '/') whole = folder / whole;
    place.file = whole.lexically_normal().string();
    place.line = static_cast<std::uint32_t>(line);
  }

  static bool follow(Dwarf_Die& die, unsigned reference) {
    Dwarf_Attribute attribute;
    Dwarf_Die to;
    if (::dwarf_formref_die(::dwarf_attr(&die, reference, &attribute), &to) == nullptr)
      return false;
    die = to;
    return true;
  }

  /// The names of what it is declared in, and its own: Rust's newer names ("_R") say no more, and a
  /// function that only this file can call may have no other.
  static std::string declared_name(Dwarf_Die die) {
    constexpr int steps_max = 8;  // a file that leads in a circle is not followed for ever
    for (int i = 0; i < steps_max; ++i)
      if (!follow(die, DW_AT_abstract_origin) && !follow(die, DW_AT_specification)) break;
    const char* const own = ::dwarf_diename(&die);
    if (own == nullptr) return {};
    std::string name = own;
    Dwarf_Die* around = nullptr;
    const int count = ::dwarf_getscopes_die(&die, &around);
    for (int i = 1; i < count; ++i) {
      const int tag = ::dwarf_tag(&around[i]);
      if (tag != DW_TAG_namespace && tag != DW_TAG_structure_type && tag != DW_TAG_class_type)
        continue;
      const char* const outer = ::dwarf_diename(&around[i]);
      name = fmt::format("{}::{}", outer != nullptr ? outer : "(anonymous namespace)", name);
    }
    std::free(around);
    return name;
  }

  static std::string function_of(Dwarf_Die* function) {
    Dwarf_Attribute attribute;
    const char* const linked =
        ::dwarf_formstring(::dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));
    if (linked == nullptr) return declared_name(*function);
    std::string name = demangled(linked);
    return name != linked ? name : declared_name(*function);
  }

  /// Returns: a number among the attributes of an inlined call; 0: it is not there.
  static Dwarf_Word number_of(Dwarf_Die* call, unsigned name) {
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    if (::dwarf_attr(call, name, &attribute) == nullptr ||
        ::dwarf_formudata(&attribute, &number) != 0)
      return 0;
    return number;
  }

  /// Returns: the unit in its .dwo, where `-gsplit-dwarf` has put its functions and that is there.
  static Dwarf_Die with_functions(Dwarf_Die* unit) {
    Dwarf_Die split{};
    if (::dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) !=
            0 ||
        split.addr == nullptr)
      return *unit;
    return split;
  }

  static const char* folder_of(Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    return ::dwarf_formstring(::dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  }

  /// Returns: where an inlined call stands in its caller.
  static source_place place_of(Dwarf_Die* call, Dwarf_Die* unit) {
    source_place place;
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const Dwarf_Word file = number_of(call, DW_AT_call_file);
    if (::dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count) {
      set_place(place, ::dwarf_filesrc(files, file, nullptr, nullptr),
                static_cast<int>(number_of(call, DW_AT_call_line)), folder_of(unit));
    }
    return place;
  }

  /// A compiled file.
  struct unit_range {
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die* unit = nullptr;
    Dwarf_Addr bias = 0;
  };
  /// By the units' own ranges: the library's search needs a table that clang does not write.
  const unit_range* unit_at(Dwarf_Addr address) {
    if (!units_) {
      units_.emplace();
      Dwarf_Addr bias = 0;
      for (Dwarf_Die* unit = nullptr;
           (unit = ::dwfl_module_nextcu(file_, unit, &bias)) != nullptr;) {
        for_ranges(unit, [&](Dwarf_Addr begin, Dwarf_Addr end) {
          units_->push_back({begin + bias, end + bias, unit, bias});
        });
      }
      std::sort(units_->begin(), units_->end(),
                [](const unit_range& a, const unit_range& b) { return a.begin < b.begin; });
    }
    auto behind = std::upper_bound(
        units_->begin(), units_->end(), address,
        [](Dwarf_Addr wanted, const unit_range& unit) { return wanted < unit.begin; });
    return behind != units_->begin() && address < (--behind)->end ? &*behind : nullptr;
  }

  template <class Use>
  static void for_ranges(Dwarf_Die* of, Use use) {
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    for (std::ptrdiff_t at = 0; (at = ::dwarf_ranges(of, at, &base, &begin, &end)) > 0;)
      use(begin, end);
  }

  void add_functions(Dwarf_Die* unit, Dwarf_Addr inside, source_place here,
                     std::vector<source_place>& places) {
    for (const function_range& range : functions_of(unit)) {
      if (inside < range.begin || inside >= range.end) continue;
      std::vector<Dwarf_Die> scopes{range.function};
      while (enter(scopes, inside)) {
      }
      for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
        const int tag = ::dwarf_tag(&*scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
        here.function = function_of(&*scope);
        places.push_back(here);
        here = place_of(&*scope, unit);
      }
      return;
    }
  }

  /// Effects: adds the scope in the last one that has the address. Returns: false: there is none.
  static bool enter(std::vector<Dwarf_Die>& scopes, Dwarf_Addr address) {
    Dwarf_Die inner;
    if (::dwarf_child(&scopes.back(), &inner) != 0) return false;
    do {
      if (::dwarf_haspc(&inner, address) == 1) {
        scopes.push_back(inner);
        return true;
      }
    } while (::dwarf_siblingof(&inner, &inner) == 0);
    return false;
  }

  struct function_range {
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    Dwarf_Die function{};
  };
  /// Those of a compiled file, wherever they are declared. (The library's own search for scopes does
  /// not look into namespaces, where Rust has them, and looks at all of the file each time.)
  const std::vector<function_range>& functions_of(Dwarf_Die* unit) {
    const auto [found, is_new] = functions_.try_emplace(unit->addr);
    if (is_new) collect_functions(unit, found->second);
    return found->second;
  }
  static void collect_functions(Dwarf_Die* in, std::vector<function_range>& functions) {
    Dwarf_Die inner;
    if (::dwarf_child(in, &inner) != 0) return;
    do {
      switch (::dwarf_tag(&inner)) {
        case DW_TAG_subprogram:
          for_ranges(&inner, [&](Dwarf_Addr begin, Dwarf_Addr end) {
            functions.push_back({begin, end, inner});
          });
          break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
        case DW_TAG_enumeration_type:
          collect_functions(&inner, functions);
          break;
        default:
          break;
      }
    } while (::dwarf_siblingof(&inner, &inner) == 0);
  }

  struct symbol {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t farthest = 0;  // end of this and of those before it
    int reach = 0;               // of several at one address, that with the widest is taken
    const char* name = nullptr;
  };
  /// Returns: of those that cover the address, the last one to begin. (The library looks at all symbols
  /// for each address.)
  [[nodiscard]] std::string symbol_at(std::uint64_t address) {
    if (!are_symbols_known_) collect_symbols();
    auto at = std::ranges::upper_bound(symbols_, address + bias_, {}, &symbol::begin);
    while (at != symbols_.begin() && (--at)->farthest > address + bias_)
      if (address + bias_ < at->end) return demangled(at->name);
    return {};
  }
  void collect_symbols() {
    are_symbols_known_ = true;
    const int count = ::dwfl_module_getsymtab(file_);
    for (int i = 0; i < count; ++i) {
      GElf_Sym s{};
      GElf_Addr begin = 0;
      const char* const name =
          ::dwfl_module_getsym_info(file_, i, &s, &begin, nullptr, nullptr, nullptr);
      const int type = GELF_ST_TYPE(s.st_info);
      if (name == nullptr || s.st_size == 0 || s.st_shndx == SHN_UNDEF || type == STT_TLS ||
          type == STT_SECTION || type == STT_FILE)
        continue;
      const int binding = GELF_ST_BIND(s.st_info);
      const int reach = binding == STB_GLOBAL ? 2 : binding == STB_WEAK ? 1 : 0;
      symbols_.push_back({begin, begin + s.st_size, 0, reach, name});
    }
    std::ranges::sort(symbols_, std::less(), [](const symbol& each) {
      return std::tuple(each.begin, each.reach, ~each.end, std::string_view(each.name));
    });
    std::uint64_t farthest = 0;
    for (symbol& each : symbols_) each.farthest = farthest = std::max(farthest, each.end);
  }

  /// Returns: an open file, or -1. Where nobody has the file itself, what was taken from it serves as
  /// well: it has the same addresses and symbols.
  static int find_elf(Dwfl_Module* file, void** data, const char* name, Dwarf_Addr base,
                      char** found, Elf** elf) {
    const int whole = ::dwfl_build_id_find_elf(file, data, name, base, found, elf);
    if (whole >= 0 || *elf != nullptr) return whole;
    return ::dwfl_standard_find_debuginfo(file, data, name, base, name, nullptr, 0, found);
  }

  static const Dwfl_Callbacks callbacks;
  Dwfl* all_;
  Dwfl_Module* file_ = nullptr;
  std::uint64_t bias_ = 0;
  std::optional<std::vector<unit_range>> units_;                  // by begin
  std::map<const void*, std::vector<function_range>> functions_;  // by compiled file
  std::vector<symbol> symbols_;                                   // by begin
  bool are_symbols_known_ = false;
};

const Dwfl_Callbacks source_lines::debug_information::callbacks = {
    .find_elf = find_elf,
    .find_debuginfo = ::dwfl_standard_find_debuginfo,
    .section_address = ::dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

class source_lines::module {
 public:
  module(const std::string& path, const std::string& build_id) :file_(path),
      lowest_(lowest_address(path)) {
    if (!is_file(path)) {
      state_ = file_state::gone;
    } else if (!build_id.empty() && build_id_of(path) != build_id) {
      state_ = file_state::replaced;
    }
    if (state_ != file_state::same) find_elsewhere(path, build_id);
    if (state_ != file_state::same) return;
    if (!lines_) lines_.emplace(file_);
  }

  [[nodiscard]] file_state state() const { return state_; }
  [[nodiscard]] std::uint64_t call_before(std::uint64_t offset) const {
    return lowest_ + offset - 1;
  }

  static_variable largest_variable() {
    return lines_ ? lines_->largest_variable() : static_variable();
  }
  std::vector<source_place> at(std::uint64_t address) {
    std::vector<source_place> places;
    if (lines_) lines_->add_places(address, places);
    if (places.empty()) places.emplace_back();
    return places;
  }

 private:
  // The same build may be known to the system though it does not stand at its path any more.
  void find_elsewhere(const std::string& path, const std::string& build_id) {
    const std::string debug_file = debug_file_of(build_id);
    if (is_file(debug_file)) {
      file_ = debug_file;
      state_ = file_state::same;
      return;
    }
    if (build_id.empty() || servers() != debug_servers::asked) return;
    lines_.emplace(path, build_id);
    if (lines_->is_open())
      state_ = file_state::same;
    else
      lines_.reset();
  }

  std::string file_;
  std::uint64_t lowest_;
  file_state state_ = file_state::same;
  std::optional<debug_information> lines_;
};

source_lines::source_lines() = default;
source_lines::~source_lines() = default;

debug_servers source_lines::servers() {
  const char* const urls = std::getenv("DEBUGINFOD_URLS");
  if (urls == nullptr || *urls == '\0') return debug_servers::not_named;
  void* const library = ::dlopen("libdebuginfod.so.1", RTLD_LAZY);  // as libdw does
  if (library == nullptr) return debug_servers::no_library;
  ::dlclose(library);
  return debug_servers::asked;
}

source_lines::module& source_lines::open(const std::string& path, const std::string& build_id) {
  std::unique_ptr<module>& there = modules_[{path, build_id}];
  if (there == nullptr) there = std::make_unique<module>(path, build_id);
  return *there;
}

std::vector<source_place> source_lines::at(const std::string& path, std::uint64_t address,
                                           const std::string& build_id) {
  return open(path, build_id).at(address);
}
std::vector<source_place> source_lines::of_call(const std::string& path, std::uint64_t offset) {
  module& of = open(path, {});
  return of.at(of.call_before(offset));
}
static_variable source_lines::largest_variable(const std::string& path,
                                               const std::string& build_id) {
  return open(path, build_id).largest_variable();
}
file_state source_lines::state_of(const std::string& path, const std::string& build_id) {
  return open(path, build_id).state();
}

}  // namespace ashlar::trace
