#include "cli/options/history_options.h"

#include <time.h>

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

lull_status lull_history_settings_read(const struct lull_history_settings *settings,
                                       struct lull_cli_call *call, struct lull_runs_options *runs,
                                       struct lull_history_about *about)
{
    *runs = (struct lull_runs_options){.application = (uint32_t)settings->application - 1,
                                       .force = settings->force,
                                       .whole = settings->whole,
                                       .no_replay = settings->no_replay,
                                       .regions = true,
                                       .workers = (unsigned)settings->threads,
                                       .progress = &call->progress};
    *about = (struct lull_history_about){
        .key = {.program = or_empty(settings->program),
                .input = or_empty(settings->input),
                .machine = settings->machine},
        .commit = settings->commit ? settings->commit : lull_history_commit_of_job(),
        .has_time = settings->time != NULL,
        .now = (int64_t)time(NULL),
    };
    if (!settings->time)
        return LULL_OK;
    lull_status status = lull_history_time_read(settings->time, &about->time, &call->err);
    return status == LULL_OK ? status : lull_fail_prefix(&call->err, status, "--time");
}
