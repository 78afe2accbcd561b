#include "machine/machine.h"

#include "machine/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *lull_verdict_name(enum lull_verdict verdict)
{
    static const char *const names[] = {[LULL_VERDICT_QUIET] = "quiet",
                                        [LULL_VERDICT_NOISY] = "noisy",
                                        [LULL_VERDICT_NOT_CONVERGED] = "not converged",
                                        [LULL_VERDICT_BELOW_RESOLUTION] = "below resolution",
                                        [LULL_VERDICT_PUBLISHED] = "published"};
    return names[verdict];
}

struct lull_number lull_number_empty(void)
{
    return (struct lull_number){.value = NAN,
                                .low = NAN,
                                .high = NAN,
                                .in_cycles = NAN,
                                .in_cycles_low = NAN,
                                .in_cycles_high = NAN,
                                .with_write_allocate = NAN,
                                .mean = NAN};
}

struct lull_number lull_number_plain(double value, const char *unit, const char *statistic)
{
    struct lull_number number = lull_number_empty();
    number.value = value;
    number.unit = unit;
    number.statistic = statistic;
    return number;
}

struct lull_machine *lull_machine_create(struct lull_arena *arena)
{
    struct lull_machine *machine = lull_arena_zero(arena, 1, sizeof *machine);
    lull_shape_clear(&lull_machine_shape, machine);
    return machine;
}

/* Hundreds of numbers, asked for a few times: a walk through them will do. */
const struct lull_number *lull_machine_find(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->numbers.count; i++)
        if (strcmp(machine->numbers.items[i].name, name) == 0)
            return &machine->numbers.items[i];
    return NULL;
}

void lull_machine_set(struct lull_machine *machine, struct lull_arena *arena,
                      const struct lull_number *number)
{
    struct lull_number_list *list = &machine->numbers;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, number->name) == 0) {
            list->items[i] = *number;
            return;
        }
    }
    list->items =
        lull_arena_grow(arena, list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = *number;
}

const struct lull_number *lull_machine_find_threads(const struct lull_machine *machine,
                                                    const char *base, unsigned threads,
                                                    unsigned *ret_threads)
{
    const struct lull_number *best = NULL;
    unsigned best_threads = 0;
    size_t length = strlen(base);
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (strncmp(number->name, base, length) != 0 || number->name[length] != '.')
            continue;
        char *end;
        unsigned long count = strtoul(number->name + length + 1, &end, 10);
        if (*end || end == number->name + length + 1 || count > threads || count <= best_threads)
            continue;
        best = number;
        best_threads = (unsigned)count;
    }
    if (best && ret_threads)
        *ret_threads = best_threads;
    return best;
}

const struct lull_network_level *lull_machine_network(const struct lull_machine *machine,
                                                      const char *name)
{
    for (size_t i = 0; i < machine->n_network; i++)
        if (strcmp(machine->network[i].name, name) == 0)
            return &machine->network[i];
    return NULL;
}

const struct lull_series *lull_machine_series(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->n_series; i++)
        if (strcmp(machine->series[i].name, name) == 0)
            return &machine->series[i];
    return NULL;
}

const struct lull_machine_cache *lull_machine_cache(const struct lull_machine *machine,
                                                    unsigned level)
{
    for (size_t i = 0; i < machine->n_caches; i++)
        if (machine->caches[i].level == level)
            return &machine->caches[i];
    return NULL;
}
