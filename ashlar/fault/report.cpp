// fault/report.cpp: the texts of a report.
// Layer: fault.
#include <utility>

#include <ashlar/fault/report.hpp>
#include <ashlar/os/process.hpp>
#include <ashlar/os/thread_words.hpp>

namespace ashlar::detail {
namespace {

class with_history {
 public:
  explicit with_history(const fault_history& history) noexcept
      : before_(std::exchange(os::own_words.history, &history)) {}
  ~with_history() { os::own_words.history = before_; }
  with_history(const with_history&) = delete;
  with_history& operator=(const with_history&) = delete;

 private:
  const fault_history* before_;
};

// ---- text -------------------------------------------------------------------------------------

void append_place(text_writer& to, const void* address, const fault_history& h) noexcept {
  const auto* const p = static_cast<const char*>(address);
  const auto* const begin = static_cast<const char*>(h.block);
  const char* const behind = begin + h.size;
  const auto bytes = [&to](std::ptrdiff_t n) {
    to << static_cast<std::size_t>(n) << (n == 1 ? " byte" : " bytes");
  };
  to << "ashlar: " << address << " is ";
  if (p < begin) {
    bytes(begin - p);
    to << " before";
  } else if (p >= behind) {
    bytes(p - behind + 1);
    to << " past the end of";
  } else {
    to << "byte " << static_cast<std::size_t>(p - begin) << " of";
  }
  to << " the block of " << h.size << " bytes at " << h.block << "\n";
}

void append_deed(text_writer& to, const char* how, const deed* d) noexcept {
  if (d == nullptr) return;
  to << "ashlar: " << how;
  if (d->call != nullptr) to << " by " << d->call;
  to << " in thread " << d->thread << (d->at.depth != 0 ? ":\n" : "\n");
  os::append_frames(to, d->at);
}

// ---- JSON -------------------------------------------------------------------------------------

void append_string(text_writer& to, const char* name, const char* text) noexcept {
  if (text == nullptr) return;
  to << ", \"" << name << "\": \"";
  for (; *text != '\0'; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    constexpr const char* digits = "0123456789abcdef";
    const char escaped[] = {'\\', 'u', '0', '0', digits[c / 16], digits[c % 16], '\0'};
    const char plain[] = {*text, '\0'};
    to << (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' ? escaped : plain);
  }
  to << "\"";
}
void append_address(text_writer& to, const char* name, const void* address) noexcept {
  to << ", \"" << name << "\": \"" << address << "\"";
}
void append_number(text_writer& to, const char* name, std::size_t n) noexcept {
  if (n != 0) to << ", \"" << name << "\": " << n;
}

void append_json_deed(text_writer& to, const char* name, const deed* d) noexcept {
  if (d == nullptr) return;
  to << ", \"" << name << "\": {\"thread\": " << d->thread;
  append_string(to, "call", d->call);
  to << ", \"frames\": [";
  for (unsigned i = 0; i < d->at.depth; ++i) {
    const os::frame_place place = os::place_of(d->at.frames[i]);
    to << (i == 0 ? "" : ", ") << "{\"number\": " << i;
    append_address(to, "address", d->at.frames[i]);
    if (place.file != nullptr) {
      append_string(to, "file", place.file);
      append_address(to, "offset", reinterpret_cast<const void*>(place.offset));
    }
    append_string(to, "function", place.function);
    to << "}";
  }
  to << "]}";
}

}  // namespace

void misuse(const fault& what, const fault_history& history) noexcept {
  const with_history known(history);
  ashlar_misuse(what);
}
void end_in_fault(const fault& what, const fault_history& history) noexcept {
  const with_history known(history);
  ashlar_fault(what);
}
const fault_history* history_of_fault() noexcept { return os::own_words.history; }

void append_text(text_writer& to, const fault& what, const fault_history* history) noexcept {
  if (history != nullptr) {
    if (history->block != nullptr) append_place(to, what.address, *history);
    append_deed(to, history->how, history->found);
    append_deed(to, "allocated", history->made);
    append_deed(to, "freed", history->freed);
  }
  to << "ashlar: " << (what.call != nullptr ? what.call : "") << "(" << what.address
     << "): " << describe(what.kind);
  if (what.pool != nullptr) to << ", pool '" << what.pool << "'";
  if (what.block_size != 0) to << ", block size " << what.block_size;
  if (what.needed != 0) to << ", needed " << what.needed;
  if (what.blocks != 0) to << ", blocks " << what.blocks;
  if (history != nullptr && history->more != nullptr) to << ", " << history->more;
  to.end_line();
}

void append_json(text_writer& to, const fault& what, const fault_history* history,
                 const char* event, const char* action) noexcept {
  to << "{\"ashlar\": \"" << event << "\"";
  append_string(to, "kind", name_of(what.kind));
  append_string(to, "message", describe(what.kind));
  append_string(to, "call", what.call);
  append_address(to, "address", what.address);
  append_string(to, "pool", what.pool);
  append_number(to, "block_size", what.block_size);
  append_number(to, "needed", what.needed);
  append_number(to, "blocks", what.blocks);
  append_string(to, "action", action);
  append_number(to, "pid", os::process_number());
  append_number(to, "thread", os::thread_number());
  if (history != nullptr) {
    if (history->block != nullptr) {
      append_address(to, "block", history->block);
      to << ", \"size\": " << history->size;
    }
    append_json_deed(to, "found", history->found);
    append_json_deed(to, "allocated", history->made);
    append_json_deed(to, "freed", history->freed);
    append_string(to, "more", history->more);
  }
  to << "}";
  to.end_line();
}

}  // namespace ashlar::detail
