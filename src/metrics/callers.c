/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/callers.h"

#include "base/array.h"
#include "base/hash.h"
#include "binary/symbols.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The stacks of the samples of one location. */
struct opened_stacks {
    struct lull_sample_details *details; /* NULL: there are none */
    uint32_t location;                   /* 1 + its index; 0: of none yet */
};

struct lull_callers {
    const struct lull_trace *trace;
    unsigned workers;
    struct opened_stacks *stacks;  /* [workers] */
    pthread_mutex_t lock;          /* of what follows */
    bool *c_library;               /* [n_objects]: the file is a part of the C library */
    struct lull_symbols **symbols; /* [n_objects]; NULL: not opened, or not to be had */
    bool *opened;                  /* [n_objects] */
    struct lull_hash known;        /* rules by place */
    struct lull_unwind_rule *rules;
    size_t n_rules, capacity;
};

/* ---- rules ----------------------------------------------------------------------------------- */

static struct lull_unwind_rule read_rule(struct lull_callers *callers, uint32_t object,
                                         uint64_t offset)
{
    const struct lull_object *file = &callers->trace->objects[object];
    if (!callers->opened[object]) {
        callers->opened[object] = true;
        lull_symbols_open(file->path, file->build_id, &callers->symbols[object]);
    }
    return callers->symbols[object] ? lull_symbols_unwind(callers->symbols[object], offset)
                                    : (struct lull_unwind_rule){.how = LULL_UNWIND_UNKNOWN};
}

/* Whether the code is a stub that stands for a function of Python. */
static bool is_stub(const struct lull_callers *callers, uint32_t object)
{
    return callers->trace->objects[object].function != NULL;
}

/* The rule of a place, which is read once. */
static struct lull_unwind_rule find_rule(struct lull_callers *callers, uint32_t object,
                                         uint64_t offset)
{
    static const struct lull_unwind_rule of_stub = {.how = LULL_UNWIND_FROM_STACK,
                                                    .address = 16,
                                                    .saved_return = LULL_UNWIND_AT_ADDRESS,
                                                    .return_at = -8,
                                                    .saved_frame = LULL_UNWIND_SAME};
    if (is_stub(callers, object))
        return of_stub;
    const struct lull_caller key = {offset, object};
    const uint64_t *index = lull_hash_find(&callers->known, &key, sizeof key);
    if (index)
        return callers->rules[*index];
    const struct lull_unwind_rule rule = read_rule(callers, object, offset);
    if (lull_array_reserve(&callers->rules, &callers->capacity, callers->n_rules + 1,
                           sizeof *callers->rules) &&
        lull_hash_add(&callers->known, &key, sizeof key, callers->n_rules, NULL))
        callers->rules[callers->n_rules++] = rule;
    return rule;
}

/* ---- a stack --------------------------------------------------------------------------------- */

/* A frame on the way outwards. Addresses count from the stack pointer of the sample. */
struct walk {
    const struct lull_sample_detail *detail;
    uint32_t object; /* where the code is */
    uint64_t offset;
    int64_t stack, frame; /* the registers */
    bool has_frame;       /* `frame` is known */
    bool innermost;
};

static const struct lull_stack_word *find_slot(const struct lull_sample_detail *detail,
                                               uint32_t slot)
{
    for (uint32_t i = 0; i < detail->n_stack; i++)
        if (detail->stack[i].slot == slot)
            return &detail->stack[i];
    return NULL;
}

/* The word at an address; NULL: it was not kept. */
static const struct lull_stack_word *word_at(const struct lull_sample_detail *detail,
                                             int64_t address)
{
    const int64_t size = sizeof(uint64_t);
    return address >= 0 && address % size == 0 && address / size < LULL_STACK_LINK
               ? find_slot(detail, (uint32_t)(address / size))
               : NULL;
}

static bool is_in_stack(const struct lull_stack_word *word)
{
    return word && word->object == LULL_NONE;
}

