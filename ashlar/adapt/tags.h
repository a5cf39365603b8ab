/* adapt/tags.h: name what a part of the program allocates (C99 and C++).
 *
 *   C++   ashlar::tag_scope here("parser");
 *   C     struct ashlar_tag here; ashlar_tag_push(&here, "parser"); ... ashlar_tag_pop(&here);
 *
 * What the calling thread allocates from there to the end of the scope has the tag, if the drop-in
 * library serves the process and samples it (ASHLAR_SAMPLE, docs/how-to/profile-a-service.md): its
 * profiles have the label `tag`, and its metrics the live bytes of each tag, with their standard
 * error. They are estimates. For exact figures give the part a heap instance of its own
 * (instance/heap.hpp), whose statistics are its own, and its containers take it (adapt/pmr.hpp). A
 * scope does not lead malloc to a heap: each hit would have to look for one. Without the drop-in
 * library, a scope does nothing.
 *
 * A scope costs some nanoseconds (8 on an AMD EPYC: sampling_tagged speed), and a hit nothing more:
 * names are read when a block is sampled.
 *
 * - A name has 1 to 63 characters of printable ASCII. A longer one is cut there, with one line on
 *   standard error; another character counts as `?`. An empty name, and null, is no tag.
 * - A name lives as long as the scope. It is best a literal: of the first 256 names each is a tag
 *   of its own, and later ones share "(other)", with one line on standard error.
 * - Scopes nest, in each thread for itself: the innermost one counts. A realloc counts as a free
 *   and an allocation: the block has the tag of the realloc.
 * - A thread that works for another one gets its tag by ashlar_tag_now or ashlar::tag_handover.
 * - A scope that does not end where it has to is put right, with one line on standard error: one
 *   that ends before the scopes in it (they end, too), twice or in another thread (nothing ends).
 * - A scope that longjmp leaves, or a coroutine that waits in a scope, may lend its tag to what the
 *   thread allocates next. The scope's memory may be gone then: that is noticed, and it has no tag.
 * - A child of fork has the scopes of the thread that forked.
 *
 * The functions may be called by any thread at any time; in a handler of a signal, too, where the
 * program has opened a scope before. None throws, and only the first one may allocate.
 *
 * All of this is inline, but for one function that is looked for when the program runs. So a
 * program that includes this header links and runs without any library of ashlar.
 */
#ifndef ASHLAR_ADAPT_TAGS_H
#define ASHLAR_ADAPT_TAGS_H

#include <stddef.h>

#include <ashlar/adapt/loaded_name.h>
#include <ashlar/core/tag.h>

/* NOLINTBEGIN(modernize-use-nullptr): C has none */
#ifdef __cplusplus
extern "C" {
#endif

/* Effects: `scope` begins in the calling thread, under that name.
 * Requires: `scope` stays where it is, and the name as it is, until ashlar_tag_pop. O(1). */
static inline void ashlar_tag_push(struct ashlar_tag* scope, const char* name);

/* Effects: `scope` ends. Requires: ashlar_tag_push of it in this thread. O(1). */
static inline void ashlar_tag_pop(struct ashlar_tag* scope);

/* Returns: the name of the calling thread's innermost scope; null: none is open, or nothing looks
 * at tags. It is for a scope in another thread, and lives as long as the name does. O(1). */
static inline const char* ashlar_tag_now(void);

/* ---- how the functions do it ---------------------------------------------------------------- */

#if !defined(__APPLE__)
__attribute__((weak)) const struct ashlar_tag** ashlar_tags_of_malloc(
    int mends, const struct ashlar_tag* ended);
#endif
static inline const struct ashlar_tag** ashlar_tags_of_none(int mends,
                                                            const struct ashlar_tag* ended) {
  (void)mends;
  (void)ended;
  return NULL;
}
/* Returns: the drop-in library's function, or the one above. The first call looks for it. */
static inline ashlar_tags_function* ashlar_tags_found(void) {
  static ashlar_tags_function* known = NULL;
  ashlar_tags_function* found = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (found != NULL) return found;
#if !defined(__APPLE__)
  found = &ashlar_tags_of_malloc;
#endif
  if (found == NULL) ashlar_find_loaded("ashlar_tags_of_malloc", &found, sizeof found);
  if (found == NULL) found = &ashlar_tags_of_none;
  __atomic_store_n(&known, found, __ATOMIC_RELAXED);
  return found;
}

static inline void ashlar_tag_push(struct ashlar_tag* scope, const char* name) {
  ashlar_tags_function* const tags = ashlar_tags_found();
  const struct ashlar_tag** const innermost = tags(0, NULL);
  if (innermost == NULL) return;
  if (*innermost == scope) (void)tags(1, scope); /* a longjmp left it */
  scope->name = name;
  scope->outer = *innermost;
  scope->check = ashlar_tag_check(scope, name);
  __atomic_signal_fence(__ATOMIC_RELEASE); /* a handler that allocates finds it whole */
  *innermost = scope;
}
static inline void ashlar_tag_pop(struct ashlar_tag* scope) {
  ashlar_tags_function* const tags = ashlar_tags_found();
  const struct ashlar_tag** const innermost = tags(0, NULL);
  if (innermost == NULL) return;
  if (*innermost == scope)
    *innermost = scope->outer;
  else
    (void)tags(1, scope);
}
static inline const char* ashlar_tag_now(void) {
  const struct ashlar_tag** const innermost = ashlar_tags_found()(1, NULL);
  return innermost != NULL && *innermost != NULL ? (*innermost)->name : NULL;
}

#ifdef __cplusplus
}

namespace ashlar {

/// The calling thread's tag at the moment at which this was made, for scopes in other threads:
///
///   std::thread([tag = ashlar::tag_handover()] { const ashlar::tag_scope here(tag); ... });
class tag_handover {
 public:
  tag_handover() noexcept : name_(::ashlar_tag_now()) {}

 private:
  friend class tag_scope;
  const char* name_;
};

/// A scope from here to the end of the block that it is in.
class tag_scope {
 public:
  explicit tag_scope(const char* name) noexcept { ::ashlar_tag_push(&scope_, name); }
  explicit tag_scope(tag_handover from) noexcept : tag_scope(from.name_) {}
  ~tag_scope() { ::ashlar_tag_pop(&scope_); }
  tag_scope(const tag_scope&) = delete;
  tag_scope& operator=(const tag_scope&) = delete;

 private:
  ::ashlar_tag scope_;
};

}  // namespace ashlar
#endif
/* NOLINTEND(modernize-use-nullptr) */

#endif
