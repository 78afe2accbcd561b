/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the file of a rank.
 *
 * The file is one object of JSON, with the list of events as one of its members. A window on it moves from value to
 * value: where the text ends within one, the window goes on there with more of it, and the value is taken again. */
#include "base/array.h"
#include "base/hash.h"
#include "trace/byte_source.h"
#include "trace/format/kineto/json_text.h"
#include "trace/format/kineto/kineto.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ==== window ================================================================================== */

/* Bytes. A value may be as long as the widest window. */
enum { WINDOW = 1 << 20, WIDEST_WINDOW = 1 << 28 };

struct window {
    struct lull_byte_source *source;
    const char *path;
    uint8_t *chunk; /* as the source wants it */
    char *bytes;    /* [capacity] */
    size_t capacity;
    uint64_t offset; /* of the first of them in the content of the file */
    struct json_text text;
    uint64_t taken; /* where in the content the value begins that was taken last */
};

static void window_close(struct window *window)
{
    lull_byte_source_close(window->source);
    free(window->chunk);
    free(window->bytes);
}

static lull_status window_open(struct window *window, const struct lull_trace *trace,
                               const char *path, struct lull_error *err)
{
    *window = (struct window){.path = path,
                              .chunk = lull_byte_source_memory(),
                              .bytes = malloc(WINDOW),
                              .capacity = WINDOW};
    if (!window->chunk || !window->bytes)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", path);
    window->bytes[0] = '\0';
    window->text = (struct json_text){.at = window->bytes, .end = window->bytes};
    return lull_byte_source_open(trace, path, 0, false, &window->source, err);
}

/* Moves the window to where the text stands, and makes it longer. */
static lull_status window_fill(struct window *window, struct lull_error *err)
{
    struct json_text *text = &window->text;
    const size_t kept = (size_t)(text->end - text->at);
    size_t got, length = kept;
    window->offset += (uint64_t)(text->at - window->bytes);
    memmove(window->bytes, text->at, kept);
    if (window->capacity - kept <= LULL_BYTE_SOURCE_CHUNK) {
        if (window->capacity >= WIDEST_WINDOW ||
            !lull_array_reserve(&window->bytes, &window->capacity, 2 * window->capacity, 1))
            return lull_fail(err, LULL_ERR_MEMORY,
                             "%s: byte %" PRIu64 ": a value is longer than %zu MiB", window->path,
                             window->offset, kept >> 20);
    }
    do {
        lull_status status = lull_byte_source_next(window->source, &window->chunk, &got, err);
        if (status != LULL_OK)
            return status;
        memcpy(window->bytes + length, window->chunk + LULL_BYTE_SOURCE_HEAD, got);
        length += got;
    } while (got > 0 && window->capacity - length > LULL_BYTE_SOURCE_CHUNK);
    window->bytes[length] = '\0';
    *text = (struct json_text){window->bytes, window->bytes + length, got == 0, NULL};
    return LULL_OK;
}

static lull_status fail_at_byte(const struct window *window, uint64_t byte, const char *what,
                                struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_FORMAT, "%s: byte %" PRIu64 ": %s", window->path, byte, what);
}

static uint64_t byte_of(const struct window *window, const char *at)
{
    return window->offset + (uint64_t)(at - window->bytes);
}

/* Calls `take` until it has what it takes into `result`, which it writes anew each time. */
static lull_status window_take(struct window *window,
                               bool (*take)(struct json_text *text, void *result), void *result,
                               struct lull_error *err)
{
    struct json_text *text = &window->text;
    for (;;) {
        const char *begin = text->at, *from = begin;
        while (*from == ',' || *from == ' ' || *from == '\n' || *from == '\r' || *from == '\t')
            from++;
        if (take(text, result)) {
            window->taken = byte_of(window, from);
            return LULL_OK;
        }
        if (text->what)
            return fail_at_byte(window, byte_of(window, text->at), text->what, err);
        if (text->whole)
            return fail_at_byte(window, byte_of(window, from),
                                "the file ends within what begins here", err);
        text->at = begin;
        lull_status status = window_fill(window, err);
        if (status != LULL_OK)
            return status;
    }
}

/* ==== what a file holds ======================================================================= */

struct reading {
    struct kineto_file *file;
    struct window window;
    struct lull_hash names;      /* kind and text: index in file->names */
    struct lull_hash places;     /* what place_key writes: index in file->places */
    struct lull_hash told_names; /* the same, of threads and processes: address of a text */
    size_t names_capacity;
    uint32_t place;    /* of the last span; LULL_NONE: there was none */
    uint32_t category; /* of the last span */
    char *key;         /* [key_capacity], of hashes */
    size_t key_capacity;
    uint64_t n_spans;
};

