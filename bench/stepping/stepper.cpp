// bench/stepping/stepper.cpp: see stepper.hpp.
#include "stepper.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <asm/prctl.h>
#include <capstone/capstone.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace stepping {
namespace {

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "stepping: %s\n", why);
  std::_Exit(1);
}

// ---- cache lines ---------------------------------------------------------------------------------

constexpr unsigned line_shift = 6;

/// Who has a line; all zero: nobody.
struct line {
  std::atomic<std::uintptr_t> number;  ///< 0: the entry is free
  std::atomic<bool> is_busy;
  std::uint64_t holders;  ///< a bit for each thread whose copy is valid
  unsigned writer;        ///< 1 + the number of the thread that wrote it last
};
constexpr std::size_t line_count = std::size_t{1} << 21;

line* map_lines() {
  void* const p = ::mmap(nullptr, line_count * sizeof(line), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) give_up("no memory for the table of cache lines");
  return static_cast<line*>(p);  // zero bytes are free entries
}
line* const lines = map_lines();

line& line_of(std::uintptr_t number) {
  std::size_t at = (number * 0x9e3779b97f4a7c15u) >> 43;
  for (std::size_t tries = 0; tries < line_count; ++tries, at = (at + 1) % line_count) {
    line& l = lines[at];
    std::uintptr_t seen = l.number.load(std::memory_order_acquire);
    if (seen == number) return l;
    if (seen == 0 && (l.number.compare_exchange_strong(seen, number) || seen == number)) return l;
  }
  give_up("too many cache lines");
}

/// Effects: thread `self` reads or writes the line. Returns: whether it moves for that.
bool access_line(std::uintptr_t number, unsigned self, bool writes) {
  line& l = line_of(number);
  const std::uint64_t mine = std::uint64_t{1} << self;
  while (l.is_busy.exchange(true, std::memory_order_acquire)) {
  }
  const bool is_others = l.writer != 0 && l.writer != self + 1;
  bool moves = is_others && (l.holders & mine) == 0;
  if (writes) {
    moves = is_others || (l.holders & ~mine) != 0;
    l.holders = mine;
    l.writer = self + 1;
  } else {
    l.holders |= mine;
  }
  l.is_busy.store(false, std::memory_order_release);
  return moves;
}

// ---- instructions --------------------------------------------------------------------------------

/// What is to be known of an instruction at one address.
struct decoded {
  struct access {
    int base = -1,
        index = -1;  ///< a register of the context; -1: none, -2: the next instruction's address
    int scale = 1;
    std::int64_t displacement = 0;
    std::uint8_t bytes = 0;
    bool is_thread_local = false;
    bool writes = false;
  };
  std::uintptr_t at = 0;
  std::uint8_t length = 0;
  bool is_locked = false, is_system_call = false;
  std::uint8_t accesses = 0;
  std::array<access, 2> access_of;
};

/// A register's name in the decoder, that of its lower half, and its place in the context.
struct register_names {
  x86_reg whole, half;
  int place;
};
constexpr auto registers_of_context = std::to_array<register_names>({
    {X86_REG_RAX, X86_REG_EAX, REG_RAX},
    {X86_REG_RBX, X86_REG_EBX, REG_RBX},
    {X86_REG_RCX, X86_REG_ECX, REG_RCX},
    {X86_REG_RDX, X86_REG_EDX, REG_RDX},
    {X86_REG_RSI, X86_REG_ESI, REG_RSI},
    {X86_REG_RDI, X86_REG_EDI, REG_RDI},
    {X86_REG_RBP, X86_REG_EBP, REG_RBP},
    {X86_REG_RSP, X86_REG_ESP, REG_RSP},
    {X86_REG_R8, X86_REG_R8D, REG_R8},
    {X86_REG_R9, X86_REG_R9D, REG_R9},
    {X86_REG_R10, X86_REG_R10D, REG_R10},
    {X86_REG_R11, X86_REG_R11D, REG_R11},
    {X86_REG_R12, X86_REG_R12D, REG_R12},
    {X86_REG_R13, X86_REG_R13D, REG_R13},
    {X86_REG_R14, X86_REG_R14D, REG_R14},
    {X86_REG_R15, X86_REG_R15D, REG_R15},
});

int context_register(x86_reg r) {
  if (r == X86_REG_RIP) return -2;
  for (const register_names& each : registers_of_context)
    if (r == each.whole || r == each.half) return each.place;
  return -1;
}

/// A thread that steps. Never freed: the handler may run until the thread's last instruction.
struct stepper {
  unsigned self = 0;
  std::uintptr_t thread_base = 0;  ///< what %fs is
  csh engine = 0;
  cs_insn* instruction = nullptr;
  counts done;
  std::uint64_t own_instructions = 0;  ///< those of start_stepping and stop_stepping themselves
  std::array<decoded, 8192> known;
};
thread_local stepper* own [[gnu::tls_model("initial-exec")]] = nullptr;

