/* From the phases of a rank to its iterations. */
#include "wave/row.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ITERATIONS = 3,
    MOST_PHASES = 4096,  /* of an iteration */
    MOST_KINDS = 65536,  /* of phases; a rank with more does not repeat itself */
    TOLERATED_SHARE = 10 /* one phase in so many may differ from that of the iteration before */
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* ---- while the rank is followed ---------------------------------------------------------------
 */

bool lull_wave_builder_message(struct lull_wave_builder *builder, bool send, uint32_t peer,
                               uint64_t bytes)
{
    if (!lull_array_reserve(&builder->messages, &builder->messages_room, builder->n_messages + 1,
                            sizeof *builder->messages))
        return false;
    builder->messages[builder->n_messages++] =
        (struct lull_wave_message){.peer = peer, .bytes = bytes, .send = send};
    builder->open_hash += mix(((uint64_t)peer << 1 | send) + UINT64_C(0x9e3779b97f4a7c15));
    *(send ? &builder->open_sent : &builder->open_received) += 1;
    return true;
}

/* The kind of the phase that is open; UINT32_MAX: no memory. */
static uint32_t take_kind(struct lull_wave_builder *builder)
{
    uint64_t hash = builder->open_hash;
    for (size_t i = 0, k = builder->next_kind; i < builder->n_kinds; i++, k++) {
        k = k < builder->n_kinds ? k : 0;
        if (builder->kinds[k].hash == hash) {
            builder->next_kind = k + 1;
            builder->n_messages = builder->first_open; /* known messages are not kept */
            return (uint32_t)k;
        }
    }
    if (builder->n_kinds >= MOST_KINDS)
        return MOST_KINDS;
    if (!lull_array_reserve(&builder->kinds, &builder->kinds_room, builder->n_kinds + 1,
                            sizeof *builder->kinds))
        return UINT32_MAX;
    builder->kinds[builder->n_kinds] = (struct lull_wave_phase_kind){
        hash, (uint32_t)builder->first_open, (uint32_t)(builder->n_messages - builder->first_open),
        builder->open_sent << 16 | (builder->open_received & 0xffff)};
    builder->first_open = builder->n_messages;
    builder->next_kind = 0;
    return (uint32_t)builder->n_kinds++;
}

bool lull_wave_builder_wait(struct lull_wave_builder *builder, int64_t begin, int64_t end)
{
    if (builder->open_sent + builder->open_received == 0)
        return true;
    uint32_t kind = take_kind(builder);
    builder->n_messages = builder->first_open;
    builder->open_hash = 0;
    builder->open_sent = builder->open_received = 0;
    if (kind == UINT32_MAX || !lull_array_reserve(&builder->phases, &builder->phases_room,
                                                  builder->n_phases + 1, sizeof *builder->phases))
        return false;
    builder->phases[builder->n_phases++] = (struct lull_wave_phase){begin, end, kind};
    return true;
}

bool lull_wave_builder_collective(struct lull_wave_builder *builder, uint8_t operation,
                                  int64_t begin, int64_t end)
{
    if (!lull_array_reserve(&builder->collectives, &builder->collectives_room,
                            builder->n_collectives + 1, sizeof *builder->collectives))
        return false;
    builder->collectives[builder->n_collectives++] =
        (struct lull_wave_collective){0, operation, begin, end};
    return true;
}

bool lull_wave_builder_mark(struct lull_wave_builder *builder)
{
    if (!lull_array_reserve(&builder->marks, &builder->marks_room, builder->n_marks + 1,
                            sizeof *builder->marks))
        return false;
    builder->marks[builder->n_marks++] = builder->n_phases;
    return true;
}

void lull_wave_builder_free(struct lull_wave_builder *builder)
{
    free(builder->phases);
    free(builder->kinds);
    free(builder->messages);
    free(builder->collectives);
    free(builder->marks);
    *builder = (struct lull_wave_builder){0};
}

/* ---- iterations -------------------------------------------------------------------------------
 */

static uint32_t token(const struct lull_wave_builder *builder, size_t phase, bool by_shape)
{
    uint32_t kind = builder->phases[phase].kind;
    return by_shape && kind < builder->n_kinds ? builder->kinds[kind].shape : kind;
}

/* How many phases an iteration has: the smallest distance at which nearly all phases repeat. 0:
 * there is none. */
static uint32_t find_period(const struct lull_wave_builder *builder, bool by_shape)
{
    size_t n = builder->n_phases;
    for (uint32_t period = 1; period <= MOST_PHASES && period * (size_t)LEAST_ITERATIONS <= n;
         period++) {
        size_t allowed = (n - period) / TOLERATED_SHARE, different = 0;
        for (size_t k = 0; k + period < n && different <= allowed; k++)
            different += token(builder, k, by_shape) != token(builder, k + period, by_shape);
        if (different <= allowed)
            return period;
    }
    return 0;
}

static bool same_phases(const struct lull_wave_builder *builder, bool by_shape, size_t a, size_t b,
                        uint32_t period)
{
    if (a + period > builder->n_phases || b + period > builder->n_phases)
        return false;
    for (uint32_t i = 0; i < period; i++)
        if (token(builder, a + i, by_shape) != token(builder, b + i, by_shape))
            return false;
    return true;
}

