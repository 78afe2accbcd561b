#include "sim/noise/recording.h"

#include "base/file.h"
#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RECORDED_NS (INT64_C(1) << 62)

enum { LONGEST_LINE = 256 };

struct detour_list {
    const char *path;
    struct lull_arena *arena;
    struct lull_recorded_detour *detours;
    size_t count, capacity;
    int64_t end;      /* of the last */
    int64_t lost;     /* by all */
    int64_t duration; /* 0: not said */
};

/* Appends a detour, or says in `err` what is wrong with it. */
static lull_status append(struct detour_list *list, int64_t begin, int64_t length,
                          struct lull_error *err)
{
    if (begin < 0 || begin > MOST_RECORDED_NS)
        return lull_fail(err, LULL_ERR_FORMAT, "a detour begins at %lld ns, expected 0 to 2^62",
                         (long long)begin);
    if (length <= 0 || length > MOST_RECORDED_NS - begin)
        return lull_fail(err, LULL_ERR_FORMAT, "a detour of %lld ns, expected more than 0",
                         (long long)length);
    if (begin < list->end)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "a detour begins at %lld ns, before the last one ends at %lld ns",
                         (long long)begin, (long long)list->end);
    list->detours = lull_arena_grow(list->arena, list->detours, &list->capacity, list->count + 1,
                                    sizeof *list->detours);
    list->detours[list->count++] = (struct lull_recorded_detour){begin, length, list->lost};
    list->lost += length;
    list->end = begin + length;
    return LULL_OK;
}

static lull_status finish(const struct detour_list *list,
                          struct lull_noise_recording *ret_recording, struct lull_error *err)
{
    int64_t duration = list->duration ? list->duration : list->end;
    if (duration < list->end)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: duration is %lld ns, but the last detour ends at %lld ns", list->path,
                         (long long)duration, (long long)list->end);
    if (duration <= list->lost)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: detours leave no time in between", list->path);
    *ret_recording =
        (struct lull_noise_recording){duration, list->lost, list->count, list->detours};
    return LULL_OK;
}

static lull_status read_pair(struct detour_list *list, const json_t *pair, struct lull_error *err)
{
    const json_t *begin = json_array_get(pair, 0), *length = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(begin) || !json_is_integer(length))
        return lull_fail(err, LULL_ERR_FORMAT, "expected [begin, length] in whole ns");
    return append(list, json_integer_value(begin), json_integer_value(length), err);
}

static lull_status read_object(struct detour_list *list, const json_t *root, struct lull_error *err)
{
    const json_t *detours = json_object_get(root, "detours");
    const json_t *duration = json_object_get(root, "duration");
    if (json_integer_value(json_object_get(root, "lull_noise")) != 1)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"lull_noise\": 1", list->path);
    if (!json_is_array(detours))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"detours\", an array", list->path);
    if (duration && (!json_is_integer(duration) || json_integer_value(duration) <= 0 ||
                     json_integer_value(duration) > MOST_RECORDED_NS))
        return lull_fail(err, LULL_ERR_FORMAT, "%s: expected \"duration\" in whole ns, above 0",
                         list->path);
    list->duration = json_integer_value(duration);
    for (size_t i = 0; i < json_array_size(detours); i++) {
        lull_status status = read_pair(list, json_array_get(detours, i), err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s: detour %zu", list->path, i);
    }
    return LULL_OK;
}

static lull_status read_json(struct detour_list *list, const struct lull_mapping *map,
                             struct lull_error *err)
{
    json_error_t cause;
    json_t *root = json_loadb((const char *)map->data, map->size, JSON_REJECT_DUPLICATES, &cause);
    if (!root)
        return lull_fail(err, LULL_ERR_FORMAT, "%s: line %d: %s", list->path, cause.line,
                         cause.text);
    lull_status status = read_object(list, root, err);
    json_decref(root);
    return status;
}

/* Whole ns; spaces around are allowed. */
static bool read_whole_ns(const char *text, size_t length, int64_t *ret_value)
{
    uint64_t value;
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    if (lull_parse_u64(text, length, &value) != LULL_OK || value > INT64_MAX)
        return false;
    *ret_value = (int64_t)value;
    return true;
}

