/* Lines to items. A line of events is read pair by pair, as far as somebody wants them. */
#include "base/array.h"
#include "trace/format/paraver/read/batch.h"
#include "trace/format/paraver/read/number.h"

#include <stdlib.h>

/* ---- batches ------------------------------------------------------------------------------- */

void lull_prv_batch_clear(struct lull_prv_batch *batch)
{
    batch->n_items = batch->n_pairs = batch->n_readings = batch->n_halves = 0;
    batch->n_lines = 0;
    batch->no_memory = false;
}

void lull_prv_batch_free(struct lull_prv_batch *batch)
{
    free(batch->items);
    free(batch->pairs);
    free(batch->readings);
    free(batch->halves);
}

static bool note_no_memory(struct lull_prv_batch *batch)
{
    batch->no_memory = true;
    return false;
}

static bool add_pair(struct lull_prv_batch *batch, const struct lull_prv_type *type, uint64_t value)
{
    if (!lull_array_reserve(&batch->pairs, &batch->pair_capacity, batch->n_pairs + 1,
                            sizeof *batch->pairs))
        return note_no_memory(batch);
    batch->pairs[batch->n_pairs++] = (struct lull_prv_pair){type, value};
    return true;
}

static bool add_reading(struct lull_prv_batch *batch, uint32_t counter, uint64_t value)
{
    if (!lull_array_reserve(&batch->readings, &batch->reading_capacity, batch->n_readings + 1,
                            sizeof *batch->readings))
        return note_no_memory(batch);
    batch->readings[batch->n_readings++] =
        (struct lull_reading){.value = value, .counter = counter};
    return true;
}

/* ---- states and messages ------------------------------------------------------------------- */

/* Object and time of a state or event record. */
static bool begin_record(struct lull_prv_parser *parser, const uint8_t **at,
                         struct lull_prv_item *item)
{
    uint32_t location;
    int64_t time;
    if (!lull_prv_object(parser, at, &location) || !lull_prv_time(parser, at, &time))
        return false;
    if (*(*at)++ != ':')
        return lull_prv_bad(parser, "the record ends early, expected ':'");
    item->location = location;
    item->time = time;
    return true;
}

