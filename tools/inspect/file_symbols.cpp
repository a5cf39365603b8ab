// tools/inspect/file_symbols.cpp. Layer: inspect.
#include "tools/inspect/file_symbols.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

#include "tools/trace/symbols.hpp"

namespace ashlar::inspect {
namespace {

/// In front of the address that an object has, a vtable has two words: the offset to the object's
/// begin, and the type information.
constexpr std::uint64_t words_before = 16;

std::string name_of_file(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

/// elfutils' view of all files, at the addresses that they had.
class file_symbols::library {
 public:
  library() : all_(::dwfl_begin(&callbacks)) {
    if (all_ != nullptr) ::dwfl_report_begin(all_);
  }
  ~library() {
    if (all_ != nullptr) ::dwfl_end(all_);
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  void add(const std::string& path, std::uint64_t begin) {
    std::error_code none;
    if (all_ != nullptr && std::filesystem::is_regular_file(path, none))
      ::dwfl_report_elf(all_, path.c_str(), path.c_str(), -1, begin, false);
  }
  /// Effects: visit(name, address, bytes) for each symbol of data, when all files are added.
  template <class Visit>
  void for_each_object(Visit visit) {
    if (all_ == nullptr) return;
    ::dwfl_report_end(all_, nullptr, nullptr);
    std::pair<library*, Visit*> both{this, &visit};
    const auto of_module = [](Dwfl_Module* module, void**, const char*, Dwarf_Addr,
                              void* with) -> int {
      const int count = ::dwfl_module_getsymtab(module);
      for (int i = 1; i < count; ++i) {
        GElf_Sym symbol;
        GElf_Addr address = 0;
        const char* const name =
            ::dwfl_module_getsym_info(module, i, &symbol, &address, nullptr, nullptr, nullptr);
        if (name != nullptr && GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size != 0)
          (*static_cast<std::pair<library*, Visit*>*>(with)->second)(name, address, symbol.st_size);
      }
      return DWARF_CB_OK;
    };
    ::dwfl_getmodules(all_, of_module, &both, 0);
  }
  [[nodiscard]] std::string name_at(std::uint64_t address) const {
    Dwfl_Module* const module = all_ == nullptr ? nullptr : ::dwfl_addrmodule(all_, address);
    if (module == nullptr) return {};
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name =
        ::dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr || offset >= std::max<std::uint64_t>(symbol.st_size, 1)) return {};
    std::string text = trace::demangled(name);
    if (offset != 0) text += fmt::format(" + {}", offset);
    return text;
  }

 private:
  static constexpr Dwfl_Callbacks callbacks{.find_elf = ::dwfl_build_id_find_elf,
                                            .find_debuginfo = ::dwfl_standard_find_debuginfo,
                                            .section_address = nullptr,
                                            .debuginfo_path = nullptr};
  Dwfl* all_;
};

file_symbols::file_symbols(const image::memory_image& image)
    : image_(image), library_(std::make_unique<library>()) {
  for (const image::loaded_file& file : image::loaded_files(image)) {
    const std::string& place = image.place_of(file.path);
    std::error_code none;
    if (!std::filesystem::is_regular_file(place, none)) {
      if (file.path.starts_with('/'))
        remarks_.push_back(fmt::format("{} is gone, so what is in it has no names", place));
      continue;
    }
    const std::string had = image::build_id_at(image, file.begin);
    if (const std::string has = trace::build_id_of(place); !had.empty() && has != had) {
      remarks_.push_back(fmt::format(
          "{} is another file now than the process had, so what is in it has no names", place));
      continue;
    }
    library_->add(place, file.begin);
  }
  for (const image::mapping& m : image.mappings()) {
    if (m.path.empty()) continue;
    lowest_ = std::min(lowest_, m.begin);
    highest_ = std::max(highest_, m.end);
  }
  library_->for_each_object([this](std::string_view name, std::uint64_t at, std::uint64_t bytes) {
    constexpr std::string_view vtable = "_ZTV";
    if (name.starts_with(vtable))
      tables_.push_back({at, at + bytes, std::string(name.substr(vtable.size()))});
  });
  std::ranges::sort(tables_, {}, &table::begin);
}
file_symbols::~file_symbols() = default;

const std::string* file_symbols::type_by_first_word(std::uint64_t word) {
  if (word < lowest_ || word >= highest_ || word % sizeof word != 0) return nullptr;
  if (word == last_word_) return last_;
  auto known = known_.find(word);
  if (known == known_.end()) known = known_.emplace(word, find_type(word)).first;
  last_word_ = word;
  return last_ = known->second.empty() ? nullptr : &known->second;
}

std::string file_symbols::find_type(std::uint64_t word) const {
  const auto above = std::ranges::upper_bound(tables_, word, {}, &table::begin);
  if (above != tables_.begin()) {
    const table& t = *std::prev(above);
    if (word >= t.begin + words_before && word <= t.end) return trace::demangled(t.type.c_str());
  }
  return type_by_information(word);
}

std::string file_symbols::type_by_information(std::uint64_t word) const {
  const image::mapping* const m = image_.mapping_of(word);
  if (m == nullptr || m->path.empty()) return {};
  const auto offset = image_.value_at<std::int64_t>(word - words_before);
  const auto information = image_.value_at<std::uint64_t>(word - words_before / 2);
  if (!offset || *offset > 0 || !information) return {};
  // Of the type information the second word leads to the type's name.
  const image::mapping* const of_information = image_.mapping_of(*information);
  if (of_information == nullptr || of_information->path.empty()) return {};
  const auto name = image_.value_at<std::uint64_t>(*information + sizeof(std::uint64_t));
  const image::mapping* const of_name = name ? image_.mapping_of(*name) : nullptr;
  if (of_name == nullptr || of_name->path.empty()) return {};
  std::string text = image_.text_at(*name);
  if (text.starts_with('*')) text.erase(0, 1);  // a type of one file alone
  if (text.empty() || (std::isdigit(static_cast<unsigned char>(text[0])) == 0 && text[0] != 'N' &&
                       text[0] != 'S' && text[0] != 'Z'))
    return {};
  std::string type = trace::demangled(text.c_str());
  return type == text ? std::string() : type;
}

std::string file_symbols::variable_at(std::uint64_t address) const {
  const image::mapping* const m = image_.mapping_of(address);
  std::string name = library_->name_at(address);
  std::string file;
  if (m != nullptr && !m->path.empty()) file = name_of_file(m->path);
  if (name.empty()) return file;
  if (file.empty()) {  // a variable that begins as zeros lies in memory of no file, behind its own
    for (const image::loaded_file& each : image::loaded_files(image_))
      if (each.begin <= address) file = name_of_file(each.path);
  }
  return file.empty() ? name : fmt::format("{} in {}", name, file);
}

}  // namespace ashlar::inspect