/* What the compiler's table says. *ret_address gets the address of the frame. */
static bool frame_address(const struct walk *walk, const struct lull_unwind_rule *rule,
                          int64_t *ret_address)
{
    if (rule->how == LULL_UNWIND_FROM_STACK) {
        *ret_address = walk->stack + rule->address;
        return true;
    }
    if (!walk->has_frame)
        return false;
    *ret_address = walk->frame + rule->address;
    if (rule->how != LULL_UNWIND_IN_MEMORY)
        return rule->how == LULL_UNWIND_FROM_REGISTER;
    const struct lull_stack_word *word = word_at(walk->detail, *ret_address);
    if (!is_in_stack(word))
        return false;
    *ret_address = (int64_t)word->offset;
    return true;
}

/* Where a register was saved; false: nowhere. */
static bool saved_at(const struct walk *walk, uint8_t how, int64_t at, int64_t address,
                     int64_t *ret_where)
{
    *ret_where = (how == LULL_UNWIND_AT_ADDRESS ? address : walk->frame) + at;
    return how == LULL_UNWIND_AT_ADDRESS || (how == LULL_UNWIND_AT_REGISTER && walk->has_frame);
}

/* One frame outwards; false: it is not known how. */
static bool step_out(const struct lull_callers *callers, struct walk *walk,
                     const struct lull_unwind_rule *rule)
{
    int64_t address, where;
    const struct lull_stack_word *back = NULL, *frame;
    if (!frame_address(walk, rule, &address) || address < walk->stack ||
        (address == walk->stack && !walk->innermost))
        return false;
    if (saved_at(walk, rule->saved_return, rule->return_at, address, &where))
        back = word_at(walk->detail, where);
    else if (rule->saved_return == LULL_UNWIND_SAME && walk->innermost)
        back = find_slot(walk->detail, LULL_STACK_LINK);
    if (!back || back->object == LULL_NONE)
        return false;
    const bool to_stub = is_stub(callers, back->object); /* has no offset */
    if (!to_stub && back->offset == 0)
        return false;
    if (saved_at(walk, rule->saved_frame, rule->frame_at, address, &where)) {
        frame = word_at(walk->detail, where);
        walk->has_frame = is_in_stack(frame);
        walk->frame = walk->has_frame ? (int64_t)frame->offset : 0;
    } else if (rule->saved_frame != LULL_UNWIND_SAME) {
        walk->has_frame = false;
    }
    walk->stack = address;
    walk->object = back->object;
    walk->offset =
        to_stub ? 0 : back->offset - 1; /* in the call, which may be the last of its function */
    walk->innermost = false;
    return true;
}

