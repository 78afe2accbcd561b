#include "replay/stream.h"

#include <stdlib.h>

struct list {
    uint32_t *roots;
    uint32_t count, capacity;
};

struct lull_roots {
    const struct lull_trace *trace;
    struct list *comms; /* [n_comms] */
    uint32_t *numbers;  /* [n_comms]: next operation of the process that is read */
};

static bool put(struct list *list, uint32_t number, uint32_t root)
{
    if (number >= list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity : 64;
        while (capacity <= number)
            capacity *= 2;
        uint32_t *larger = realloc(list->roots, capacity * sizeof *larger);
        if (!larger)
            return false;
        list->roots = larger;
        list->capacity = capacity;
    }
    for (; list->count <= number; list->count++)
        list->roots[list->count] = LULL_NONE;
    list->roots[number] = root;
    return true;
}

/* One process after the other, so that the numbers of one suffice. */
static lull_status read_process(struct lull_roots *roots, uint32_t process, struct lull_error *err)
{
    const struct lull_trace *trace = roots->trace;
    struct lull_cursor *cursor;
    struct lull_block block = {0};
    lull_status status = lull_cursor_open(trace, trace->processes[process].first_location,
                                          LULL_MASK(LULL_EVENT_COLLECTIVE_END), &cursor, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t c = 0; c < trace->n_comms; c++)
        roots->numbers[c] = 0;
    while ((status = lull_cursor_next(cursor, &block, err)) == LULL_OK && block.count > 0)
        for (uint32_t i = 0; i < block.count && status == LULL_OK; i++) {
            const struct lull_event *event = &block.events[i];
            if (event->kind != LULL_EVENT_COLLECTIVE_END || event->id >= trace->n_comms ||
                event->collective.request != LULL_NO_REQUEST)
                continue;
            uint32_t number = roots->numbers[event->id]++;
            if (event->collective.root == (int32_t)process &&
                !put(&roots->comms[event->id], number, process))
                status = lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay",
                                   trace->path);
        }
    lull_cursor_close(cursor);
    return status;
}

lull_status lull_roots_create(const struct lull_trace *trace, uint32_t application,
                              struct lull_roots **ret_roots, struct lull_error *err)
{
    struct lull_roots *roots = calloc(1, sizeof *roots);
    if (!roots)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    roots->trace = trace;
    roots->comms = calloc(trace->n_comms + (size_t)1, sizeof *roots->comms);
    roots->numbers = calloc(trace->n_comms + (size_t)1, sizeof *roots->numbers);
    lull_status status =
        roots->comms && roots->numbers
            ? LULL_OK
            : lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a replay", trace->path);
    for (uint32_t p = 0; p < trace->n_processes && status == LULL_OK; p++)
        if (trace->processes[p].application == application && trace->processes[p].n_threads)
            status = read_process(roots, p, err);
    if (status != LULL_OK) {
        lull_roots_destroy(roots);
        return status;
    }
    *ret_roots = roots;
    return LULL_OK;
}

void lull_roots_destroy(struct lull_roots *roots)
{
    if (!roots)
        return;
    for (uint32_t c = 0; roots->comms && c < roots->trace->n_comms; c++)
        free(roots->comms[c].roots);
    free(roots->comms);
    free(roots->numbers);
    free(roots);
}

uint32_t lull_roots_find(const struct lull_roots *roots, uint32_t comm, uint32_t number)
{
    const struct list *list = &roots->comms[comm];
    return number < list->count ? list->roots[number] : LULL_NONE;
}
