// Copies of ashlar that come and go with libraries, beside the program's own. A block goes back to
// the copy that it came from.
#define PROGRAMS_WITHOUT_MAIN
#include <limits>
#include <tests/lifetime/plugin.hpp>
#include <tests/lifetime/program.hpp>
#include <tests/support/in_child.hpp>

#include <dlfcn.h>

namespace {

char** paths;  ///< of the plugins that the command line names, the last of them null

/// A plugin as long as it is loaded.
class loaded {
 public:
  explicit loaded(const char* path) : library_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
    REQUIRE(library_ != nullptr);
    auto* const entry = reinterpret_cast<plugin_entry*>(::dlsym(library_, "plugin"));
    REQUIRE(entry != nullptr);
    face_ = entry();
  }
  loaded(const loaded&) = delete;
  loaded& operator=(const loaded&) = delete;
  ~loaded() { REQUIRE(::dlclose(library_) == 0); }
  const plugin_face* operator->() const { return face_; }

 private:
  void* library_;
  const plugin_face* face_;
};

using kept_blocks = support::kept_blocks<100>;

// A thousand times loaded and unloaded, with blocks and threads that live before, inside and after.
// What a round leaves behind grows in every hundred of them; threads that meet may add pages once.
PROGRAM(reload) {
  constexpr int rounds = 1'000;
  constexpr int step = 100;
  kept_blocks of_program, of_plugin, of_thread;
  of_program.allocate(1, face::allocate);
  std::vector<std::size_t> resident;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> phase = 0;
    std::thread longer;  // uses the plugin, and ends after it has gone
    {
      const loaded plugin(paths[0]);
      if (round != 0) of_plugin.check_and_free(2, plugin->release);  // of the round before
      of_plugin.allocate(2, plugin->allocate);
      longer = std::thread([&phase, use = plugin.operator->()] {
        use->release(use->allocate(100));
        face::release(face::allocate(100));
        phase = 1;
        phase.notify_one();
        phase.wait(1);
      });
      std::thread([&of_thread, use = plugin.operator->()] {
        of_thread.allocate(3, use->allocate);
      }).join();
      of_thread.check_and_free(3, plugin->release);
      phase.wait(0);
    }
    phase = 2;
    phase.notify_one();
    longer.join();
    if ((round + 1) % step == 0) resident.push_back(support::resident_bytes());
  }
  of_program.check_and_free(1, face::release);
  auto least = std::numeric_limits<std::ptrdiff_t>::max();
  for (std::size_t i = 1; i < resident.size(); ++i) {
    least = std::min(least, static_cast<std::ptrdiff_t>(resident[i] - resident[i - 1]));
  }
  std::printf("resident %zu KiB at the end; grew by at least %td bytes in %d rounds\n",
              resident.back() / 1024, least, step);
  REQUIRE(least < step * 1024);
}

// Blocks of three copies live side by side, in several threads, and through a fork.
PROGRAM(together) {
  const loaded first(paths[0]), second(paths[1]);
  const auto use_all = [&](std::uint64_t key, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      kept_blocks own, of_first, of_second;
      own.allocate(key, face::allocate);
      of_first.allocate(key + 1'000, first->allocate);
      of_second.allocate(key + 2'000, second->allocate);
      own.check_and_free(key, face::release);
      of_second.check_and_free(key + 2'000, second->release);
      of_first.check_and_free(key + 1'000, first->release);
      first->trim();
    }
  };
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (std::uint64_t k = 0; k < 3; ++k) {
    threads.emplace_back([&, k] {
      while (!stop) std::thread(use_all, k * 10'000, 3).join();
    });
  }
  kept_blocks own, of_first, of_second;
  own.allocate(7, face::allocate);
  of_first.allocate(8, first->allocate);
  of_second.allocate(9, second->allocate);
  const auto free_all = [&] {
    own.check_and_free(7, face::release);
    of_first.check_and_free(8, first->release);
    of_second.check_and_free(9, second->release);
  };
  for (std::uint64_t i = 0; i < 25; ++i) {
    const auto end = support::in_child(
        [&] {
          free_all();
          use_all(i, 2);
          return true;
        },
        20);
    if (!end.well()) std::fprintf(stderr, "child %lu: %d %s\n", i, end.code, end.err.c_str());
    REQUIRE(end.well());
  }
  free_all();
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// The wrong copy refuses a block at once, naming the call, whoever the two are.
PROGRAM(wrong_copy) {
  const loaded first(paths[0]), second(paths[1]);
  // So that each copy has a thread cache and pages by now.
  face::release(face::allocate(100));
  second->release(second->allocate(100));
  void* const block = first->allocate(100);
  REQUIRE(block != nullptr);
  const auto to_program = support::in_child([&] { return face::release(block), true; });
  REQUIRE(to_program.aborted());
  const auto to_second = support::in_child([&] { return second->release(block), true; });
  REQUIRE(to_second.aborted());
  for (const auto& end : {to_program, to_second}) {
    REQUIRE(end.err.find("free") != std::string::npos);
    std::fputs(end.err.c_str(), stdout);
  }
  first->release(block);
}

// Copies beyond the static thread-local storage that the C library keeps for late libraries are
// refused by dlopen, with its message; those before it go on.
PROGRAM(many_copies) {
  std::vector<void*> libraries;
  char** path = paths;
  for (; *path != nullptr; ++path) {
    void* const library = ::dlopen(*path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) break;
    libraries.push_back(library);
    busy::use_every_path(1, 600);
    for (void* const each : libraries) {
      const auto* const use = reinterpret_cast<plugin_entry*>(::dlsym(each, "plugin"))();
      kept_blocks blocks;
      blocks.allocate(5, use->allocate);
      blocks.check_and_free(5, use->release);
    }
  }
  std::printf("%zu copies fit\n", libraries.size());
  REQUIRE(libraries.size() >= 2);
  if (*path != nullptr) {
    const std::string why = ::dlerror();
    std::puts(why.c_str());
    REQUIRE(why.find("static TLS") != std::string::npos);
  }
}

}  // namespace

// plugins MODE PLUGIN...
int main(int, char** arguments) {
  paths = arguments + 2;
  return run_program(arguments[1]);
}
