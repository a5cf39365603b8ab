// tools/measure/program_file.cpp. Layer: measure.
#include "tools/measure/program_file.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/files/error.hpp"

namespace ashlar::measure {

namespace {

std::string_view bytes_of(Elf* file, const GElf_Phdr& part) {
  const Elf_Data* const data = ::elf_getdata_rawchunk(
      file, static_cast<std::int64_t>(part.p_offset), part.p_filesz, ELF_T_BYTE);
  return data != nullptr ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size)
                         : std::string_view();
}

// Whether Go's note is there, which has its build.
bool has_go_note(std::string_view bytes) {
  constexpr std::string_view owner("Go\0\0", 4);
  constexpr std::uint32_t type = 4;
  Elf64_Nhdr head;  // the same in files of 32 bits
  if (bytes.size() < sizeof head) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head.n_type == type && head.n_namesz == owner.size() &&
         bytes.substr(sizeof head).starts_with(owner);
}

// Whether the symbols that the loader looks up have a definition of malloc.
bool defines_malloc(Elf* file) {
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(file, section)) != nullptr;) {
    GElf_Shdr header;
    if (::gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* const symbols = ::elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; ::gelf_getsym(symbols, i, &symbol) != nullptr; ++i) {
      const char* const name = ::elf_strptr(file, header.sh_link, symbol.st_name);
      if (symbol.st_shndx != SHN_UNDEF && name != nullptr && std::string_view(name) == "malloc")
        return true;
    }
  }
  return false;
}

std::optional<elf_kind> read_headers(Elf* file) {
  GElf_Ehdr header;
  std::size_t count = 0;
  constexpr int own = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (::gelf_getehdr(file, &header) == nullptr || header.e_ident[EI_DATA] != own ||
      ::elf_getphdrnum(file, &count) != 0)
    return std::nullopt;
  elf_kind kind;
  kind.wide = header.e_ident[EI_CLASS] == ELFCLASS64;
  kind.machine = header.e_machine;
  kind.shared_object = header.e_type == ET_DYN;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr part;
    if (::gelf_getphdr(file, static_cast<int>(i), &part) == nullptr) return std::nullopt;
    if (part.p_type == PT_INTERP) {
      kind.has_interpreter = true;
      kind.of_musl = bytes_of(file, part).find("/ld-musl-") != std::string_view::npos;
    }
    if (part.p_type == PT_NOTE && has_go_note(bytes_of(file, part))) kind.is_go = true;
  }
  kind.has_malloc = kind.has_interpreter && defines_malloc(file);
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
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  ::elf_version(EV_CURRENT);
  Elf* const elf = ::elf_begin(file, ELF_C_READ, nullptr);
  const std::optional<elf_kind> kind = elf != nullptr ? read_headers(elf) : std::nullopt;
  ::elf_end(elf);
  ::close(file);
  return kind;
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