static lull_status no_memory(const struct kineto_file *file, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_MEMORY, "%s: out of memory", file->path);
}

__attribute__((format(printf, 3, 4))) static void
add_oddity(struct kineto_file *file, enum kineto_oddity oddity, const char *where, ...)
{
    va_list args;
    if (file->oddities[oddity]++ > 0)
        return;
    va_start(args, where);
    vsnprintf(file->first[oddity], sizeof file->first[oddity], where, args);
    va_end(args);
}

static char *text_of(struct kineto_file *file, const struct json_span *span)
{
    char *text = lull_arena_alloc(file->arena, span->length + (size_t)1);
    size_t length = span->length;
    if (span->escaped)
        length = lull_json_unescape(span, text);
    else
        memcpy(text, span->begin, length);
    text[length] = '\0';
    return text;
}

/* ---- categories ------------------------------------------------------------------------------ */

static const struct category {
    const char *name;
    uint8_t kind; /* enum kineto_kind */
} kineto_categories[] = {
    {"cpu_op", KINETO_CODE},
    {"python_function", KINETO_CODE},
    {"cuda_runtime", KINETO_CALL},
    {"kernel", KINETO_KERNEL},
    {"user_annotation", KINETO_CODE},
    {"gpu_memcpy", KINETO_COPY},
    {"gpu_memset", KINETO_COPY},
    {"cuda_driver", KINETO_CALL},
    {"hip_runtime", KINETO_CALL},
    {"xpu_runtime", KINETO_CALL},
    {"xpu_driver", KINETO_CALL},
    {"privateuse1_runtime", KINETO_CALL},
    {"privateuse1_driver", KINETO_CALL},
    {"mtia_runtime", KINETO_CALL},
    {"python_gc", KINETO_CODE},
    /* as they were called before 2022 */
    {"Operator", KINETO_CODE},
    {"Runtime", KINETO_CALL},
    {"Kernel", KINETO_KERNEL},
    {"Memcpy", KINETO_COPY},
    {"Memset", KINETO_COPY},
    /* of operations that are there already, or of the profiler */
    {"gpu_user_annotation", KINETO_LEFT_OUT},
    {"cuda_sync", KINETO_LEFT_OUT},
    {"cuda_event", KINETO_LEFT_OUT},
    {"cuda_profiler_range", KINETO_LEFT_OUT},
    {"overhead", KINETO_LEFT_OUT},
    {"Trace", KINETO_LEFT_OUT},
};

enum { CATEGORIES = sizeof kineto_categories / sizeof *kineto_categories };

/* CATEGORIES: it is unknown. */
static uint32_t find_category(const struct reading *reading, const struct json_span *name)
{
    if (json_is(name, kineto_categories[reading->category].name))
        return reading->category;
    uint32_t c = 0;
    while (c < CATEGORIES && !json_is(name, kineto_categories[c].name))
        c++;
    return c;
}

/* ---- names and places ------------------------------------------------------------------------ */

static bool key_room(struct reading *reading, size_t size)
{
    return lull_array_reserve(&reading->key, &reading->key_capacity, size, 1);
}

/* The index of a name; LULL_NONE: no memory. */
static uint32_t find_name(struct reading *reading, const struct json_span *name, unsigned kind)
{
    struct kineto_file *file = reading->file;
    bool fresh;
    if (!key_room(reading, name->length + (size_t)1))
        return LULL_NONE;
    reading->key[0] = (char)kind;
    size_t length = name->length;
    if (name->escaped)
        length = lull_json_unescape(name, reading->key + 1);
    else
        memcpy(reading->key + 1, name->begin, length);
    const uint64_t *index =
        lull_hash_add(&reading->names, reading->key, length + 1, file->n_names, &fresh);
    if (!index || !fresh)
        return index ? (uint32_t)*index : LULL_NONE;
    file->names = lull_arena_grow(file->arena, file->names, &reading->names_capacity,
                                  file->n_names + (size_t)1, sizeof *file->names);
    file->names[file->n_names] = (struct kineto_name){
        .text = lull_arena_strndup(file->arena, reading->key + 1, length), .kind = (uint8_t)kind};
    return file->n_names++;
}

