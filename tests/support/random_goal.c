#include "support/random_goal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_STEPS = 400 };

struct text {
    char *bytes;
    size_t used, room;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *format, ...)
{
    va_list args;
    if (text->room - text->used < 256) {
        text->room = 2 * text->room + 4096;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            abort();
    }
    va_start(args, format);
    text->used += (size_t)vsnprintf(text->bytes + text->used, 256, format, args);
    va_end(args);
}

static unsigned below(struct lull_random *random, unsigned bound)
{
    return (unsigned)lull_random_below(random, bound);
}

static unsigned one_of(struct lull_random *random, const unsigned *choices, unsigned count)
{
    return choices[below(random, count)];
}

/* Operations of one rank in the order in which they can be carried out. */
struct plan {
    char lines[MOST_STEPS * 2][64];
    unsigned label[MOST_STEPS * 2]; /* where they stand in the text */
    unsigned count;
};

static void add_units(struct lull_random *random, const struct random_goal_options *options,
                      char *line, int has_nic)
{
    if (options->cpus > 1 && below(random, 2))
        sprintf(line + strlen(line), " cpu %u", below(random, options->cpus));
    if (has_nic && options->nics > 1 && below(random, 2))
        sprintf(line + strlen(line), " nic %u", below(random, options->nics));
}

static void add_step(struct lull_random *random, const struct random_goal_options *options,
                     struct plan *plans, unsigned n_ranks)
{
    static const unsigned times[] = {0, 1, 2, 2, 5, 10};
    static const unsigned sizes[] = {0, 1, 2, 2, 3, 8, 50};
    struct plan *from = &plans[below(random, n_ranks)], *to = &plans[below(random, n_ranks)];
    if (below(random, 3) == 0) {
        char *line = from->lines[from->count++];
        sprintf(line, "calc %u", one_of(random, times, 6));
        add_units(random, options, line, 0);
        return;
    }
    unsigned size = one_of(random, sizes, 7), tag = below(random, 3);
    char *line = from->lines[from->count++];
    sprintf(line, "send %ub to %u tag %u", size, (unsigned)(to - plans), tag);
    add_units(random, options, line, 1);
    line = to->lines[to->count++];
    int source = below(random, 100) < options->wildcards ? -1 : (int)(from - plans);
    int wanted = below(random, 100) < options->wildcards ? -1 : (int)tag;
    sprintf(line, "recv %ub from %d tag %d", size, source, wanted);
    add_units(random, options, line, 1);
}

static void add_rank(struct lull_random *random, const struct random_goal_options *options,
                     struct plan *plan, struct text *text)
{
    static unsigned order[MOST_STEPS * 2];
    for (unsigned i = 0; i < plan->count; i++)
        order[i] = i;
    for (unsigned i = plan->count; i > 1 && options->starts; i--) {
        unsigned other = below(random, 4) ? i - 1 : below(random, i), swap = order[i - 1];
        order[i - 1] = order[other];
        order[other] = swap;
    }
    for (unsigned i = 0; i < plan->count; i++) {
        plan->label[order[i]] = i + 1;
        add(text, "l%u: %s\n", i + 1, plan->lines[order[i]]);
    }
    unsigned density = below(random, 3);
    for (unsigned i = density * plan->count; i > 0; i--) {
        unsigned after = below(random, plan->count), reach = 1 + below(random, 5);
        if (after == 0)
            continue;
        unsigned before = reach < after && below(random, 4) ? after - reach : below(random, after);
        add(text, "l%u %s l%u\n", plan->label[after],
            below(random, 100) < options->starts ? "irequires" : "requires", plan->label[before]);
    }
}

char *random_goal(struct lull_random *random, const struct random_goal_options *options)
{
    struct text text = {0};
    unsigned n_ranks = 1 + below(random, options->ranks);
    unsigned steps = 1 + below(random, options->steps);
    struct plan *plans = calloc(n_ranks, sizeof *plans);
    if (!plans || n_ranks > MOST_RANKS || steps > MOST_STEPS)
        abort();
    for (unsigned i = 0; i < steps; i++)
        add_step(random, options, plans, n_ranks);
    add(&text, "num_ranks %u\n", n_ranks);
    for (unsigned r = 0; r < n_ranks; r++) {
        add(&text, "rank %u {\n", r);
        add_rank(random, options, &plans[r], &text);
        add(&text, "}\n");
    }
    free(plans);
    return text.bytes;
}
