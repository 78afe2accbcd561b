#include "wait/shared/wire.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct told_key {
    uint32_t agent, member;
};

struct wire_cause {
    int64_t time;
    uint32_t agent, call, met, padding;
};

enum form {
    FORM_NONE,  /* no snapshot */
    FORM_LAST,  /* the last one that was told */
    FORM_OWN,   /* own places follow; those of others are as in the last one */
    FORM_WHOLE, /* both follow */
};

struct wire_moment {
    int64_t in_mpi;
    uint64_t clock;
    uint32_t form, epoch;
    uint32_t own, others; /* entries */
};

static_assert(sizeof(struct wire_moment) == WIRE_MOMENT && sizeof(struct wire_cause) == 24,
              "as WIRE_CAUSE has it");

/* ---- what was told ------------------------------------------------------------------------- */

/* Where the last snapshot of an agent is kept; NULL: no memory. */
static struct wait_snapshot **last_of(struct wait_told *told, uint32_t agent, uint32_t member)
{
    const struct told_key key = {agent, member};
    const size_t count = told->by_agent.count;
    bool is_new;
    uint64_t *index = NULL;
    if (lull_array_reserve(&told->snapshots, &told->capacity, count + 1, sizeof *told->snapshots))
        index = lull_hash_add(&told->by_agent, &key, sizeof key, count, &is_new);
    if (!index)
        return NULL;
    if (is_new)
        told->snapshots[count] = NULL;
    return &told->snapshots[*index];
}

static void keep_last(struct wait_snapshot **last, const struct wait_moment *moment)
{
    struct wait_moment before = {.snapshot = *last};
    lull_wait_moment_drop(&before);
    *last = lull_wait_moment_keep(moment).snapshot;
}

void lull_wait_told_free(struct wait_told *told)
{
    for (size_t i = 0; i < told->by_agent.count; i++) {
        struct wait_moment moment = {.snapshot = told->snapshots[i]};
        lull_wait_moment_drop(&moment);
    }
    lull_hash_free(&told->by_agent);
    free(told->snapshots);
    *told = (struct wait_told){0};
}

/* ---- writing ------------------------------------------------------------------------------- */

static unsigned char *put_bytes(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static enum form form_of(const struct wait_snapshot *snapshot, const struct wait_snapshot *last)
{
    if (!snapshot)
        return FORM_NONE;
    if (snapshot == last)
        return FORM_LAST;
    return last && snapshot->others == last->others ? FORM_OWN : FORM_WHOLE;
}

static unsigned char *write_moment(unsigned char *at, const struct wait_moment *moment,
                                   const struct wait_snapshot *last)
{
    const struct wait_snapshot *snapshot = moment->snapshot;
    struct wire_moment wire = {.in_mpi = moment->in_mpi, .form = form_of(snapshot, last)};
    if (wire.form >= FORM_OWN) {
        wire.clock = snapshot->clock;
        wire.epoch = snapshot->epoch;
        wire.own = snapshot->count;
        wire.others = wire.form == FORM_WHOLE ? snapshot->others->count : 0;
    }
    at = put_bytes(at, &wire, sizeof wire);
    if (wire.form >= FORM_OWN)
        at = put_bytes(at, snapshot->own, wire.own * sizeof snapshot->own[0]);
    if (wire.form == FORM_WHOLE)
        at = put_bytes(at, snapshot->others->entries, wire.others * sizeof snapshot->own[0]);
    return at;
}

unsigned char *lull_wait_write_cause(unsigned char *at, const struct wait_cause *cause,
                                     struct wait_told *told, uint32_t member, bool *ret_no_memory)
{
    const struct wire_cause wire = {
        .time = cause->time, .agent = cause->agent, .call = cause->call, .met = cause->met};
    const struct wait_snapshot *now = cause->late.snapshot, *since = cause->late_since.snapshot;
    struct wait_snapshot **last = told && now ? last_of(told, cause->agent, member) : NULL;
    /* What was in another epoch is never looked at (ledger.h). */
    const bool same_epoch = now && since && now->epoch == since->epoch;
    *ret_no_memory |= told && now && !last;
    at = put_bytes(at, &wire, sizeof wire);
    at = write_moment(at, &cause->late, last ? *last : NULL);
    at = write_moment(at, same_epoch ? &cause->late_since : &(struct wait_moment){0}, NULL);
    if (last)
        keep_last(last, &cause->late);
    return at;
}

/* ---- reading ------------------------------------------------------------------------------- */

static const struct wait_entry behind_all = {.key = UINT64_MAX};

/* NULL: no memory. */
static struct wait_shared *read_others(const unsigned char *at, uint32_t count)
{
    struct wait_shared *shared = malloc(sizeof *shared + (count + 1) * sizeof shared->entries[0]);
    if (!shared)
        return NULL;
    *shared = (struct wait_shared){1, count};
    memcpy(shared->entries, at, count * sizeof shared->entries[0]);
    shared->entries[count] = behind_all;
    return shared;
}

static struct wait_snapshot *read_snapshot(const unsigned char *at, const struct wire_moment *wire,
                                           struct wait_snapshot *last)
{
    struct wait_snapshot *snapshot =
        malloc(sizeof *snapshot + (wire->own + 1) * sizeof snapshot->own[0]);
    struct wait_shared *others = NULL;
    if (snapshot && wire->form == FORM_WHOLE)
        others = read_others(at + wire->own * sizeof snapshot->own[0], wire->others);
    else if (snapshot && last)
        others = last->others;
    if (!others) {
        free(snapshot);
        return NULL;
    }
    others->references += wire->form == FORM_OWN;
    *snapshot = (struct wait_snapshot){others, 1, wire->epoch, wire->clock, wire->own};
    memcpy(snapshot->own, at, wire->own * sizeof snapshot->own[0]);
    snapshot->own[wire->own] = behind_all;
    return snapshot;
}

static const unsigned char *read_moment(const unsigned char *at, struct wait_snapshot *last,
                                        struct wait_moment *ret_moment, bool *ret_no_memory)
{
    struct wire_moment wire;
    memcpy(&wire, at, sizeof wire);
    at += sizeof wire;
    *ret_moment = (struct wait_moment){.in_mpi = wire.in_mpi};
    if (wire.form == FORM_LAST)
        *ret_moment = lull_wait_moment_keep(&(struct wait_moment){last, wire.in_mpi});
    else if (wire.form != FORM_NONE)
        ret_moment->snapshot = read_snapshot(at, &wire, last);
    *ret_no_memory |= wire.form != FORM_NONE && !ret_moment->snapshot;
    return at + ((size_t)wire.own + wire.others) * sizeof(struct wait_entry);
}

const unsigned char *lull_wait_read_cause(const unsigned char *at, struct wait_told *told,
                                          uint32_t member, struct wait_cause *ret_cause,
                                          bool *ret_no_memory)
{
    struct wire_cause wire;
    memcpy(&wire, at, sizeof wire);
    at += sizeof wire;
    struct wait_snapshot **last = NULL;
    *ret_cause = (struct wait_cause){
        .time = wire.time, .agent = wire.agent, .call = wire.call, .met = wire.met};
    if (told && !(last = last_of(told, wire.agent, member)))
        *ret_no_memory = true;
    at = read_moment(at, last ? *last : NULL, &ret_cause->late, ret_no_memory);
    at = read_moment(at, NULL, &ret_cause->late_since, ret_no_memory);
    if (last && ret_cause->late.snapshot)
        keep_last(last, &ret_cause->late);
    return at;
}