/* What a key is of. */
enum {
    NAMES_OF_PROCESSES = 'p',
    NAMES_OF_THREADS = 'n',
    THREADS = 't',
    STREAMS = 's',
    PLAIN_PLACES = 'x'
};

/* Writes the key of a place or of a name, and returns its size; 0: no memory. */
static size_t place_key(struct reading *reading, const struct json_span *pid,
                        const struct json_span *tid, char kind)
{
    const size_t size = pid->length + (size_t)tid->length + 2;
    if (!key_room(reading, size))
        return 0;
    reading->key[0] = kind;
    memcpy(reading->key + 1, pid->begin, pid->length);
    reading->key[1 + pid->length] = '\0';
    memcpy(reading->key + 2 + pid->length, tid->begin, tid->length);
    return size;
}

/* The index of a place; LULL_NONE: no memory. */
static uint32_t find_kineto_place(struct reading *reading, const struct json_span *pid,
                                  const struct json_span *tid, char kind)
{
    struct kineto_file *file = reading->file;
    bool fresh;
    if (reading->place != LULL_NONE) {
        const struct kineto_place *last = &file->places[reading->place];
        if (last->stream == (kind == STREAMS) && last->plain == (kind == PLAIN_PLACES) &&
            json_is(tid, last->tid) && json_is(pid, last->pid))
            return reading->place;
    }
    const size_t size = place_key(reading, pid, tid, kind);
    const uint64_t *index =
        size > 0 ? lull_hash_add(&reading->places, reading->key, size, file->n_places, &fresh)
                 : NULL;
    if (!index || !fresh)
        return index ? (uint32_t)*index : LULL_NONE;
    if (!lull_array_reserve(&file->places, &file->capacity, file->n_places + 1,
                            sizeof *file->places))
        return LULL_NONE;
    file->places[file->n_places] =
        (struct kineto_place){.pid = lull_arena_strndup(file->arena, pid->begin, pid->length),
                              .tid = lull_arena_strndup(file->arena, tid->begin, tid->length),
                              .stream = kind == STREAMS,
                              .plain = kind == PLAIN_PLACES};
    return (uint32_t)file->n_places++;
}

/* ==== events ================================================================================== */

struct kineto_event {
    /* Those that the event lacks have no begin. */
    struct json_span phase, category, name, pid, tid, time, length, arguments;
};

/* One of the list. */
struct listed_event {
    bool first, ended; /* ended: the list has no further one */
    struct kineto_event event;
};

/* Where a member of an event goes; `other`: it is not asked for. */
static struct json_span *member_of_event(struct kineto_event *event, const struct json_span *name,
                                         struct json_span *other)
{
    switch (name->length) {
    case 2:
        return json_is(name, "ph") ? &event->phase : json_is(name, "ts") ? &event->time : other;
    case 3:
        return json_is(name, "cat")   ? &event->category
               : json_is(name, "pid") ? &event->pid
               : json_is(name, "tid") ? &event->tid
               : json_is(name, "dur") ? &event->length
                                      : other;
    case 4:
        return json_is(name, "name")   ? &event->name
               : json_is(name, "args") ? &event->arguments
                                       : other;
    default:
        return other;
    }
}

