#include "cli/options/runs_options.h"

#include "base/text/option.h"
#include "study/replay/replayed_run.h"

lull_status lull_runs_settings_read(const struct lull_runs_settings *settings,
                                    struct lull_cli_call *call, struct lull_runs_options *runs,
                                    struct lull_comparison_wish *comparison)
{
    static const char *const scalings[] = {"strong", "weak", "auto", NULL};
    unsigned scaling;
    lull_status status =
        lull_option_word("scaling", settings->scaling, scalings, &scaling, &call->err);
    if (status == LULL_OK && settings->window)
        status = lull_runs_window_read(settings->window, call->arena, runs, &call->err);
    if (status != LULL_OK)
        return status;
    runs->application = (uint32_t)settings->application - 1;
    runs->region = settings->region;
    runs->force = settings->force;
    runs->whole = settings->whole;
    runs->no_replay = settings->no_replay;
    runs->check = settings->no_replay ? 0 : LULL_REPLAY_CHECK_MOST;
    runs->raw_names = settings->raw_names;
    runs->workers = (unsigned)settings->threads;
    runs->progress = &call->progress;
    *comparison = (struct lull_comparison_wish){settings->reference, settings->force,
                                                (enum lull_scaling_wish)scaling};
    return LULL_OK;
}