static lull_status read_line(struct detour_list *list, const char *line, size_t length,
                             size_t number, struct lull_error *err)
{
    static const char key[] = "# duration=";
    int64_t begin, detour;
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    if (length > sizeof key - 1 && memcmp(line, key, sizeof key - 1) == 0) {
        if (!read_whole_ns(line + sizeof key - 1, length - sizeof key + 1, &list->duration) ||
            list->duration <= 0 || list->duration > MOST_RECORDED_NS)
            return lull_fail(err, LULL_ERR_FORMAT, "expected a duration in whole ns, above 0");
        return LULL_OK;
    }
    if (length == 0 || line[0] == '#')
        return LULL_OK;
    const char *comma = memchr(line, ',', length);
    if (!comma || !read_whole_ns(line, (size_t)(comma - line), &begin) ||
        !read_whole_ns(comma + 1, length - (size_t)(comma + 1 - line), &detour)) {
        if (number == 1 && comma && (line[0] < '0' || line[0] > '9'))
            return LULL_OK; /* names of the columns */
        return lull_fail(err, LULL_ERR_FORMAT, "expected begin,length in whole ns");
    }
    return append(list, begin, detour, err);
}

static lull_status read_csv(struct detour_list *list, const struct lull_mapping *map,
                            struct lull_error *err)
{
    const char *at = (const char *)map->data, *end = at + map->size;
    for (size_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        lull_status status = read_line(list, at, (size_t)(stop - at), number, err);
        if (status != LULL_OK)
            return lull_fail_prefix(err, status, "%s: line %zu", list->path, number);
        at = stop < end ? stop + 1 : end;
    }
    return LULL_OK;
}

lull_status lull_noise_recording_read(const char *path, struct lull_arena *arena,
                                      struct lull_noise_recording *ret_recording,
                                      struct lull_error *err)
{
    struct lull_mapping map;
    struct detour_list list = {.path = path, .arena = arena};
    size_t first = 0;
    lull_status status = lull_map_file(path, &map, err);
    if (status != LULL_OK)
        return status;
    while (first < map.size && strchr(" \t\r\n", map.data[first]) && map.data[first])
        first++;
    bool is_json = first < map.size && map.data[first] == '{';
    status = is_json ? read_json(&list, &map, err) : read_csv(&list, &map, err);
    if (status == LULL_OK && list.end == 0 && list.duration == 0)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: neither a detour nor a duration", path);
    lull_unmap(&map);
    return status == LULL_OK ? finish(&list, ret_recording, err) : status;
}

/* Time lost to detours before `at` in [0, duration). */
static int64_t lost_before(const struct lull_noise_recording *recording, int64_t at)
{
    uint64_t low = 0, high = recording->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct lull_recorded_detour *detour = &recording->detours[middle];
        if (detour->begin + detour->length <= at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == recording->count)
        return recording->lost;
    const struct lull_recorded_detour *next = &recording->detours[low];
    return next->before + (at > next->begin ? at - next->begin : 0);
}

/* Time lost when as much work as `work` in (0, duration - lost] is done since the start of the
 * recording: that of all detours that begin before the work is at its end. */
static int64_t lost_after(const struct lull_noise_recording *recording, int64_t work)
{
    uint64_t low = 0, high = recording->count;
    while (low < high) { /* the first detour with as much work or more before it */
        uint64_t middle = low + (high - low) / 2;
        const struct lull_recorded_detour *detour = &recording->detours[middle];
        if (detour->begin - detour->before < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low == recording->count ? recording->lost : recording->detours[low].before;
}

int64_t lull_noise_recording_extend(const struct lull_noise_recording *recording, int64_t at,
                                    int64_t work)
{
    int64_t round = recording->duration - recording->lost, total;
    if (work <= 0)
        return 0;
    /* Counted from the start of the recording: so much is lost and done before. */
    int64_t lost = lost_before(recording, at), done = at - lost + work;
    int64_t rounds = (done - 1) / round; /* the last one ends with done - rounds * round > 0 */
    if (__builtin_mul_overflow(rounds, recording->lost, &total) || total > MOST_RECORDED_NS)
        return MOST_RECORDED_NS;
    total += lost_after(recording, done - rounds * round) - lost;
    return total < MOST_RECORDED_NS ? total : MOST_RECORDED_NS;
}
