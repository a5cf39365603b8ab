/* core/tag.h: what an open scope of a tag is, for programs and for the library that samples (C99
 * and C++). Layer: core. Programs include adapt/tags.h, which has the functions.
 *
 *   thread --innermost--> scope --outer--> scope --outer--> null
 */
#ifndef ASHLAR_CORE_TAG_H
#define ASHLAR_CORE_TAG_H

#include <stdint.h>

/* An open scope. It is where its function has it, on a stack as a rule. */
struct ashlar_tag {
  const char* name; /* null: what is allocated in it has no tag */
  const struct ashlar_tag* outer;
  uintptr_t check; /* ashlar_tag_check of it: memory that was used otherwise has another value */
};

/* Returns: `check` of a scope of that name at that place. */
static inline uintptr_t ashlar_tag_check(const struct ashlar_tag* scope, const char* name) {
  return (uintptr_t)scope ^ (uintptr_t)name ^ (uintptr_t)0x61736874; /* of these three members */
}

/* The drop-in library's function. Effects: if it `mends`, the innermost scope is one that can be
 * read, or null; and `ended`, if it is not null, ends out of turn (runtime/tags.hpp). Returns:
 * where the thread has the address of its innermost scope. Thread-safe; safe in signal handlers. */
typedef const struct ashlar_tag** ashlar_tags_function(int mends, const struct ashlar_tag* ended);

#endif
