/* What a spec holds. Internal to the sim room. */
#ifndef LULL_SIM_SPEC_ENTRY_H
#define LULL_SIM_SPEC_ENTRY_H

#include "sim/spec.h"

#include <stddef.h>

enum { LULL_SPEC_MOST_ENTRIES = 256 };

struct lull_spec_entry {
    const char *key, *value;
};

struct lull_spec {
    struct lull_arena *arena;
    const char *name;
    const char *text;
    struct lull_spec_entry *entries; /* no key twice */
    uint32_t n_entries;
    size_t capacity;
    const char **asked; /* keys that readers asked for, each once */
    uint32_t n_asked;
    size_t asked_capacity;
};

struct lull_spec_entry *lull_spec_find(const struct lull_spec *spec, const char *key);
/* Replaces the value of a key, or adds it; both texts are borrowed. */
void lull_spec_put(struct lull_spec *spec, const char *key, const char *value);

#endif
