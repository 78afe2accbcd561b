/* The shape of a machine file, internal: one table for reading and for writing. */
#ifndef LULL_MACHINE_SCHEMA_H
#define LULL_MACHINE_SCHEMA_H

#include "machine/machine.h"

enum lull_field_kind {
    LULL_FIELD_TEXT,    /* const char *; missing: NULL */
    LULL_FIELD_U32,     /* missing: 0 */
    LULL_FIELD_U64,     /* missing: 0 */
    LULL_FIELD_END,     /* uint64_t; missing: UINT64_MAX */
    LULL_FIELD_SOME,    /* uint64_t, and at `count` a bool that says whether it is there */
    LULL_FIELD_DOUBLE,  /* missing: NAN, or 0 where `zero` is set */
    LULL_FIELD_BOOL,    /* missing: false */
    LULL_FIELD_KNOWN,   /* enum lull_known as a boolean; missing: unknown */
    LULL_FIELD_VERDICT, /* by name */
    LULL_FIELD_OBJECT,  /* a struct of `shape`; missing: all its fields are */
    /* Arrays: a pointer, and at `count` a size_t. Missing: none. */
    LULL_FIELD_TEXTS,
    LULL_FIELD_U64S,
    LULL_FIELD_DOUBLES,
    LULL_FIELD_ITEMS,  /* structs of `shape` */
    LULL_FIELD_TUPLES, /* structs of `shape`, all doubles, each an array of them */
    LULL_FIELD_MAP     /* structs of a keyed `shape`, an object */
};

struct lull_shape;

struct lull_field {
    const char *key;
    enum lull_field_kind kind;
    bool required;
    bool zero; /* missing doubles are 0 */
    size_t offset, count;
    const struct lull_shape *shape;
};

struct lull_shape {
    size_t size;
    bool on_a_line; /* written without line breaks */
    bool keyed;     /* the first field is a text that is not among the others: the key in a MAP */
    const struct lull_field *fields;
    size_t n_fields;
};

extern const struct lull_shape lull_machine_shape;

/* The default of every field. */
void lull_shape_clear(const struct lull_shape *shape, void *item);

#endif
