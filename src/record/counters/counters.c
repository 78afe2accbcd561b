/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/counters/counters.h"

#include "record/report.h"
#include "record/store/definitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rec_counter_backend *const backends[] = {
    &rec_counters_perf, &rec_counters_papi, &rec_counters_system, &rec_counters_fake};
enum { BACKENDS = sizeof backends / sizeof *backends };

static struct {
    const struct rec_counter_backend *backend; /* NULL: no counters */
    struct rec_counter counters[REC_MOST_COUNTERS];
    uint32_t ids[REC_MOST_COUNTERS];
    unsigned n;
} counter_set;

/* ---- which ----------------------------------------------------------------------------------- */

static const char *const usual = "perf:instructions,perf:cycles";

/* What one back-end has of a list of counters, and how many it lacks: their names, and the first of
 * them. */
struct found_counters {
    struct rec_counter counters[REC_MOST_COUNTERS];
    unsigned n, absent;
    char names[256], first[64];
};

/* The name of a counter without that of a back-end before it, if the word may be meant for this
 * back-end; else NULL. The made-up counters must be asked for by their back-end's name. */
static const char *name_for(const struct rec_counter_backend *backend, const char *word)
{
    for (int b = 0; b < BACKENDS; b++) {
        size_t length = strlen(backends[b]->name);
        if (strncmp(word, backends[b]->name, length) == 0 && word[length] == ':')
            return backends[b] == backend ? word + length + 1 : NULL;
    }
    return backend == &rec_counters_fake ? NULL : word;
}

static const char *try_one(const struct rec_counter_backend *backend, const char *name,
                           struct rec_counter *counter)
{
    *counter = (struct rec_counter){.rate = 0};
    snprintf(counter->name, sizeof counter->name, "%s", name);
    return backend->find(name, counter);
}

static void find_one(const struct rec_counter_backend *backend, const char *word,
                     struct found_counters *found)
{
    const char *name = name_for(backend, word);
    if (name && found->n < REC_MOST_COUNTERS &&
        !try_one(backend, name, &found->counters[found->n])) {
        found->n++;
        return;
    }
    size_t used = strlen(found->names);
    snprintf(found->names + used, sizeof found->names - used, "%s%s", used ? ", " : "", word);
    if (found->absent++ == 0)
        snprintf(found->first, sizeof found->first, "%s", word);
}

static void find_all(const struct rec_counter_backend *backend, const char *list,
                     struct found_counters *ret_found)
{
    char words[1024], *rest = words;
    *ret_found = (struct found_counters){.n = 0};
    snprintf(words, sizeof words, "%s", list);
    for (char *word; (word = strsep(&rest, ",")) != NULL;)
        if (*word)
            find_one(backend, word, ret_found);
}

/* The first back-end that has all counters of the list, else the first that has most of them. */
static const struct rec_counter_backend *choose(const char *list, struct found_counters *ret_best)
{
    const struct rec_counter_backend *best = NULL;
    *ret_best = (struct found_counters){.absent = 1};
    for (int b = 0; b < BACKENDS && ret_best->absent > 0; b++) {
        struct found_counters found;
        find_all(backends[b], list, &found);
        if (!best || found.n > ret_best->n) {
            best = backends[b];
            *ret_best = found;
        }
    }
    return best;
}

/* Writes what each back-end says of the first counter that was not found. */
static void explain(const struct found_counters *found, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int b = 0; b < BACKENDS && used < size; b++) {
        struct rec_counter counter;
        const char *name = name_for(backends[b], found->first);
        if (!name)
            continue;
        const char *why = try_one(backends[b], name, &counter);
        if (!why)
            why = found->n == REC_MOST_COUNTERS
                      ? "at most " REC_TEXT(LULL_TAPE_MOST_COUNTERS) " at a time"
                      : "has it, but all counters must come from one back-end";
        used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "",
                                 backends[b]->name, why);
    }
}

static void say_absent(const struct found_counters *found)
{
    char why[320];
    explain(found, why, sizeof why);
    rec_report_say("no counter%s %s: %s", found->absent > 1 ? "s" : "", found->names, why);
}

void rec_counters_start(const char *list)
{
    bool asked = list && *list;
    if (!asked)
        list = usual;
    if (strcmp(list, "none") == 0)
        return;
    struct found_counters found;
    const struct rec_counter_backend *backend = choose(list, &found);
    if (found.absent > 0 && asked)
        say_absent(&found);
    for (unsigned i = 0; i < found.n; i++) {
        counter_set.counters[i] = found.counters[i];
        counter_set.ids[i] = rec_define_counter(counter_set.counters[i].name, "", 0);
        if (counter_set.ids[i] == 0)
            return;
    }
    counter_set.n = found.n;
    counter_set.backend = found.n > 0 ? backend : NULL;
}

