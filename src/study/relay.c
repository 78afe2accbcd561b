/* Of what is on its way to a member there are no more than some parcels: it tells now and then how
 * many it has taken. */
#include "study/relay.h"

#include "trace/relay.h"

#include <string.h>

enum { MOST_UNDERWAY = 64, TELL_EVERY = 16 }; /* parcels of 64 KiB to a member */

struct passing {
    struct lull_relay relay;
    const struct lull_division *division;
    uint32_t *underway;           /* [members], on the first */
    uint32_t untold;              /* on others */
    struct lull_team_parcel last; /* that was got */
};

static uint32_t owner(void *context, uint32_t process)
{
    const struct passing *passing = context;
    return lull_division_owner(passing->division, process);
}

static void begin(void *context)
{
    struct passing *passing = context;
    lull_team_begin(passing->division->team, LULL_TEAM_EVENTS);
    if (passing->underway)
        memset(passing->underway, 0, passing->relay.size * sizeof *passing->underway);
    passing->untold = 0;
}

static void end(void *context)
{
    struct passing *passing = context;
    lull_team_give_back(&passing->last);
}

static lull_status put_passed(void *context, uint32_t to, const void *bytes, size_t size,
                              struct lull_error *err)
{
    struct passing *passing = context;
    struct lull_team *team = passing->division->team;
    lull_status status = LULL_OK;
    while (status == LULL_OK && passing->underway[to] >= MOST_UNDERWAY) {
        struct lull_team_parcel parcel;
        status = lull_team_await(team, LULL_TEAM_EVENTS, &parcel, err);
        if (status == LULL_OK)
            passing->underway[parcel.from] -= TELL_EVERY;
        lull_team_give_back(&parcel);
    }
    passing->underway[to]++;
    return status == LULL_OK ? lull_team_post(team, LULL_TEAM_EVENTS, to, bytes, size, err)
                             : status;
}

static lull_status get_passed(void *context, const void **ret_bytes, size_t *ret_size,
                              struct lull_error *err)
{
    struct passing *passing = context;
    struct lull_team *team = passing->division->team;
    lull_team_give_back(&passing->last);
    lull_status status = lull_team_await(team, LULL_TEAM_EVENTS, &passing->last, err);
    if (status == LULL_OK && ++passing->untold == TELL_EVERY) {
        passing->untold = 0;
        status = lull_team_post(team, LULL_TEAM_EVENTS, 0, NULL, 0, err);
    }
    *ret_bytes = passing->last.bytes;
    *ret_size = passing->last.size;
    return status;
}

void lull_relay_attach(const struct lull_trace *trace, const struct lull_division *division,
                       struct lull_arena *arena)
{
    struct passing *passing = lull_arena_zero(arena, 1, sizeof *passing);
    const uint32_t members = lull_team_size(division->team);
    *passing = (struct passing){.relay = {.index = lull_team_index(division->team),
                                          .size = members,
                                          .context = passing,
                                          .owner = owner,
                                          .begin = begin,
                                          .end = end,
                                          .put = put_passed,
                                          .get = get_passed},
                                .division = division};
    if (passing->relay.index == 0)
        passing->underway = lull_arena_zero(arena, members, sizeof *passing->underway);
    lull_trace_relay(trace, &passing->relay);
}
