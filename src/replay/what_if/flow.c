/* What is supposed goes from the first of a team to all. */
#include "replay/what_if/what_if.h"

/* Texts follow in the order of their members. */
bool lull_what_if_put(const struct lull_what_if_options *options, struct lull_flow *flow)
{
    bool good = lull_flow_put(flow, options, sizeof *options) &&
                lull_flow_put_text(flow, options->balanced);
    for (uint32_t i = 0; i < options->n_regions && good; i++)
        good = lull_flow_put_text(flow, options->regions[i]);
    for (uint32_t i = 0; i < options->n_cuts && good; i++)
        good = lull_flow_put_text(flow, options->cuts[i].node) &&
               lull_flow_put_text(flow, options->cuts[i].region);
    for (uint32_t i = 0; i < options->n_threads && good; i++)
        good = lull_flow_put_text(flow, options->threads[i].region);
    return good;
}

bool lull_what_if_get(struct lull_what_if_options *options, struct lull_arena *arena,
                      struct lull_flow *flow)
{
    bool good = lull_flow_get(flow, options, sizeof *options) &&
                lull_flow_get_text(flow, arena, &options->balanced);
    for (uint32_t i = 0; good && i < options->n_regions; i++)
        good = lull_flow_get_text(flow, arena, &options->regions[i]);
    for (uint32_t i = 0; good && i < options->n_cuts; i++)
        good = lull_flow_get_text(flow, arena, &options->cuts[i].node) &&
               lull_flow_get_text(flow, arena, &options->cuts[i].region);
    for (uint32_t i = 0; good && i < options->n_threads; i++)
        good = lull_flow_get_text(flow, arena, &options->threads[i].region);
    return good;
}