static uint32_t find_state_number(const struct lull_trace *trace, uint64_t number)
{
    if (number < trace->n_states && trace->states[number].number == number)
        return (uint32_t)number;
    uint32_t low = 0, high = trace->n_states - 1; /* the last is for all others */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (trace->states[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    if (trace->states[low].number != number)
        low = trace->n_states - 1;
    return low;
}

/* 1:<object>:begin:end:state */
static bool parse_state(struct lull_prv_parser *parser, const uint8_t **at,
                        struct lull_prv_batch *batch, struct lull_prv_item *item)
{
    int64_t end;
    uint64_t number;
    item->kind = LULL_PRV_STATE_ITEM;
    if (!begin_record(parser, at, item) || !lull_prv_time(parser, at, &end))
        return false;
    if (*(*at)++ != ':' || !lull_prv_number(at, &number) || !lull_prv_line_ends(*at))
        return lull_prv_bad(parser, "expected ':', the state and the end of the line");
    if (end < item->time)
        return lull_prv_bad(parser, "state ends before it begins (%lld, %lld)", (long long)end,
                            (long long)item->time);
    item->end = end;
    item->state = find_state_number(parser->trace, number);
    return item->state + 1 < parser->trace->n_states || add_pair(batch, NULL, number);
}

static bool parse_message(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                          const uint8_t *at, struct lull_prv_batch *batch,
                          struct lull_prv_item *item)
{
    if (!wish->messages)
        return true;
    if (!lull_array_reserve(&batch->halves, &batch->half_capacity, batch->n_halves + 2,
                            sizeof *batch->halves))
        return note_no_memory(batch);
    item->kind = LULL_PRV_MESSAGE_ITEM;
    if (!lull_prv_message(parser, at, &batch->halves[batch->n_halves]))
        return false;
    batch->n_halves += 2;
    return true;
}

/* ---- pairs --------------------------------------------------------------------------------- */

/* "<type>:" by its digits as they stand; by its number where there are more than eight. */
static inline bool read_type(const struct lull_prv_types *types, const uint8_t **at,
                             uint32_t *ret_index)
{
    uint64_t word = lull_prv_load(*at), number;
    unsigned digits = lull_prv_digits(word);
    if (digits == 0)
        return false;
    if ((*at)[digits] == ':') {
        uint64_t key = lull_prv_align(word, digits);
        uint32_t slot = lull_prv_hash(key, types->shift);
        for (; types->by_text[slot].key; slot = (slot + 1) & types->mask) {
            if (types->by_text[slot].key == key) {
                *ret_index = types->by_text[slot].index;
                *at += digits + 1;
                return true;
            }
        }
    }
    if (!lull_prv_number(at, &number) || *(*at)++ != ':')
        return false;
    *ret_index = lull_prv_type_index(types, number);
    return true;
}

static inline bool read_value(const uint8_t **at, uint64_t *ret_value)
{
    bool negative = **at == '-';
    *at += negative;
    if (!lull_prv_number(at, ret_value))
        return false;
    if (negative)
        *ret_value = -*ret_value;
    return true;
}

static inline bool skip_value(const uint8_t **at)
{
    const uint8_t *from = *at += **at == '-';
    unsigned digits;
    do
        *at += digits = lull_prv_digits(lull_prv_load(*at));
    while (digits == 8);
    return *at > from;
}

/* Counters go to batch->readings, the others, as far as they are wanted, to batch->pairs. */
static bool parse_pairs(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                        const uint8_t **line, struct lull_prv_batch *batch)
{
    const struct lull_prv_types *types = wish->types;
    const uint8_t *at = *line;
    for (;; at++) {
        uint32_t index;
        uint64_t value;
        if (!read_type(types, &at, &index))
            return lull_prv_bad(parser, "expected 'type:value' pairs");
        enum lull_prv_need need =
            index < types->n_types ? (enum lull_prv_need)wish->needs[index] : LULL_PRV_NEED_VALUE;
        if (need == LULL_PRV_NEED_NOTHING ? !skip_value(&at) : !read_value(&at, &value))
            return lull_prv_bad(parser, "expected a number as value of an event");
        if (need == LULL_PRV_NEED_READING && !add_reading(batch, types->types[index].index, value))
            return false;
        if (need == LULL_PRV_NEED_VALUE &&
            !add_pair(batch, index < types->n_types ? &types->types[index] : NULL, value))
            return false;
        if (*at != ':')
            break;
    }
    *line = at;
    return lull_prv_line_ends(at) || lull_prv_bad(parser, "expected ':' or the end of the line");
}

/* 2:<object>:time:type:value:type:value... */
static bool parse_events(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                         const uint8_t **at, struct lull_prv_batch *batch,
                         struct lull_prv_item *item)
{
    const size_t pairs = batch->n_pairs, readings = batch->n_readings;
    item->kind = LULL_PRV_EVENTS_ITEM;
    if (!begin_record(parser, at, item) || !parse_pairs(wish, parser, at, batch))
        return false;
    item->n_pairs = (uint32_t)(batch->n_pairs - pairs);
    item->n_readings = (uint32_t)(batch->n_readings - readings);
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool parse_odd(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                      const uint8_t *at, struct lull_prv_item *item)
{
    if (!wish->odd || lull_prv_line_ends(at) || at[0] == '#')
        return true;
    if (at[0] == 'c')
        item->kind = LULL_PRV_COMM_ITEM;
    else if (at[0] >= '4' && at[0] <= '9' && at[1] == ':')
        item->kind = LULL_PRV_ODD_ITEM;
    else
        return lull_prv_bad(parser, "expected a record (1:, 2: or 3:), '#' or 'c:'");
    return true;
}

/* Moves *at towards the end of the line, never behind it. An item whose kind stays
 * LULL_PRV_NO_ITEM is none. */
static bool parse_line(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                       const uint8_t **at, struct lull_prv_batch *batch, struct lull_prv_item *item)
{
    const uint8_t *line = *at;
    if (line[1] != ':')
        return parse_odd(wish, parser, line, item);
    *at += 2;
    switch (line[0]) {
    case '1':
        return !wish->states || parse_state(parser, at, batch, item);
    case '2':
        return !wish->events || parse_events(wish, parser, at, batch, item);
    case '3':
        return parse_message(wish, parser, *at, batch, item);
    default:
        *at = line;
        return parse_odd(wish, parser, line, item);
    }
}

/* From the begin of a line to the next one that begins with '3', or to `end`: blocks without such a
 * line are only counted through, all their bytes at once. */
static const uint8_t *pass_over(const uint8_t *at, const uint8_t *end, uint32_t *n_lines)
{
    enum { BLOCK = 64 }; /* one more byte is looked at, which the pad allows */
    if (*at == '3')
        return at;
    while (end - at >= BLOCK) {
        uint8_t lines = 0, found = 0;
        for (int i = 0; i < BLOCK; i++) {
            uint8_t ends = at[i] == '\n';
            lines = (uint8_t)(lines + ends);
            found |= ends & (at[i + 1] == '3');
        }
        if (found)
            break;
        *n_lines += lines;
        at += BLOCK;
    }
    do {
        at = memchr(at, '\n', (size_t)(end - at));
        if (!at)
            return end;
        at++;
        ++*n_lines;
    } while (at < end && *at != '3');
    return at;
}

void lull_prv_parse(const struct lull_prv_wish *wish, struct lull_prv_parser *parser,
                    const uint8_t **at, const uint8_t *end, uint32_t most,
                    struct lull_prv_batch *batch)
{
    const bool only_messages = wish->messages && !wish->states && !wish->events && !wish->odd;
    const uint8_t *here = *at;
    lull_prv_batch_clear(batch);
    for (; here < end && batch->n_lines < most; batch->n_lines++) {
        if (only_messages && (here = pass_over(here, end, &batch->n_lines)) == end)
            break;
        if (!lull_array_reserve(&batch->items, &batch->item_capacity, batch->n_items + 1,
                                sizeof *batch->items)) {
            batch->no_memory = true;
            break;
        }
        struct lull_prv_item *item = &batch->items[batch->n_items];
        item->kind = LULL_PRV_NO_ITEM;
        item->location = LULL_NONE;
        item->line = batch->n_lines;
        parser->late = 0;
        bool good = parse_line(wish, parser, &here, batch, item);
        item->late = (uint8_t)parser->late;
        if (!good) {
            item->kind = LULL_PRV_BAD_ITEM;
            batch->what = parser->what;
            batch->n_items++;
            here = end;
            break;
        }
        batch->n_items += item->kind != LULL_PRV_NO_ITEM;
        if (*here != '\n')
            here = memchr(here, '\n', (size_t)(end - here));
        here++;
    }
    *at = here;
}
