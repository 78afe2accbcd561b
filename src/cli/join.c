/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/join.h"

#include "cli/message.h"
#include "launch/executable.h"
#include "launch/target.h"

#include <stdlib.h>
#include <time.h>

/* Whether a launcher of MPI has started several of lull. What a batch system says of a job does not
 * count: it holds also for the job's script, which starts only one of lull. */
static bool was_started_as_team(const struct lull_job *job)
{
    return job->parallel && job->size > 1 && job->family != LULL_MPI_NONE;
}

static struct lull_job job;

void lull_cli_look_at_launcher(const struct lull_command *command, struct lull_cli_call *call)
{
    static const struct lull_executable self = {.name = "lull"};
    lull_job_describe(&self, call->arena, &job);
    if (command->under_mpirun == LULL_EACH_BY_ITSELF || !was_started_as_team(&job))
        return;
    lull_output_pass_on();
    if (job.rank != 0)
        lull_cli_mute();
}

int lull_cli_join(const struct lull_command *command, struct lull_cli_call *call)
{
    const bool team = was_started_as_team(&job);
    if (command->under_mpirun == LULL_EACH_BY_ITSELF)
        return LULL_EXIT_OK;
    if (command->under_mpirun == LULL_REFUSES)
        return team
                   ? lull_cli_fail("does not work under mpirun, as it starts programs and measures "
                                   "them: start it alone")
                   : LULL_EXIT_OK;
    const struct lull_team_start start = {.rank = team ? job.rank : 0,
                                          .size = team ? job.size : 1,
                                          .family = lull_mpi_family_name(job.family),
                                          .folders = lull_own_folders(call->arena),
                                          .version = LULL_VERSION};
    const lull_status status = lull_team_open(&start, &call->team, &call->err);
    if (!lull_team_is_first(call->team))
        lull_cli_mute();
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", call->err.text);
}

bool lull_cli_leaves_work_to_one(const struct lull_cli_call *call)
{
    const uint32_t members = lull_team_size(call->team);
    if (members > 1)
        lull_cli_warn("is the work of one process: the other %u of lull have nothing to do",
                      members - 1);
    return !lull_team_is_first(call->team);
}

void lull_cli_tell_unshared(const struct lull_cli_call *call, const char *what)
{
    const uint32_t members = lull_team_size(call->team);
    if (members > 1)
        lull_cli_warn("%s is not shared yet: the first process does it, the other %u of lull have "
                      "nothing to do",
                      what, members - 1);
}

/* A process that failed before there was a team, as all processes then do, leaves the message to
 * the first one. It waits for it a while, because a launcher ends all processes as soon as one has
 * failed, perhaps before the first one has spoken. */
static void let_first_speak(const struct lull_cli_call *call, int status)
{
    if (status != LULL_EXIT_OK && !call->team && lull_cli_is_muted())
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
}

int lull_cli_part(struct lull_cli_call *call, int status)
{
    let_first_speak(call, status);
    const bool good = lull_team_end(call->team);
    call->team = NULL;
    return good || status != LULL_EXIT_OK ? status
                                          : lull_cli_fail("another process of lull has failed");
}