/* The messages of one iteration, that which begins with phase `first`. */
static bool take_messages(const struct lull_wave_builder *builder, size_t first,
                          struct lull_wave_row *row)
{
    size_t count = 0;
    for (uint32_t i = 0; i < row->n_phases; i++) {
        uint32_t kind = builder->phases[first + i].kind;
        count += kind < builder->n_kinds ? builder->kinds[kind].count : 0;
    }
    row->messages = malloc((count + 1) * sizeof *row->messages);
    if (!row->messages)
        return false;
    for (uint32_t i = 0; i < row->n_phases; i++) {
        uint32_t kind = builder->phases[first + i].kind;
        if (kind >= builder->n_kinds)
            continue;
        for (uint32_t m = 0; m < builder->kinds[kind].count; m++) {
            struct lull_wave_message *message = &row->messages[row->n_messages++];
            *message = builder->messages[builder->kinds[kind].first + m];
            message->phase = i;
        }
    }
    return true;
}

static int64_t waited(const struct lull_wave_builder *builder, size_t first, size_t count)
{
    int64_t wait = 0;
    for (size_t k = first; k < first + count; k++)
        wait += builder->phases[k].end - builder->phases[k].begin;
    return wait;
}

/* From mark to mark; what lies before the first one is in no iteration, and marks without a phase
 * between them begin none. The messages are those of the iteration in the middle. */
static bool cut_at_marks(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    size_t middle = 0;
    row->cells = malloc((builder->n_marks + 1) * sizeof *row->cells);
    if (!row->cells)
        return false;
    for (size_t m = 0; m < builder->n_marks; m++) {
        size_t first = builder->marks[m];
        size_t next = m + 1 < builder->n_marks ? builder->marks[m + 1] : builder->n_phases;
        if (next == first)
            continue;
        if (row->n_cells == 0 && first > 0)
            row->begin = builder->phases[first - 1].end;
        if (m <= builder->n_marks / 2 || row->n_cells == 0) {
            middle = first;
            row->n_phases = (uint32_t)(next - first);
        }
        row->cells[row->n_cells++] = (struct lull_wave_cell){builder->phases[next - 1].end,
                                                             waited(builder, first, next - first)};
    }
    return take_messages(builder, middle, row);
}

/* Phases that are in no iteration belong to the one before them: they lengthen its wait. */
static bool cut_iterations(const struct lull_wave_builder *builder, bool by_shape, uint32_t period,
                           struct lull_wave_row *row)
{
    size_t first = 0, n = builder->n_phases;
    row->n_phases = period;
    while (first + 2 * (size_t)period <= n &&
           !same_phases(builder, by_shape, first, first + period, period))
        first++;
    row->cells = malloc((n / period + 1) * sizeof *row->cells);
    if (!row->cells)
        return false;
    if (first > 0)
        row->begin = builder->phases[first - 1].end;
    for (size_t k = first; k < n;) {
        bool whole = same_phases(builder, by_shape, first, k, period);
        uint32_t taken = whole ? period : 1;
        if (whole)
            row->cells[row->n_cells++] = (struct lull_wave_cell){0, 0};
        row->cells[row->n_cells - 1].wait += waited(builder, k, taken);
        row->cells[row->n_cells - 1].end = builder->phases[k + taken - 1].end;
        k += taken;
    }
    return take_messages(builder, first, row);
}

/* Collective operations belong to the iteration that has begun last; those before the first one are
 * dropped, and so are those behind the last one. */
static bool take_collectives(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    row->collectives = malloc((builder->n_collectives + 1) * sizeof *row->collectives);
    if (!row->collectives)
        return false;
    uint32_t iteration = 0;
    for (size_t c = 0; c < builder->n_collectives; c++) {
        struct lull_wave_collective collective = builder->collectives[c];
        if (collective.begin < row->begin)
            continue;
        while (iteration < row->n_cells && row->cells[iteration].end <= collective.begin)
            iteration++;
        if (iteration == row->n_cells)
            break;
        collective.iteration = iteration;
        row->collectives[row->n_collectives++] = collective;
    }
    return true;
}

static bool find_iterations(const struct lull_wave_builder *builder, struct lull_wave_row *row)
{
    bool by_shape = false;
    uint32_t period = find_period(builder, by_shape);
    if (!period) {
        by_shape = true;
        period = find_period(builder, by_shape);
    }
    return !period || cut_iterations(builder, by_shape, period, row);
}

bool lull_wave_builder_finish(struct lull_wave_builder *builder, int64_t begin, bool marked,
                              struct lull_wave_row *ret_row)
{
    struct lull_wave_row row = {.begin = begin};
    bool good = marked ? cut_at_marks(builder, &row) : find_iterations(builder, &row);
    good = good && (row.n_cells == 0 || take_collectives(builder, &row));
    lull_wave_builder_free(builder);
    if (row.n_cells < LEAST_ITERATIONS)
        row.n_cells = 0;
    *ret_row = row;
    return good;
}
