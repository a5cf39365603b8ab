// arena/arena_scope.hpp: what is allocated in a scope goes with the scope.
// Layer: arena (freestanding).
// Law: scopes of one arena end in the reverse order of their beginning.
#pragma once

namespace ashlar {

/// Marks the arena when it begins and rewinds it when it ends: destructors run, the newest object's
/// first, and the memory stays in the arena. Requires: the arena stays where it is meanwhile.
template <class Arena>
class arena_scope {
 public:
  [[nodiscard]] explicit arena_scope(Arena& arena) noexcept : arena_(arena), start_(arena.mark()) {}
  ~arena_scope() {
    if (rewinds_) arena_.rewind(start_);
  }
  arena_scope(const arena_scope&) = delete;
  arena_scope& operator=(const arena_scope&) = delete;

  /// Effects: the scope's end does nothing; what was allocated belongs to the scope around it.
  void keep() noexcept { rewinds_ = false; }

 private:
  Arena& arena_;
  typename Arena::marker start_;
  bool rewinds_ = true;
};

}  // namespace ashlar