void decode(stepper& s, std::uintptr_t at, decoded& d) {
  const auto* code = reinterpret_cast<const std::uint8_t*>(at);
  std::size_t left = 15;
  std::uint64_t address = at;
  d = {};
  d.at = at;
  if (!cs_disasm_iter(s.engine, &code, &left, &address, s.instruction)) return;  // counted, no more
  const cs_x86& x = s.instruction->detail->x86;
  d.length = static_cast<std::uint8_t>(s.instruction->size);
  d.is_locked = x.prefix[0] == X86_PREFIX_LOCK;
  d.is_system_call = s.instruction->id == X86_INS_SYSCALL;
  if (s.instruction->id == X86_INS_LEA || s.instruction->id == X86_INS_NOP) return;
  for (std::uint8_t i = 0; i < x.op_count && d.accesses < d.access_of.size(); ++i) {
    const cs_x86_op& op = x.operands[i];
    if (op.type != X86_OP_MEM) continue;
    if (s.instruction->id == X86_INS_XCHG) d.is_locked = true;
    decoded::access& a = d.access_of[d.accesses++];
    a.base = context_register(op.mem.base);
    a.index = context_register(op.mem.index);
    a.scale = op.mem.scale;
    a.displacement = op.mem.disp;
    a.bytes = op.size;
    a.is_thread_local = op.mem.segment == X86_REG_FS;
    a.writes = (op.access & CS_AC_WRITE) != 0;
  }
}

const decoded& known_at(stepper& s, std::uintptr_t at) {
  decoded& d = s.known[(at ^ at >> 13) % s.known.size()];
  if (d.at != at) decode(s, at, d);
  return d;
}

bool is_wait(const greg_t* registers) {
  if (registers[REG_RAX] != SYS_futex) return false;
  switch (registers[REG_RSI] & FUTEX_CMD_MASK) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_OP:
    case FUTEX_WAKE_BITSET:
    case FUTEX_UNLOCK_PI:
      return false;
    default:
      return true;
  }
}

/// After each instruction: notes what the next one is about to do.
void on_step(int, siginfo_t*, void* context) {
  const int saved = errno;
  stepper& s = *own;
  const greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto at = static_cast<std::uintptr_t>(registers[REG_RIP]);
  const decoded& d = known_at(s, at);
  ++s.done.instructions;
  s.done.locked += d.is_locked ? 1 : 0;
  s.done.waits += d.is_system_call && is_wait(registers) ? 1 : 0;
  for (std::uint8_t i = 0; i < d.accesses; ++i) {
    const decoded::access& a = d.access_of[i];
    std::uintptr_t address = static_cast<std::uintptr_t>(a.displacement);
    if (a.base == -2) address += at + d.length;
    if (a.base >= 0) address += static_cast<std::uintptr_t>(registers[a.base]);
    if (a.index >= 0)
      address += static_cast<std::uintptr_t>(registers[a.index]) * static_cast<unsigned>(a.scale);
    if (a.is_thread_local) address += s.thread_base;
    const std::uintptr_t last = (address + (a.bytes != 0 ? a.bytes - 1u : 0u)) >> line_shift;
    for (std::uintptr_t number = address >> line_shift; number <= last; ++number)
      s.done.moved_lines += access_line(number, s.self, a.writes) ? 1 : 0;
  }
  errno = saved;
}

constexpr unsigned alternate_stack_bytes = 256 * 1024;

}  // namespace

void prepare_thread(unsigned self) {
  auto* const s = new stepper;
  s->self = self;
  if (::syscall(SYS_arch_prctl, ARCH_GET_FS, &s->thread_base) != 0) give_up("no thread pointer");
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &s->engine) != CS_ERR_OK) give_up("no decoder");
  cs_option(s->engine, CS_OPT_DETAIL, CS_OPT_ON);
  s->instruction = cs_malloc(s->engine);
  own = s;
  // The code that is stepped may use the bytes below its stack pointer.
  stack_t stack{};
  stack.ss_size = alternate_stack_bytes;
  stack.ss_sp =
      ::mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack.ss_sp == MAP_FAILED || ::sigaltstack(&stack, nullptr) != 0)
    give_up("no stack for signals");
  struct sigaction action{};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGTRAP, &action, nullptr);
  start_stepping();
  s->own_instructions = stop_stepping().instructions;
}

[[gnu::noinline]] void start_stepping() noexcept {
  own->done = {};
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushf\n\torl $0x100, (%%rsp)\n\tpopf\n\tlea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

[[gnu::noinline]] counts stop_stepping() noexcept {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushf\n\tandl $~0x100, (%%rsp)\n\tpopf\n\tlea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
  counts done = own->done;
  done.instructions -= own->own_instructions;
  return done;
}

void note_write(const void* address) noexcept {
  static_cast<void>(
      access_line(reinterpret_cast<std::uintptr_t>(address) >> line_shift, own->self, true));
}

}  // namespace stepping
