#include "support/team_of.h"

#include "support/test.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

lull_status team_of(unsigned members, unsigned seed, const char *more, struct lull_team **ret_team,
                    struct lull_error *err)
{
    const struct lull_team_start start = {.size = 1, .version = "1.0"};
    char wish[64];
    snprintf(wish, sizeof wish, "%u:%u%s", members, seed, more);
    setenv("LULL_TEAM_CHAOS", wish, 1);
    const lull_status status = lull_team_open(&start, ret_team, err);
    unsetenv("LULL_TEAM_CHAOS");
    return status;
}

/* Others tell the first one by the largest of their findings. */
static int run_member(team_body *body, unsigned members, unsigned seed)
{
    struct lull_error err = {""};
    struct lull_team *team = NULL;
    if (team_of(members, seed, "", &team, &err) != LULL_OK) {
        fprintf(stderr, "a team of %u members, seed %u: %s\n", members, seed, err.text);
        return 1;
    }
    const char *wrong = body(team);
    if (wrong)
        fprintf(stderr, "member %u of %u, seed %u: %s\n", lull_team_index(team), members, seed,
                wrong);
    int64_t bad = wrong != NULL;
    lull_team_max(team, &bad, 1, &err);
    return !lull_team_end(team) || bad;
}

void team_of_run(team_body *body, unsigned members, unsigned seed)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(TEST_HANG_SECONDS);
        _exit(run_member(body, members, seed));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
