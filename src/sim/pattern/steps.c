/* The steps of an iteration, in order. */
#include "sim/pattern/steps.h"

#include "base/collective.h"

/* A link in one direction: to the neighbour above or below, from the one opposite. */
struct link {
    uint32_t distance; /* index */
    uint32_t dimension;
    uint32_t down; /* 0: upwards */
};

static uint32_t count_links(const struct lull_pattern_exchange *exchange)
{
    return exchange->n_distances * exchange->n_dimensions * 2;
}

static struct link link_at(const struct lull_pattern_exchange *exchange, uint32_t i)
{
    return (struct link){i / 2 / exchange->n_dimensions, i / 2 % exchange->n_dimensions, i % 2};
}

static uint32_t count_phases(const struct lull_pattern_exchange *exchange)
{
    switch (exchange->wait) {
    case LULL_PATTERN_WAIT_ALL:
        return 1;
    case LULL_PATTERN_WAIT_DIRECTION:
        return exchange->n_dimensions * 2;
    case LULL_PATTERN_WAIT_DISTANCE:
        return exchange->n_distances;
    case LULL_PATTERN_WAIT_EACH:
        return count_links(exchange);
    }
    return 0;
}

/* The phase in which a link is used; phases without any link are passed over. */
static uint32_t phase_of(const struct lull_pattern_exchange *exchange, struct link link)
{
    switch (exchange->wait) {
    case LULL_PATTERN_WAIT_ALL:
        return 0;
    case LULL_PATTERN_WAIT_DIRECTION:
        return link.dimension * 2 + link.down;
    case LULL_PATTERN_WAIT_DISTANCE:
        return link.distance;
    case LULL_PATTERN_WAIT_EACH:
        return (link.distance * exchange->n_dimensions + link.dimension) * 2 + link.down;
    }
    return 0;
}

static struct lull_pattern_step *add_step(struct lull_pattern *pattern, uint8_t kind)
{
    struct lull_pattern_step *step = &pattern->steps[pattern->n_steps++];
    *step = (struct lull_pattern_step){.kind = kind};
    return step;
}

/* The receives or the sends of a phase; returns how many there are. */
static uint32_t add_half(struct lull_pattern *pattern, const struct lull_pattern_exchange *exchange,
                         uint32_t phase, bool sends, uint32_t first_request)
{
    bool swapped = sends && !exchange->sends_up_first;
    uint32_t n = 0;
    for (uint32_t i = 0; i < count_links(exchange); i++) {
        struct link link = link_at(exchange, swapped ? i ^ 1 : i);
        bool wanted = link.down ? exchange->down : exchange->up;
        if (!wanted || phase_of(exchange, link) != phase)
            continue;
        struct lull_pattern_step *step = add_step(pattern, sends ? LULL_OP_SEND : LULL_OP_RECV);
        step->dimension = (uint8_t)link.dimension;
        step->distance = exchange->distances[link.distance];
        step->up = sends == !link.down; /* what goes up is received from below */
        step->tag = (link.distance * exchange->n_dimensions + link.dimension) * 2 + link.down;
        step->request = first_request + n++;
    }
    return n;
}

void lull_pattern_lay_out(struct lull_pattern *pattern,
                          const struct lull_pattern_exchange *exchange, struct lull_arena *arena)
{
    uint32_t links = count_links(exchange);
    pattern->steps = lull_arena_zero(arena, 3 * (size_t)links + 3, sizeof *pattern->steps);
    add_step(pattern, LULL_OP_MARK);
    add_step(pattern, LULL_OP_COMPUTE);
    for (uint32_t phase = 0; phase < count_phases(exchange); phase++) {
        uint32_t receives = add_half(pattern, exchange, phase, false, 0);
        if (receives + add_half(pattern, exchange, phase, true, receives) > 0)
            add_step(pattern, LULL_OP_WAIT);
    }
    if (pattern->collective != LULL_COLLECTIVES)
        add_step(pattern, LULL_OP_COLLECTIVE);
}
