#include "support/drawn_team.h"

#include "support/seed.h"
#include "support/team_of.h"
#include "support/test.h"

#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long *reached; /* [DRAWN_BRANCHES], of all processes; atomic */

void drawn_team_reach(unsigned branch)
{
    __atomic_fetch_add(&reached[branch], 1, __ATOMIC_RELAXED);
}

unsigned long drawn_teams_reached(unsigned branch)
{
    return __atomic_load_n(&reached[branch], __ATOMIC_RELAXED);
}

unsigned drawn_teams_run(int (*differs)(uint64_t seed))
{
    const uint64_t first = lull_test_seed();
    /* Under sanitizers processes are dear, too. */
    const unsigned count = lull_test_rounds(DRAWN_TEAMS) * lull_test_rounds(2) / 2;
    if (!reached)
        reached = mmap(NULL, DRAWN_BRANCHES * sizeof *reached, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(reached != MAP_FAILED);
    memset(reached, 0, DRAWN_BRANCHES * sizeof *reached);
    for (uint64_t seed = first; seed < first + count; seed++) {
        const pid_t child = fork();
        int status;
        assert_true(child >= 0);
        if (child == 0)
            _exit(differs(seed));
        assert_int_equal(waitpid(child, &status, 0), child);
        fail_if(!WIFEXITED(status) || WEXITSTATUS(status) != 0, "seed %lu: status %x", seed,
                (unsigned)status);
    }
    return count;
}

struct lull_team *drawn_team_open(struct lull_random *random, uint64_t seed, unsigned fewest)
{
    struct lull_team *team;
    const unsigned more = (unsigned)lull_random_below(random, DRAWN_MEMBERS + 1 - fewest);
    if (team_of(fewest + more, (unsigned)seed, "", &team, NULL) != LULL_OK)
        _exit(2);
    alarm(TEST_HANG_SECONDS);
    return team;
}

struct lull_division *drawn_team_divide(struct lull_team *team, uint32_t n,
                                        struct lull_random *random, struct lull_arena *arena)
{
    uint64_t *weights = lull_arena_zero(arena, n + (size_t)1, sizeof *weights);
    struct lull_division *division;
    for (uint32_t p = 0; p < n; p++)
        weights[p] = lull_random_below(random, 4);
    const struct lull_division_items items = {.count = n, .weights = weights};
    assert_int_equal(lull_division_make(team, &items, arena, &division, NULL), LULL_OK);
    return division;
}