static uint32_t walk_out(struct lull_callers *callers, const struct lull_caller *from,
                         const struct lull_sample_detail *detail, struct lull_caller *ret_callers,
                         uint32_t most, bool *ret_whole)
{
    /* by the frame register: behind the old one stands the return address */
    static const struct lull_unwind_rule usual = {.how = LULL_UNWIND_FROM_REGISTER,
                                                  .address = 16,
                                                  .saved_return = LULL_UNWIND_AT_ADDRESS,
                                                  .return_at = -8,
                                                  .saved_frame = LULL_UNWIND_AT_ADDRESS,
                                                  .frame_at = -16};
    const struct lull_stack_word *frame = find_slot(detail, LULL_STACK_FRAME);
    struct walk walk = {.detail = detail,
                        .object = from->object,
                        .offset = from->offset,
                        .has_frame = is_in_stack(frame),
                        .innermost = true};
    uint32_t n = 0;
    walk.frame = walk.has_frame ? (int64_t)frame->offset : 0;
    *ret_whole = false;
    for (; n < most; n++) {
        struct lull_unwind_rule rule = {.how = LULL_UNWIND_UNKNOWN};
        if (walk.object != LULL_NONE)
            rule = find_rule(callers, walk.object, walk.offset);
        if (rule.how == LULL_UNWIND_OUTERMOST) {
            *ret_whole = true;
            break;
        }
        if (!step_out(callers, &walk, rule.how == LULL_UNWIND_UNKNOWN ? &usual : &rule))
            break;
        ret_callers[n] = (struct lull_caller){walk.offset, walk.object};
    }
    return n;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Samples of one location come one after the other for some time. */
static lull_status open_stacks(struct lull_callers *callers, unsigned worker, uint32_t location,
                               struct lull_error *err)
{
    struct opened_stacks *stacks = &callers->stacks[worker];
    if (stacks->location == location + 1)
        return LULL_OK;
    lull_trace_details_close(callers->trace, stacks->details);
    *stacks = (struct opened_stacks){.location = location + 1};
    return lull_trace_details_open(callers->trace, location, &stacks->details, err);
}

uint32_t lull_callers_find(struct lull_callers *callers, unsigned worker, uint32_t location,
                           const struct lull_step *sample, struct lull_caller *ret_callers,
                           uint32_t most, bool *ret_whole)
{
    const struct lull_caller from = {sample->sample.offset, sample->object};
    struct lull_sample_detail detail;
    struct lull_error ignored;
    *ret_whole = true;
    if (open_stacks(callers, worker, location, &ignored) != LULL_OK ||
        !callers->stacks[worker].details ||
        lull_trace_read_detail(callers->trace, callers->stacks[worker].details,
                               sample->sample.number, &detail, &ignored) != LULL_OK ||
        detail.n_stack == 0)
        return 0;
    pthread_mutex_lock(&callers->lock);
    const uint32_t n = walk_out(callers, &from, &detail, ret_callers, most, ret_whole);
    pthread_mutex_unlock(&callers->lock);
    return n;
}

static bool is_of_c_library(const char *path)
{
    static const char *const begins[] = {"ld-linux",      "libc.so",  "libm.so",   "libpthread.so",
                                         "linux-vdso",    "ld-2.",    "libc-2.",   "libm-2.",
                                         "libpthread-2.", "ld-musl-", "libc.musl-"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

struct lull_caller lull_callers_place(struct lull_callers *callers, unsigned worker,
                                      uint32_t location, const struct lull_step *sample)
{
    enum { MOST = 64 };
    const struct lull_caller place = {sample->sample.offset, sample->object};
    struct lull_caller found[MOST];
    bool whole;
    if (!callers || sample->object == LULL_NONE || is_stub(callers, sample->object))
        return place;
    const uint32_t n = lull_callers_find(callers, worker, location, sample, found, MOST, &whole);
    uint64_t file = place.object; /* that the stub has called, when one comes */
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t object = found[i].object;
        if (object == file)
            continue;
        if (object == LULL_NONE)
            return place;
        if (is_stub(callers, (uint32_t)object))
            return found[i];
        if (!callers->c_library[file])
            return place;
        file = object;
    }
    return place;
}

/* ---- life ------------------------------------------------------------------------------------ */

bool lull_callers_has_python(const struct lull_trace *trace)
{
    for (uint32_t i = 0; i < trace->n_objects; i++)
        if (trace->objects[i].function)
            return true;
    return false;
}

lull_status lull_callers_create(const struct lull_trace *trace, unsigned workers,
                                struct lull_callers **ret_callers, struct lull_error *err)
{
    struct lull_callers *callers = calloc(1, sizeof *callers);
    if (callers) {
        callers->trace = trace;
        callers->workers = workers;
        pthread_mutex_init(&callers->lock, NULL);
        callers->stacks = calloc(workers, sizeof *callers->stacks);
        callers->symbols = calloc(trace->n_objects + (size_t)1, sizeof *callers->symbols);
        callers->opened = calloc(trace->n_objects + (size_t)1, sizeof *callers->opened);
        callers->c_library = calloc(trace->n_objects + (size_t)1, sizeof *callers->c_library);
    }
    if (callers && callers->stacks && callers->symbols && callers->opened && callers->c_library) {
        for (uint32_t i = 0; i < trace->n_objects; i++)
            callers->c_library[i] = is_of_c_library(trace->objects[i].path);
        *ret_callers = callers;
        return LULL_OK;
    }
    lull_callers_destroy(callers);
    return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for stacks", trace->path);
}

void lull_callers_destroy(struct lull_callers *callers)
{
    if (!callers)
        return;
    for (unsigned w = 0; callers->stacks && w < callers->workers; w++)
        lull_trace_details_close(callers->trace, callers->stacks[w].details);
    for (uint32_t i = 0; callers->symbols && i < callers->trace->n_objects; i++)
        if (callers->symbols[i])
            lull_symbols_close(callers->symbols[i]);
    free(callers->stacks);
    free(callers->symbols);
    free(callers->opened);
    free(callers->c_library);
    free(callers->rules);
    lull_hash_free(&callers->known);
    pthread_mutex_destroy(&callers->lock);
    free(callers);
}
