// tools/measure/program_file.cpp. Layer: measure.
#include "tools/measure/program_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <vector>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::measure {

namespace {

// Whether Go's note is there, which has its build.
bool has_go_note(std::istream& file, std::uint64_t at) {
  constexpr char owner[4] = "Go";
  constexpr std::uint32_t type = 4;
  struct {
    Elf64_Nhdr head;  // the same in files of 32 bits
    char owner[4];
  } note{};
  file.seekg(static_cast<std::streamoff>(at));
  const bool is_whole = static_cast<bool>(file.read(reinterpret_cast<char*>(&note), sizeof note));
  file.clear();
  return is_whole && note.head.n_type == type && note.head.n_namesz == sizeof owner &&
         std::memcmp(note.owner, owner, sizeof owner) == 0;
}

// Whether the symbols that the loader looks up have a definition of malloc.
template <class Section, class Symbol, class Header>
bool defines_malloc(std::istream& file, const Header& header) {
  const auto read_all = [&](std::uint64_t at, void* to, std::size_t bytes) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    return static_cast<bool>(
        file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  const auto read_section = [&](std::uint64_t number, Section& section) {
    return read_all(header.e_shoff + number * header.e_shentsize, &section, sizeof section);
  };
  Section symbols{}, names{};
  for (unsigned i = 0; i < header.e_shnum && symbols.sh_type != SHT_DYNSYM; ++i)
    if (!read_section(i, symbols)) return false;
  if (symbols.sh_type != SHT_DYNSYM || !read_section(symbols.sh_link, names)) return false;
  constexpr std::uint64_t most = 64 << 20;
  if (symbols.sh_size > most || names.sh_size > most) return false;
  std::vector<Symbol> all(symbols.sh_size / sizeof(Symbol));
  std::string text(names.sh_size, '\0');
  if (!read_all(symbols.sh_offset, all.data(), all.size() * sizeof(Symbol)) ||
      !read_all(names.sh_offset, text.data(), text.size()))
    return false;
  return std::ranges::any_of(all, [&](const Symbol& symbol) {
    return symbol.st_shndx != SHN_UNDEF && symbol.st_name < text.size() &&
           std::string_view(text.c_str() + symbol.st_name) == "malloc";
  });
}

template <class Header, class Segment, class Section, class Symbol>
std::optional<elf_kind> read_headers(std::istream& file, bool wide) {
  Header header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  elf_kind kind;
  kind.wide = wide;
  kind.machine = header.e_machine;
  kind.shared_object = header.e_type == ET_DYN;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return std::nullopt;
    if (segment.p_type == PT_INTERP) {
      kind.has_interpreter = true;
      file.seekg(static_cast<std::streamoff>(segment.p_offset));
      char loader[256] = {};
      file.get(loader, sizeof loader, '\0');
      file.clear();
      kind.of_musl = std::strstr(loader, "/ld-musl-") != nullptr;
    }
    if (segment.p_type == PT_NOTE && has_go_note(file, segment.p_offset)) kind.is_go = true;
  }
  kind.has_malloc = kind.has_interpreter && defines_malloc<Section, Symbol>(file, header);
  return kind;
}

bool is_regular(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The loader drops LD_PRELOAD when the program would gain rights by being run.
bool gains_rights(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid()) return true;
  if ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

// Returns: the interpreter that a "#!" line names, or nothing.
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char mark[2] = {};
  if (!file.read(mark, 2) || mark[0] != '#' || mark[1] != '!') return {};
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
}

}  // namespace