unsigned rec_counters_number(void)
{
    return counter_set.n;
}

uint32_t rec_counters_id(unsigned counter)
{
    return counter_set.ids[counter];
}

/* ---- threads --------------------------------------------------------------------------------- */

void rec_counters_begin(struct rec_thread *self, uint64_t now)
{
    if (counter_set.n == 0 ||
        !counter_set.backend->begin(&self->counting, counter_set.counters, counter_set.n))
        return;
    self->n_counters = counter_set.n;
    rec_counters_skip(self, now);
}

void rec_counters_end(struct rec_thread *self)
{
    if (self->n_counters > 0)
        counter_set.backend->end(&self->counting, self->n_counters);
    self->n_counters = 0;
}

/* ---- readings -------------------------------------------------------------------------------- */

static void read_counter_set(struct rec_thread *self, uint64_t now, uint64_t *values)
{
    counter_set.backend->read(&self->counting, counter_set.counters, counter_set.n, now, values);
}

/* What was counted since the previous reading. Scaled values may go back a little, which counts as
 * nothing. */
static void read_deltas(struct rec_thread *self, uint64_t now, uint64_t *deltas)
{
    uint64_t values[REC_MOST_COUNTERS];
    read_counter_set(self, now, values);
    for (unsigned i = 0; i < counter_set.n; i++) {
        uint64_t last = self->counting.last[i];
        deltas[i] = values[i] > last ? values[i] - last : 0;
        self->counting.last[i] = last + deltas[i];
    }
}

static void put_counts(struct rec_thread *self, uint64_t now, const uint64_t *deltas)
{
    const unsigned extra = (counter_set.n + 1) / 2;
    rec_reserve_behind(self, 1 + extra);
    union lull_tape_slot *slot = self->at;
    slot[0].record.time = now;
    slot[0].record.head = lull_tape_head(LULL_TAPE_COUNTS, extra, counter_set.ids[0]);
    slot[0].record.value = counter_set.n;
    slot[extra].u64[1] = 0;
    for (unsigned i = 0; i < counter_set.n; i++)
        slot[1 + i / 2].u64[i % 2] = deltas[i];
    rec_commit(self, 1 + extra);
}

static void add_deltas(const struct rec_thread *self, uint64_t *sums, const uint64_t *deltas)
{
    for (unsigned i = 0; sums && i < self->n_counters; i++)
        sums[i] += deltas[i];
}

void rec_counters_read(struct rec_thread *self, uint32_t region, uint64_t now)
{
    uint64_t deltas[REC_MOST_COUNTERS];
    if (self->paused)
        return;
    read_deltas(self, now, deltas);
    put_counts(self, now, deltas);
    struct lull_tape_sum *sum = rec_sum_of(self, region, self->parallel);
    add_deltas(self, sum ? sum->counts : NULL, deltas);
}

void rec_counters_read_here(struct rec_thread *self, uint64_t now)
{
    uint64_t deltas[REC_MOST_COUNTERS];
    if (self->paused)
        return;
    read_deltas(self, now, deltas);
    put_counts(self, now, deltas);
    uint32_t n = self->n_frames < REC_MOST_FRAMES ? self->n_frames : REC_MOST_FRAMES;
    if (n == 0) {
        add_deltas(self, self->sums_file.header->counted, deltas);
        return;
    }
    const struct rec_frame *frame = &self->frames[n - 1];
    struct lull_tape_sum *sum = rec_sum_of(self, frame->region, frame->parallel);
    add_deltas(self, sum ? sum->counts : NULL, deltas);
}

uint64_t rec_open_counted_call(struct rec_thread *self, uint32_t region)
{
    uint64_t now = rec_now();
    rec_counters_read_here(self, now);
    union lull_tape_slot *slot = self->at;
    slot->record.time = now;
    slot->record.value = LULL_TAPE_OPEN;
    slot->record.head = lull_tape_head(LULL_TAPE_CALL, 0, region);
    return now;
}

void rec_counters_skip(struct rec_thread *self, uint64_t now)
{
    read_counter_set(self, now, self->counting.last);
}

void rec_counters_hide(struct rec_thread *self, uint64_t now, uint64_t *values)
{
    read_counter_set(self, now, values);
}

void rec_counters_unhide(struct rec_thread *self, uint64_t now, const uint64_t *values)
{
    uint64_t later[REC_MOST_COUNTERS];
    read_counter_set(self, now, later);
    for (unsigned i = 0; i < self->n_counters; i++)
        self->counting.last[i] += later[i] > values[i] ? later[i] - values[i] : 0;
}
