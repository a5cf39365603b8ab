// tools/image/core_file.cpp. Layer: image.
#include "tools/image/core_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <elf.h>
#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/procfs.h>

#include "tools/files/error.hpp"

namespace ashlar::image {

namespace {

using files::input_error;

constexpr const char* no_parts = "it ends before its table of parts: was it copied as a whole?";

/// How compressed files begin, and what unpacks them.
constexpr std::array<std::pair<std::string_view, const char*>, 4> packers{{
    {"\x28\xb5\x2f\xfd", "zstd -d"},
    {"\x04\x22\x4d\x18", "lz4 -d"},
    {"\x1f\x8b", "gzip -d"},
    {"\xfd"
     "7zXZ",
     "xz -d"},
}};

class core_reader {
 public:
  core_reader(const std::string& path, mapped_bytes file)
      : path_(path), bytes_(file.bytes()), file_(nullptr, ::elf_end) {
    image_.keep(std::move(file));
    ::elf_version(EV_CURRENT);
    file_.reset(::elf_memory(reinterpret_cast<char*>(bytes_.data()), bytes_.size()));
  }

  memory_image read() {
    expect_core_of_this_machine();
    std::size_t count = 0;
    if (::elf_getphdrnum(file_.get(), &count) != 0 || count == 0) fail(no_parts);
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr part;
      if (::gelf_getphdr(file_.get(), static_cast<int>(i), &part) == nullptr) fail(no_parts);
      if (part.p_type == PT_NOTE) read_notes(part);
      if (part.p_type == PT_LOAD) parts_.push_back(part);
    }
    std::ranges::sort(parts_, {}, &GElf_Phdr::p_vaddr);
    for (const GElf_Phdr& part : parts_) add(part);
    add_mappings();
    if (missing_ != 0)
      image_.remarks.push_back(fmt::format(
          "{} is cut off: {} bytes of memory are missing (was the disk full, or ulimit -c "
          "too low?), so what lies there is left out",
          path_, missing_));
    if (image_.threads().empty()) fail("it tells of no thread, so it is no core file of Linux");
    return std::move(image_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw input_error(fmt::format("{}: {}", path_, why));
  }

  void expect_core_of_this_machine() const {
    const std::string_view begin(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    for (const auto& [magic, command] : packers)
      if (begin.starts_with(magic))
        fail(fmt::format("it is compressed: unpack it first ({})", command));
    GElf_Ehdr header;
    if (file_ == nullptr || ::elf_kind(file_.get()) != ELF_K_ELF ||
        ::gelf_getehdr(file_.get(), &header) == nullptr)
      fail("it is no core file (ulimit -c unlimited lets programs write one, or gcore PID does)");
    if (header.e_type != ET_CORE)
      fail("it is a program or library, no core file: name the core first, then the program");
    Elf64_Ehdr own{};
    if (const mapped_bytes self = mapped_bytes::of_file("/proc/self/exe");
        self.bytes().size() > sizeof own)
      std::memcpy(&own, self.bytes().data(), sizeof own);
    if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] ||
        header.e_ident[EI_DATA] != own.e_ident[EI_DATA] || header.e_machine != own.e_machine)
      fail("it is of another kind of machine: use the ashlar command of that machine");
  }