std::optional<elf_kind> read_elf_kind(const std::string& path) {
  if (!is_regular(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  unsigned char identity[EI_NIDENT] = {};
  if (!file.read(reinterpret_cast<char*>(identity), EI_NIDENT)) return std::nullopt;
  if (std::memcmp(identity, ELFMAG, SELFMAG) != 0) return std::nullopt;
  const bool little = identity[EI_DATA] == ELFDATA2LSB;
  if (little != (std::endian::native == std::endian::little)) return std::nullopt;
  if (identity[EI_CLASS] == ELFCLASS64)
    return read_headers<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr, Elf64_Sym>(file, true);
  return read_headers<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr, Elf32_Sym>(file, false);
}

std::string find_program(const std::string& name) {
  const auto not_executable = [&](const std::string& path, const char* why) {
    return files::command_error(files::status_not_executable,
                                fmt::format("cannot run '{}': {}", path, why));
  };
  if (name.find('/') != std::string::npos) {
    struct stat status{};
    if (::stat(name.c_str(), &status) != 0) {
      const int error = errno;
      throw files::command_error(error == ENOENT || error == ENOTDIR ? files::status_not_found
                                                                     : files::status_not_executable,
                                 fmt::format("cannot run '{}': {}", name, std::strerror(error)));
    }
    if (S_ISDIR(status.st_mode)) throw not_executable(name, "it is a directory");
    if (::access(name.c_str(), X_OK) != 0) {
      throw not_executable(name, "it is not executable (chmod +x, or name its interpreter first)");
    }
    return name;
  }
  const char* variable = std::getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/bin:/usr/bin";
  std::string refused;
  for (std::size_t begin = 0; !name.empty() && begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string folder = path.substr(begin, end - begin);
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (is_regular(candidate)) {
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
      if (refused.empty()) refused = candidate;
    }
    begin = end + 1;
  }
  if (!refused.empty())
    throw not_executable(refused, "it is not executable (chmod +x makes it so)");
  throw files::command_error(
      files::status_not_found,
      fmt::format("cannot run '{}': no program of that name in PATH; a program "
                  "elsewhere needs its path, as in ./{}",
                  name, name));
}

preload_effect effect_of_preload(const std::string& program, const std::string& library) {
  std::string file = program;
  // Scripts may name scripts; the system follows a few, then gives up.
  for (int depth = 0; depth < 5; ++depth) {
    const std::string interpreter = interpreter_of(file);
    if (interpreter.empty()) break;
    file = interpreter;
  }
  const auto of_program = read_elf_kind(file);
  if (!of_program)
    return preload_effect::works;  // the shell will run it, or the system knows better
  if (!of_program->has_interpreter)
    return of_program->is_go ? preload_effect::ignored_go : preload_effect::ignored_static;
  if (gains_rights(file)) return preload_effect::ignored_privileged;
  const auto of_library = read_elf_kind(library);
  if (of_library &&
      (of_library->wide != of_program->wide || of_library->machine != of_program->machine)) {
    return preload_effect::ignored_foreign;
  }
  const auto of_this = read_elf_kind("/proc/self/exe");
  if (of_this && of_this->of_musl != of_program->of_musl) return preload_effect::other_c_library;
  return of_program->has_malloc ? preload_effect::ignored_own_malloc : preload_effect::works;
}

std::string describe(preload_effect effect) {
  switch (effect) {
    case preload_effect::works:
      return {};
    case preload_effect::ignored_static:
      return "it is statically linked, so no library can be preloaded into it (link it "
             "dynamically, "
             "or, to run it on ashlar, with that)";
    case preload_effect::ignored_go:
      return "it is a Go program, which has an allocator of its own and does not call malloc (use "
             "Go's runtime/pprof)";
    case preload_effect::ignored_privileged:
      return "it gains rights when it is run (setuid, setgid or capabilities), so the loader "
             "ignores "
             "LD_PRELOAD (run it as its owner, or run a copy without those rights)";
    case preload_effect::ignored_foreign:
      return "it is for another machine or word size than the library, so the loader ignores the "
             "library (build the library for that machine)";
    case preload_effect::other_c_library:
      return "it has another C library than ashlar (glibc and musl), so its loader cannot load the "
             "library (build ashlar with that C library)";
    case preload_effect::ignored_own_malloc:
      return "it has a malloc of its own, which comes before any library's (build it without that)";
  }
  return {};
}

}  // namespace ashlar::measure
