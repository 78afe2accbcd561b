/* Values of a profile, checked: types, ranges and lengths. Internal to the folder. */
#ifndef LULL_METRICS_PROFILE_VALUES_H
#define LULL_METRICS_PROFILE_VALUES_H

#include "base/json.h"
#include "metrics/breakdown/breakdown.h"

#include <jansson.h>

#define LULL_PROFILE_MOST_NS (INT64_C(1) << 60) /* 36 years */

struct lull_profile_reader {
    const char *path;
    struct lull_arena *arena;
    struct lull_error *err;
    struct lull_breakdown *to;
    size_t allowance; /* bytes of counters that a file of this size may ask for */
    struct lull_profile_rank {
        uint32_t rank, index;
    } * ranks; /* sorted */
};

/* Fails: says what is wrong where. */
lull_status lull_profile_wrong(const struct lull_profile_reader *reader,
                               const struct lull_json_step *step, const char *what);

/* The member `key` of an object, whose place is `up`. */
lull_status lull_profile_int(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, const char *key, int64_t most,
                             int64_t *ret);
lull_status lull_profile_u32(const struct lull_profile_reader *reader, const json_t *object,
                             const struct lull_json_step *up, const char *key, uint32_t *ret);
/* A count is an integer, or a string of digits where it is large. */
lull_status lull_profile_count_of(const struct lull_profile_reader *reader, const json_t *value,
                                  const struct lull_json_step *step, uint64_t *ret);
lull_status lull_profile_count(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up, const char *key, uint64_t *ret);
lull_status lull_profile_text(const struct lull_profile_reader *reader, const json_t *object,
                              const struct lull_json_step *up, const char *key, const char **ret);
/* One of `count` names. */
lull_status lull_profile_name(const struct lull_profile_reader *reader, const json_t *object,
                              const struct lull_json_step *up, const char *key,
                              const char *(*name_of)(unsigned), unsigned count, uint8_t *ret);

/* Fields of a struct, as a table: times in ns. */
struct lull_profile_time {
    const char *key;
    size_t offset;
};
lull_status lull_profile_times(const struct lull_profile_reader *reader, const json_t *object,
                               const struct lull_json_step *up,
                               const struct lull_profile_time *fields, size_t count, void *to);

typedef lull_status lull_profile_item(struct lull_profile_reader *reader, const json_t *object,
                                      const struct lull_json_step *step, size_t index);
/* Calls `read` for each object of an array; `*ret_items` is made large enough before. */
lull_status lull_profile_array(struct lull_profile_reader *reader, const json_t *root,
                               const char *key, bool required, size_t item_size, void **ret_items,
                               uint32_t *ret_count, lull_profile_item *read);

#endif