  void read_notes(const GElf_Phdr& part) {
    Elf_Data* const data =
        ::elf_getdata_rawchunk(file_.get(), static_cast<std::int64_t>(part.p_offset), part.p_filesz,
                               part.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    if (data == nullptr) fail("it ends within its notes: was it copied as a whole?");
    GElf_Nhdr note;
    std::size_t name = 0, descriptor = 0;
    for (std::size_t at = 0; (at = ::gelf_getnote(data, at, &note, &name, &descriptor)) != 0;) {
      const char* const text = static_cast<const char*>(data->d_buf) + descriptor;
      read_note(note.n_type, {text, note.n_descsz});
    }
  }

  void read_note(std::uint32_t type, std::string_view bytes) {
    switch (type) {
      case NT_PRSTATUS:
        return add_thread(bytes);
      case NT_FPREGSET:
        return add_registers(bytes);
      case NT_PRPSINFO:
        return read_process(bytes);
      case NT_AUXV:
        return read_auxiliary(bytes);
      case NT_FILE:
        return read_files(bytes);
      default:
        return;
    }
  }

  void add_thread(std::string_view bytes) {
    prstatus_t status{};
    if (bytes.size() < sizeof status) return;
    std::memcpy(&status, bytes.data(), sizeof status);
    if (image_.signal == 0) image_.signal = status.pr_cursig;
    thread_state thread;
    thread.id = static_cast<std::uint32_t>(status.pr_pid);
    thread.registers.resize(sizeof status.pr_reg / sizeof(std::uint64_t));
    std::memcpy(thread.registers.data(), &status.pr_reg, sizeof status.pr_reg);
    thread.stack_pointer = stack_pointer_in(thread.registers);
    image_.add_thread(std::move(thread));
  }
  /// Pointers may lie in the registers of numbers, too.
  void add_registers(std::string_view bytes) {
    if (image_.threads().empty()) return;
    image_.add_registers({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  }
  void read_process(std::string_view bytes) {
    prpsinfo_t process{};
    if (bytes.size() < sizeof process) return;
    std::memcpy(&process, bytes.data(), sizeof process);
    image_.process = static_cast<std::uint32_t>(process.pr_pid);
    image_.command.assign(process.pr_psargs,
                          ::strnlen(process.pr_psargs, sizeof process.pr_psargs));
    while (image_.command.ends_with(' ')) image_.command.pop_back();
  }
  void read_auxiliary(std::string_view bytes) {
    Elf64_auxv_t value{};
    for (; bytes.size() >= sizeof value; bytes.remove_prefix(sizeof value)) {
      std::memcpy(&value, bytes.data(), sizeof value);
      if (value.a_type == AT_ENTRY) image_.entry = value.a_un.a_val;
      if (value.a_type == AT_RANDOM) image_.first_stack = value.a_un.a_val;
    }
  }
  /// count, page size; begin, end and page of each; their names, each ended by a zero byte.
  void read_files(std::string_view bytes) {
    const auto number = [&bytes](std::uint64_t& to) {
      if (bytes.size() < sizeof to) return false;
      std::memcpy(&to, bytes.data(), sizeof to);
      bytes.remove_prefix(sizeof to);
      return true;
    };
    std::uint64_t count = 0, page = 0;
    if (!number(count) || !number(page) || count > bytes.size() / (3 * sizeof count)) return;
    std::vector<mapping> files(static_cast<std::size_t>(count));
    for (mapping& f : files) {
      if (!number(f.begin) || !number(f.end) || !number(f.offset)) return;
      f.offset *= page;
    }
    for (mapping& f : files) {
      f.path = bytes.substr(0, bytes.find('\0'));
      bytes.remove_prefix(std::min(bytes.size(), f.path.size() + 1));
    }
    files_ = std::move(files);
  }

  void add(const GElf_Phdr& part) {
    mapping m{part.p_vaddr, part.p_vaddr + part.p_memsz, (part.p_flags & PF_W) != 0, {}, 0, false};
    const auto file = std::ranges::find_if(
        files_, [&](const mapping& f) { return f.begin <= m.begin && m.begin < f.end; });
    if (file != files_.end()) {
      m.path = file->path;
      m.offset = file->offset + (m.begin - file->begin);
    }
    mappings_.push_back(std::move(m));
    const std::uint64_t there =
        part.p_offset >= bytes_.size()
            ? 0
            : std::min<std::uint64_t>(part.p_filesz, bytes_.size() - part.p_offset);
    missing_ += part.p_filesz - there;
    image_.add_bytes(part.p_vaddr,
                     bytes_.subspan(static_cast<std::size_t>(there == 0 ? 0 : part.p_offset),
                                    static_cast<std::size_t>(there)));
  }

  /// A debugger leaves out of its core what stands in a file; the list of files has it.
  void add_mappings() {
    for (const mapping& f : files_)
      if (std::ranges::none_of(parts_, [&](const GElf_Phdr& part) {
            return part.p_vaddr < f.end && f.begin < part.p_vaddr + part.p_memsz;
          }))
        mappings_.push_back(f);
    std::ranges::sort(mappings_, {}, &mapping::begin);
    for (mapping& m : mappings_) image_.add_mapping(std::move(m));
  }

  const std::string& path_;
  std::span<std::byte> bytes_;
  std::unique_ptr<Elf, int (*)(Elf*)> file_;
  memory_image image_;
  std::vector<GElf_Phdr> parts_;
  std::vector<mapping> files_;
  std::vector<mapping> mappings_;
  std::uint64_t missing_ = 0;
};

}  // namespace

memory_image read_core_file(const std::string& path, const std::string& program) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw input_error(fmt::format("{}: there is no such file", path));
  mapped_bytes file = mapped_bytes::of_file(path);
  if (file.bytes().empty())
    throw input_error(
        fmt::format("{}: it cannot be read, is empty, or is no file: a core file is needed", path));
  memory_image image = core_reader(path, std::move(file)).read();
  if (!program.empty()) {
    if (mapped_bytes::of_file(program).bytes().empty())
      throw input_error(
          fmt::format("{}: it cannot be read: the program of the core is needed", program));
    image.replace_file(image.program(), program);
  }
  return image;
}

}  // namespace ashlar::image
