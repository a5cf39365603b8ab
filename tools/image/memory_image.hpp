// tools/image/memory_image.hpp: what a process had in memory at one moment, by address. Layer:
// image.
//
//   a core file  --core_file.hpp-->        memory_image  --> whoever looks into it
//   a process    --stopped_process.hpp-->
//
// What neither a core file nor a process's own pages have is read from the files that were mapped
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/trace/reachability.hpp"

namespace ashlar::image {

/// Bytes in this process that a mapping of it keeps: of a file, or of memory.
class mapped_bytes {
 public:
  mapped_bytes() = default;
  /// Returns: the file's bytes; empty where it cannot be read, or is no regular file.
  [[nodiscard]] static mapped_bytes of_file(const std::string& path);
  /// Returns: so many zero bytes, in memory already. Throws: std::bad_alloc.
  [[nodiscard]] static mapped_bytes of_memory(std::size_t bytes);
  ~mapped_bytes();
  mapped_bytes(mapped_bytes&& other) noexcept;
  mapped_bytes& operator=(mapped_bytes&& other) noexcept;
  mapped_bytes(const mapped_bytes&) = delete;
  mapped_bytes& operator=(const mapped_bytes&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit mapped_bytes(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

/// A stretch of addresses that the process had.
struct mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool writable = false;
  std::string path;            ///< of the file; empty: none
  std::uint64_t offset = 0;    ///< where the stretch begins in the file
  bool rest_is_zero = false;   ///< bytes that were not kept were never written to
  bool is_closed = false;      ///< it may not be read
  std::uint64_t resident = 0;  ///< bytes in memory, as the system counts them; of a core 0
  std::uint64_t swapped = 0;   ///< the same, in no memory
};

/// What the system says of a process's memory, in bytes.
struct memory_counts {
  std::uint64_t resident = 0;   ///< in memory, also what other processes have, too
  std::uint64_t anonymous = 0;  ///< of these, what no file has
  std::uint64_t swapped = 0;    ///< in no memory
  std::uint64_t closed = 0;     ///< of both, what may not be read
};

struct thread_state {
  std::uint32_t id = 0;
  std::uint64_t stack_pointer = 0;
  std::vector<std::uint64_t> registers;  ///< as the system writes them
};

/// Throws nothing but std::bad_alloc. The building functions come first; then nothing changes any
/// more.
class memory_image {
 public:
  // ---- building ----

  /// Effects: the bytes at `begin` are these. Requires: they live as long as the image (`keep`),
  /// and begin behind all that was added before.
  void add_bytes(std::uint64_t begin, std::span<const std::byte> bytes);
  void add_mapping(mapping added) { mappings_.push_back(std::move(added)); }
  void add_thread(thread_state added) { threads_.push_back(std::move(added)); }
  /// Effects: the thread that was added last has these registers, too.
  void add_registers(std::span<const std::byte> bytes);
  void keep(mapped_bytes bytes) { kept_.push_back(std::move(bytes)); }
  /// Effects: what was mapped from `path` is read from `instead`.
  void replace_file(const std::string& path, std::string instead) {
    instead_[path] = std::move(instead);
  }

  std::uint32_t process = 0;            ///< its number; 0: nobody knows
  int signal = 0;                       ///< that ended it; 0: none
  std::uint64_t entry = 0;              ///< where the program begins, in its file's mapping
  std::uint64_t first_stack = 0;        ///< an address in the first thread's stack
  std::string command;                  ///< as the system tells it
  std::optional<memory_counts> counts;  ///< none: nobody knows
  std::vector<std::string> remarks;     ///< what is missing, each a sentence

  // ---- reading ----

  /// Returns: the bytes from `address` on that lie in this process's memory side by side; empty:
  /// nobody has that byte.
  [[nodiscard]] std::span<const std::byte> at(std::uint64_t address) const;
  /// Effects: copies bytes. Returns: how many are there from `address` on, side by side or not.
  std::size_t read(std::uint64_t address, std::span<std::byte> to) const;
  /// Returns: the value that lies there; nothing where a byte of it is missing.
  template <class Value>
  [[nodiscard]] std::optional<Value> value_at(std::uint64_t address) const {
    Value value;
    if (read(address, std::as_writable_bytes(std::span(&value, 1))) != sizeof value) return {};
    return value;
  }
  /// Returns: the text there up to its zero byte; at most `most` bytes.
  [[nodiscard]] std::string text_at(std::uint64_t address, std::size_t most = 1024) const;

  [[nodiscard]] const std::vector<mapping>& mappings() const { return mappings_; }
  [[nodiscard]] const std::vector<thread_state>& threads() const { return threads_; }
  /// Returns: the mapping that holds `address`; null: none does.
  [[nodiscard]] const mapping* mapping_of(std::uint64_t address) const;
  /// Returns: the path of the program's own file; empty: nobody knows.
  [[nodiscard]] std::string program() const;
  /// Returns: the stretches whose bytes were kept, in the order of addresses.
  [[nodiscard]] std::vector<trace::address_range> kept() const;
  /// Returns: where the file that was mapped from `path` is read.
  [[nodiscard]] const std::string& place_of(const std::string& path) const;

  /// Returns: where pointers may lie, in the order of addresses: the stretches that could be
  /// written to and whose bytes were kept. Of the stack of each thread, what lies below its stack
  /// pointer is left out.
  [[nodiscard]] std::vector<trace::address_range> places_of_pointers() const;

 private:
  struct segment {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const std::byte* bytes = nullptr;
  };
  [[nodiscard]] const segment* segment_of(std::uint64_t address) const;
  /// Returns: what the address has whose bytes were not kept: its file's, or zeros.
  [[nodiscard]] std::span<const std::byte> not_kept(std::uint64_t address) const;
  /// Returns: where the first byte of the stack in use is, if `m` is a stack of a thread; else its
  /// begin.
  [[nodiscard]] std::uint64_t begin_of_use(const mapping& m) const;

  std::vector<segment> segments_;  // in the order of addresses
  std::vector<mapping> mappings_;  // the same
  std::vector<thread_state> threads_;
  std::vector<mapped_bytes> kept_;
  std::map<std::string, std::string> instead_;
  mutable std::size_t last_ = 0;  // the segment that was asked for last
  mutable std::map<std::string, mapped_bytes> files_;
};

/// A program or library of the process.
struct loaded_file {
  std::string path;
  std::uint64_t begin = 0;  ///< the lowest address of it
};
/// Returns: the ELF files whose first page was mapped, in the order of addresses.
[[nodiscard]] std::vector<loaded_file> loaded_files(const memory_image& image);

/// A note of an ELF file in memory: where its descriptor lies.
struct loaded_note {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};
/// Returns: the notes of this owner and type that the file at `begin` has.
[[nodiscard]] std::vector<loaded_note> notes_of(const memory_image& image, std::uint64_t begin,
                                                std::string_view owner, std::uint32_t type);
/// Returns: the bytes of the build id of the file at `begin`; empty: it has none.
[[nodiscard]] std::string build_id_at(const memory_image& image, std::uint64_t begin);

// Where a thread's registers have its stack pointer.

/// Returns: the stack pointer among the registers as the system writes them (struct
/// user_regs_struct); 0 on a machine whose order this does not know: then all of each stack counts
/// as in use.
[[nodiscard]] inline std::uint64_t stack_pointer_in(std::span<const std::uint64_t> registers) {
#if defined(__x86_64__)
  constexpr std::size_t at = 19;
#elif defined(__aarch64__)
  constexpr std::size_t at = 31;
#elif defined(__riscv)
  constexpr std::size_t at = 2;
#else
  constexpr std::size_t at = SIZE_MAX;
#endif
  return at < registers.size() ? registers[at] : 0;
}

}  // namespace ashlar::image
