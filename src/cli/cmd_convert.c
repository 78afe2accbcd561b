/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull convert`: writes a run in another trace format. */
#include "base/file.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "study/call_paths.h"
#include "trace/convert.h"

static struct {
    char *to;
    int force;
} convert_settings;

static const struct poptOption convert_options[] = {
    {"to", 't', POPT_ARG_STRING, &convert_settings.to, 0, "format to write (required)",
     "tape|otf2|paraver|chrome|folded|speedscope"},
    {"force", '\0', POPT_ARG_NONE, &convert_settings.force, 0, "replace OUT if it is there", NULL},
    POPT_TABLEEND,
};

/* Replacing a directory removes all that is in it: only where that is a trace. */
static int check_target(const char *path)
{
    if (!lull_is_directory(path) || !convert_settings.force)
        return LULL_EXIT_OK;
    const struct lull_format *format;
    if (lull_trace_recognise(path, &format, NULL) != LULL_OK)
        return lull_cli_fail("%s: is a directory but no trace, so it is not replaced", path);
    return LULL_EXIT_OK;
}

/* What is to be written: a trace in a format, or call paths in a form. The other one is NULL. */
struct conversion {
    const struct lull_format *format;
    const struct lull_paths_form *paths;
};

static int convert(const char *from, const char *to, const struct conversion *as,
                   struct lull_cli_call *call)
{
    struct lull_trace *trace;
    int status = check_target(to);
    if (status != LULL_EXIT_OK)
        return status;
    lull_interrupt_clean_up();
    lull_limits_raise_files();
    if (lull_trace_open(from, &trace, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    lull_progress_begin(&call->line, to);
    lull_status done = as->paths ? lull_paths_write(trace, as->paths, to, convert_settings.force,
                                                    lull_progress_update, &call->line, &call->err)
                                 : lull_convert(trace, to, as->format, convert_settings.force,
                                                lull_progress_update, &call->line, &call->err);
    lull_progress_end(&call->line);
    if (done == LULL_OK) {
        lull_notices_add_quirks(&call->notices, trace, from);
        if (as->format)
            lull_notices_add_cut_copy(&call->notices, trace, from, as->format);
    }
    lull_trace_close(trace);
    return lull_cli_done(call, done);
}

static int run_convert(struct lull_cli_call *call)
{
    const char *const *names = call->operands;
    if (call->n_operands < 2)
        return lull_cli_usage("expected the names of two traces, IN and OUT");
    if (call->n_operands > 2)
        return lull_cli_usage("expected two operands, IN and OUT, got also '%s'", names[2]);
    const struct conversion as = {
        .format = convert_settings.to ? lull_format_find(convert_settings.to) : NULL,
        .paths = convert_settings.to ? lull_paths_form_find(convert_settings.to) : NULL};
    if (!convert_settings.to)
        return lull_cli_usage("expected --to with one of %s, %s",
                              lull_formats_writable(call->arena), lull_paths_forms(call->arena));
    if (!as.paths && (!as.format || !as.format->writer_open))
        return lull_cli_usage("cannot write '%s', expected one of %s, %s", convert_settings.to,
                              lull_formats_writable(call->arena), lull_paths_forms(call->arena));
    return convert(names[0], names[1], &as, call);
}

const struct lull_command lull_cmd_convert = {
    .name = "convert",
    .summary = "write a run in another trace format",
    .operands = "IN OUT",
    .details =
        "OUT appears when it is complete, or not at all.\n\n"
        "examples:\n"
        "  lull convert run.prv.gz run --to otf2        an archive run/ for Score-P's tools\n"
        "  lull convert scorep/traces.otf2 run.json --to chrome    for ui.perfetto.dev\n"
        "  lull convert run.lull run.json --to speedscope    call paths of samples, for "
        "speedscope.app\n",
    .options = convert_options,
    .run = run_convert,
};