static bool take_listed_event(struct json_text *text, void *result)
{
    struct listed_event *listed = result;
    struct json_span name, other;
    listed->event = (struct kineto_event){.phase = {NULL, 0, false, false}};
    if (!json_is_end(text, ']', listed->first, &listed->ended))
        return false;
    if (listed->ended)
        return true;
    if (!json_take(text, '{', "expected an event"))
        return false;
    bool ended;
    for (bool first = true;; first = false) {
        if (!json_is_end(text, '}', first, &ended))
            return false;
        if (ended)
            return true;
        if (!lull_json_take_name(text, &name) ||
            !lull_json_take_value(text, member_of_event(&listed->event, &name, &other)))
            return false;
    }
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Gives the next member of an object; false: there is none, or what follows is none. */
static bool next_member(struct json_text *object, bool first, struct json_span *ret_name,
                        struct json_span *ret_value)
{
    bool ended;
    if (first && !json_take(object, '{', ""))
        return false;
    return json_is_end(object, '}', first, &ended) && !ended &&
           lull_json_take_name(object, ret_name) && lull_json_take_value(object, ret_value);
}

/* Bytes of an element, by the names that PyTorch has for its types; 0: not known. */
static unsigned size_of_type(const struct json_span *type)
{
    static const struct {
        const char *name;
        unsigned size;
    } types[] = {
        {"Float", 4},       {"Half", 2},          {"BFloat16", 2},
        {"Double", 8},      {"Long", 8},          {"Int", 4},
        {"Short", 2},       {"Byte", 1},          {"Char", 1},
        {"Bool", 1},        {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},
        {"UInt16", 2},      {"UInt32", 4},        {"UInt64", 8},
        {"ComplexHalf", 4}, {"ComplexFloat", 8},  {"ComplexDouble", 16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_is(type, types[i].name))
            return types[i].size;
    return 0;
}

/* The bytes of a kernel of NCCL are those that its rank puts into the operation. */
static void read_arguments(const struct json_span *arguments, struct kineto_span *span, bool stream)
{
    struct json_text object = json_inside(arguments);
    struct json_span name, value;
    int64_t number, elements = 0, bytes = 0;
    unsigned size = 0;
    for (bool first = true; next_member(&object, first, &name, &value); first = false) {
        if (json_is(&name, "correlation")) {
            if (lull_json_read_number(&value, 0, &number) && number > 0 && number <= UINT32_MAX)
                span->correlation = (uint32_t)number;
        } else if (stream && json_is(&name, "bytes")) {
            lull_json_read_number(&value, 0, &bytes);
        } else if (stream && json_is(&name, "In msg nelems")) {
            lull_json_read_number(&value, 0, &elements);
        } else if (stream && json_is(&name, "dtype")) {
            size = size_of_type(&value);
        }
    }
    if (stream && bytes > 0)
        span->bytes = (uint64_t)bytes;
    else if (stream &&
             (elements < 0 || __builtin_mul_overflow((uint64_t)elements, size, &span->bytes)))
        span->bytes = 0;
}

/* ---- spans ----------------------------------------------------------------------------------- */

/* Microseconds as ns; with `finer` as ps, for which times since 1970 are too large. */
static bool read_time(const struct json_span *time, bool finer, int64_t *ret_time)
{
    return time->begin && lull_json_read_number(time, finer ? 6 : 3, ret_time);
}

static int64_t whole_ns(int64_t ps)
{
    return ps / 1000 - (ps % 1000 < 0);
}

/* Times that are finer than ns are cut, both the begin and the end, so that what followed each other, or nested, does
 * so afterwards. */
static bool read_fine_times(const struct kineto_event *event, int64_t *ret_begin, int64_t *ret_end)
{
    if (!read_time(&event->time, true, ret_begin) || !read_time(&event->length, true, ret_end) ||
        __builtin_add_overflow(*ret_begin, *ret_end, ret_end))
        return false;
    *ret_begin = whole_ns(*ret_begin);
    *ret_end = whole_ns(*ret_end);
    return true;
}

/* NULL: the times are good; else what is wrong. */
static const char *read_times(const struct kineto_event *event, struct kineto_span *span)
{
    int64_t end;
    if (!read_fine_times(event, &span->begin, &end)) {
        if (!read_time(&event->time, false, &span->begin))
            return event->time.begin ? "\"ts\" of an event is no time" : "an event has no \"ts\"";
        if (!read_time(&event->length, false, &end))
            return event->length.begin ? "\"dur\" of an event is no time"
                                       : "an event has no \"dur\"";
        if (__builtin_add_overflow(span->begin, end, &end))
            return "an event ends beyond 64 bits of ns";
    }
    if (end < span->begin)
        return "an event ends before it begins";
    span->length = end - span->begin;
    return NULL;
}

static lull_status add_span(struct reading *reading, const struct kineto_event *event,
                            unsigned kind, struct lull_error *err)
{
    struct kineto_file *file = reading->file;
    const bool stream = kind == KINETO_KERNEL || kind == KINETO_COPY;
    struct kineto_span span = {.order = stream ? 0 : reading->n_spans++};
    const char *what = read_times(event, &span);
    if (!what && (!event->pid.begin || !event->tid.begin || !event->name.begin))
        what = "an event lacks \"pid\", \"tid\" or \"name\"";
    if (what)
        return fail_at_byte(&reading->window, reading->window.taken, what, err);
    if (kind != KINETO_CODE && json_is_object(&event->arguments))
        read_arguments(&event->arguments, &span, stream);
    if (kind == KINETO_CALL && event->name.length > 3)
        file->hip |= memcmp(event->name.begin, "hip", 3) == 0;
    span.name = find_name(reading, &event->name, kind);
    reading->place = find_kineto_place(reading, &event->pid, &event->tid,
                                       !event->category.begin ? PLAIN_PLACES
                                       : stream               ? STREAMS
                                                              : THREADS);
    if (span.name == LULL_NONE || reading->place == LULL_NONE)
        return no_memory(file, err);
    struct kineto_place *place = &file->places[reading->place];
    if (!lull_array_reserve(&place->spans, &place->capacity, place->n_spans + 1, sizeof span))
        return no_memory(file, err);
    place->spans[place->n_spans++] = span;
    return LULL_OK;
}

/* ---- names of threads and processes ---------------------------------------------------------- */

static const struct json_span no_thread = {"", 0, false, false};

/* `tid` is empty for a process. */
static lull_status add_told_name(struct reading *reading, const struct kineto_event *event,
                                 const struct json_span *tid, char kind, struct lull_error *err)
{
    struct kineto_file *file = reading->file;
    struct json_span name, value;
    if (!event->pid.begin || !tid->begin || !json_is_object(&event->arguments))
        return LULL_OK;
    struct json_text object = json_inside(&event->arguments);
    for (bool first = true; next_member(&object, first, &name, &value); first = false) {
        if (!json_is(&name, "name") || !value.string)
            continue;
        char *text = text_of(file, &value);
        for (size_t length = strlen(text); length > 0 && text[length - 1] == ' '; length--)
            text[length - 1] = '\0';
        const size_t size = place_key(reading, &event->pid, tid, kind);
        if (size == 0 || !lull_hash_add(&reading->told_names, reading->key, size,
                                        (uint64_t)(uintptr_t)text, NULL))
            return no_memory(file, err);
    }
    return LULL_OK;
}

/* NULL: the file does not tell it. */
static const char *find_told_name(struct reading *reading, const struct kineto_place *place,
                                  char kind)
{
    const struct json_span pid = {place->pid, (uint32_t)strlen(place->pid), false, false},
                           tid = {place->tid, (uint32_t)strlen(place->tid), false, false};
    const size_t size =
        place_key(reading, &pid, kind == NAMES_OF_PROCESSES ? &no_thread : &tid, kind);
    const uint64_t *text =
        size > 0 ? lull_hash_find(&reading->told_names, reading->key, size) : NULL;
    return text && *(const char *)(uintptr_t)*text ? (const char *)(uintptr_t)*text : NULL;
}

/* Gives what ran on a stream the kinds that its names tell. */
static bool turn_into_operations(struct reading *reading, struct kineto_place *place)
{
    for (size_t i = 0; i < place->n_spans; i++) {
        struct kineto_span *span = &place->spans[i];
        const char *text = reading->file->names[span->name].text;
        const struct json_span name = {text, (uint32_t)strlen(text), false, false};
        const bool moves =
            strncasecmp(text, "memcpy", 6) == 0 || strncasecmp(text, "memset", 6) == 0;
        span->bytes = 0;
        span->name = find_name(reading, &name, moves ? KINETO_COPY : KINETO_KERNEL);
        if (span->name == LULL_NONE)
            return false;
    }
    return true;
}

/* Events of JAX have no categories. Those of the process "/host:CPU" are of threads. Those of a process "/device:GPU:0"
 * ran there, if their thread is called "Stream #7(...)"; its other threads say the same in other words. */
static lull_status sort_plain_place(struct reading *reading, struct kineto_place *place,
                                    struct lull_error *err)
{
    struct kineto_file *file = reading->file;
    const char *process = find_told_name(reading, place, NAMES_OF_PROCESSES);
    if (process && strncmp(process, "/host:", 6) == 0) {
        file->jax = true;
        return LULL_OK;
    }
    if (!process || strncmp(process, "/device:", 8) != 0 || !place->name ||
        strncmp(place->name, "Stream", 6) != 0) {
        place->n_spans = 0;
        return LULL_OK;
    }
    file->jax = place->stream = true;
    place->device = process;
    return turn_into_operations(reading, place) ? LULL_OK : no_memory(file, err);
}

/* Gives places the names that the file has for them, wherever these stand in it. */
static lull_status name_places(struct reading *reading, struct lull_error *err)
{
    struct kineto_file *file = reading->file;
    lull_status status = LULL_OK;
    for (size_t p = 0; status == LULL_OK && p < file->n_places; p++) {
        struct kineto_place *place = &file->places[p];
        place->name = find_told_name(reading, place, NAMES_OF_THREADS);
        if (place->plain)
            status = sort_plain_place(reading, place, err);
    }
    return status;
}

static void drop_empty_places(struct kineto_file *file)
{
    size_t kept = 0;
    for (size_t p = 0; p < file->n_places; p++) {
        if (file->places[p].n_spans == 0)
            free(file->places[p].spans);
        else
            file->places[kept++] = file->places[p];
    }
    file->n_places = kept;
}

static lull_status add_event(struct reading *reading, const struct kineto_event *event,
                             struct lull_error *err)
{
    const struct json_span *phase = &event->phase;
    if (!phase->begin) /* what lists of JAX end with */
        return LULL_OK;
    if (json_is(phase, "X") && event->category.begin) {
        const uint32_t category = find_category(reading, &event->category);
        if (category == CATEGORIES) {
            add_oddity(reading->file, KINETO_UNKNOWN_CATEGORY, "'%.*s'",
                       (int)(event->category.length < 60 ? event->category.length : 60),
                       event->category.begin);
            return LULL_OK;
        }
        reading->category = category;
        const unsigned kind = kineto_categories[category].kind;
        return kind < KINETO_SPANS ? add_span(reading, event, kind, err) : LULL_OK;
    }
    if (json_is(phase, "X"))
        return add_span(reading, event, KINETO_CODE, err);
    if (json_is(phase, "M") && event->name.begin) {
        if (json_is(&event->name, "thread_name"))
            return add_told_name(reading, event, &event->tid, NAMES_OF_THREADS, err);
        if (json_is(&event->name, "process_name"))
            return add_told_name(reading, event, &no_thread, NAMES_OF_PROCESSES, err);
    }
    if (json_is(phase, "B") || json_is(phase, "E"))
        add_oddity(reading->file, KINETO_UNKNOWN_PHASE, "byte %" PRIu64, reading->window.taken);
    return LULL_OK;
}

static bool take_list_begin(struct json_text *text, void *result)
{
    (void)result;
    return json_take(text, '[', "expected the list of events");
}

static lull_status read_events(struct reading *reading, struct lull_error *err)
{
    struct listed_event listed = {.first = true};
    lull_status status = window_take(&reading->window, take_list_begin, NULL, err);
    while (status == LULL_OK) {
        status = window_take(&reading->window, take_listed_event, &listed, err);
        if (status == LULL_OK && listed.ended)
            break;
        if (status == LULL_OK)
            status = add_event(reading, &listed.event, err);
        listed.first = false;
    }
    return status;
}

/* ==== what is around the events =============================================================== */

struct document_member {
    bool first, ended, events; /* events: the list of events follows */
    struct json_span name, value;
};

static bool take_document_begin(struct json_text *text, void *result)
{
    (void)result;
    return json_take(text, '{', "expected an object");
}

static bool take_document_member(struct json_text *text, void *result)
{
    struct document_member *member = result;
    if (!json_is_end(text, '}', member->first, &member->ended))
        return false;
    if (member->ended)
        return true;
    if (!lull_json_take_name(text, &member->name))
        return false;
    member->events = json_is(&member->name, "traceEvents");
    return member->events || lull_json_take_value(text, &member->value);
}

static bool take_document_end(struct json_text *text, void *result)
{
    (void)result;
    json_skip_space(text);
    if (text->at < text->end)
        return json_wrong(text, "something follows behind the trace");
    text->what = NULL;
    return text->whole;
}

static void read_distributed(struct kineto_file *file, const struct json_span *object)
{
    struct json_text text = json_inside(object);
    struct json_span name, value;
    int64_t number;
    for (bool first = true; next_member(&text, first, &name, &value); first = false) {
        if (!lull_json_read_number(&value, 0, &number) || number < 0 || number >= UINT32_MAX)
            continue;
        if (json_is(&name, "rank"))
            file->rank = number;
        else if (json_is(&name, "world_size"))
            file->world_size = number;
    }
}

static void add_device(struct kineto_file *file, const struct json_span *object, size_t *capacity)
{
    struct json_text text = json_inside(object);
    struct json_span name, value;
    struct kineto_device device = {-1, ""};
    for (bool first = true; next_member(&text, first, &name, &value); first = false) {
        if (json_is(&name, "id"))
            lull_json_read_number(&value, 0, &device.id);
        else if (json_is(&name, "name") && value.string)
            device.name = text_of(file, &value);
    }
    file->devices = lull_arena_grow(file->arena, file->devices, capacity, file->n_devices + 1,
                                    sizeof *file->devices);
    file->devices[file->n_devices++] = device;
}

static void read_devices(struct kineto_file *file, const struct json_span *list)
{
    struct json_text text = json_inside(list);
    struct json_span value;
    size_t capacity = file->n_devices;
    bool ended;
    json_take(&text, '[', "");
    for (bool first = true;
         json_is_end(&text, ']', first, &ended) && !ended && lull_json_take_value(&text, &value);
         first = false)
        if (json_is_object(&value))
            add_device(file, &value, &capacity);
}

static lull_status use_member(struct reading *reading, const struct document_member *member,
                              struct lull_error *err)
{
    struct kineto_file *file = reading->file;
    const struct json_span *name = &member->name, *value = &member->value;
    if (json_is(name, "baseTimeNanoseconds") && !lull_json_read_number(value, 0, &file->base))
        return fail_at_byte(&reading->window, reading->window.taken,
                            "\"baseTimeNanoseconds\" is no time", err);
    if (json_is(name, "distributedInfo") && json_is_object(value))
        read_distributed(file, value);
    if (json_is(name, "deviceProperties") && json_is_list(value))
        read_devices(file, value);
    if (json_is(name, "host_name") && value->string)
        file->host = text_of(file, value);
    return LULL_OK;
}

static lull_status read_document(struct reading *reading, struct lull_error *err)
{
    struct document_member member = {.first = true};
    bool any = false;
    lull_status status = window_take(&reading->window, take_document_begin, NULL, err);
    while (status == LULL_OK) {
        status = window_take(&reading->window, take_document_member, &member, err);
        if (status != LULL_OK || member.ended)
            break;
        any |= member.events;
        status = member.events ? read_events(reading, err) : use_member(reading, &member, err);
        member.first = false;
    }
    if (status == LULL_OK)
        status = window_take(&reading->window, take_document_end, NULL, err);
    if (status == LULL_OK && !any)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s: holds no list of events (\"traceEvents\")",
                           reading->file->path);
    return status;
}

/* ==== order =================================================================================== */

static int compare_numbers64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Of a thread: the outer one first; where both have the same times, the one that is in front in the file. */
static int by_nesting(const void *a, const void *b)
{
    const struct kineto_span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return compare_numbers64(x->order, y->order);
}

/* Of a stream: an order that does not depend on that in the file. */
static int by_run(const void *a, const void *b)
{
    const struct kineto_span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    if (x->correlation != y->correlation)
        return compare_numbers64(x->correlation, y->correlation);
    return x->name != y->name ? compare_numbers64(x->name, y->name)
                              : compare_numbers64(x->bytes, y->bytes);
}

/* Ends spans of a thread no later than those around them. */
static bool nest_spans(struct kineto_file *file, struct kineto_place *place)
{
    int64_t *ends = NULL;
    size_t depth = 0, capacity = 0;
    bool good = true;
    for (size_t i = 0; good && i < place->n_spans; i++) {
        struct kineto_span *span = &place->spans[i];
        while (depth > 0 && ends[depth - 1] <= span->begin)
            depth--;
        if (depth > 0 && span->begin + span->length > ends[depth - 1]) {
            add_oddity(file, KINETO_CUT_SPAN, "thread %s, '%.40s'", place->tid,
                       file->names[span->name].text);
            span->length = ends[depth - 1] - span->begin;
        }
        good = lull_array_reserve(&ends, &capacity, depth + 1, sizeof *ends);
        if (good)
            ends[depth++] = span->begin + span->length;
    }
    free(ends);
    return good;
}

enum { MOST_LANES = 256 };

static bool append_span(struct kineto_place *place, const struct kineto_span *span)
{
    if (!lull_array_reserve(&place->spans, &place->capacity, place->n_spans + 1, sizeof *span))
        return false;
    place->spans[place->n_spans++] = *span;
    return true;
}

/* Puts an operation that begins while others of its stream run onto the first lane that is free then. */
static lull_status divide_stream(struct kineto_file *file, size_t index, struct lull_error *err)
{
    int64_t ends[MOST_LANES];
    size_t first_lane = 0, kept = 0; /* lane k, above 0, is file->places[first_lane + k - 1] */
    uint32_t n_lanes = 0;
    for (size_t i = 0; i < file->places[index].n_spans; i++) {
        const struct kineto_span span = file->places[index].spans[i];
        uint32_t lane = 0;
        while (lane < n_lanes && ends[lane] > span.begin)
            lane++;
        if (lane == MOST_LANES)
            return lull_fail(err, LULL_ERR_FORMAT,
                             "%s: stream %s of device %s: more than %d operations run at one time",
                             file->path, file->places[index].tid, file->places[index].pid,
                             MOST_LANES);
        if (lane == n_lanes) {
            n_lanes++;
            if (lane == 1)
                first_lane = file->n_places;
            if (lane > 0) {
                if (!lull_array_reserve(&file->places, &file->capacity, file->n_places + 1,
                                        sizeof *file->places))
                    return no_memory(file, err);
                struct kineto_place *place = &file->places[file->n_places++];
                *place = file->places[index];
                place->lane = lane;
                place->spans = NULL;
                place->n_spans = place->capacity = 0;
            }
        }
        ends[lane] = span.begin + span.length;
        if (lane == 0)
            file->places[index].spans[kept++] = span;
        else if (!append_span(&file->places[first_lane + lane - 1], &span))
            return no_memory(file, err);
        if (lane > 0)
            add_oddity(file, KINETO_SEVERAL_LANES, "stream %s of device %s",
                       file->places[index].tid, file->places[index].pid);
    }
    file->places[index].n_spans = kept;
    return LULL_OK;
}

/* Numbers by their size, and in front of other texts. */
static int compare_kineto_ids(const char *a, const char *b)
{
    const struct json_span x = {a, (uint32_t)strlen(a), true, false},
                           y = {b, (uint32_t)strlen(b), true, false};
    int64_t i, j;
    const bool a_number = lull_json_read_number(&x, 0, &i),
               b_number = lull_json_read_number(&y, 0, &j);
    if (a_number && b_number && i != j)
        return i < j ? -1 : 1;
    return a_number != b_number ? (a_number ? -1 : 1) : strcmp(a, b);
}

static bool is_main(const struct kineto_place *place)
{
    return !place->stream && strcmp(place->pid, place->tid) == 0;
}

static int by_place(const void *a, const void *b)
{
    const struct kineto_place *x = a, *y = b;
    if (x->stream != y->stream)
        return x->stream ? 1 : -1;
    if (is_main(x) != is_main(y))
        return is_main(x) ? -1 : 1;
    int order = compare_kineto_ids(x->pid, y->pid);
    if (order == 0)
        order = compare_kineto_ids(x->tid, y->tid);
    return order != 0 ? order : (x->lane > y->lane) - (x->lane < y->lane);
}

static void note_times(struct kineto_file *file, const struct kineto_place *place)
{
    for (size_t i = 0; i < place->n_spans; i++) {
        const struct kineto_span *span = &place->spans[i];
        const int64_t end = span->begin + span->length;
        file->begin = span->begin < file->begin ? span->begin : file->begin;
        file->end = end > file->end ? end : file->end;
        file->microseconds &= span->begin % 1000 == 0 && span->length % 1000 == 0;
    }
}

static lull_status arrange(struct kineto_file *file, struct lull_error *err)
{
    const size_t n_places = file->n_places;
    for (size_t p = 0; p < n_places; p++) {
        struct kineto_place *place = &file->places[p];
        note_times(file, place);
        qsort(place->spans, place->n_spans, sizeof *place->spans,
              place->stream ? by_run : by_nesting);
        if (!place->stream && !nest_spans(file, place))
            return no_memory(file, err);
        lull_status status = place->stream ? divide_stream(file, p, err) : LULL_OK;
        if (status != LULL_OK)
            return status;
    }
    if (file->n_places > 0)
        qsort(file->places, file->n_places, sizeof *file->places, by_place);
    return LULL_OK;
}

/* ==== file ==================================================================================== */

lull_status lull_kineto_read(const struct lull_trace *trace, struct kineto_file *file,
                             struct lull_error *err)
{
    struct reading reading = {.file = file, .place = LULL_NONE};
    file->arena = lull_arena_create(NULL);
    file->rank = file->world_size = -1;
    file->microseconds = true;
    file->begin = INT64_MAX;
    file->end = INT64_MIN;
    lull_status status = window_open(&reading.window, trace, file->path, err);
    if (status == LULL_OK)
        status = read_document(&reading, err);
    if (status == LULL_OK)
        status = name_places(&reading, err);
    window_close(&reading.window);
    lull_hash_free(&reading.names);
    lull_hash_free(&reading.places);
    lull_hash_free(&reading.told_names);
    free(reading.key);
    if (status != LULL_OK)
        return status;
    drop_empty_places(file);
    return arrange(file, err);
}

void lull_kineto_close(struct kineto_file *file)
{
    for (size_t p = 0; p < file->n_places; p++)
        free(file->places[p].spans);
    free(file->places);
    lull_arena_destroy(file->arena);
    *file = (struct kineto_file){.path = file->path};
}
