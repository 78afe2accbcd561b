/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull convert`: writes a run in another trace format. */
#include "base/file.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/message.h"
#include "study/formats.h"
#include "trace/convert.h"

static struct {
    char *to;
    int force;
} convert_settings;

static const struct poptOption convert_options[] = {
    {"to", 't', POPT_ARG_STRING, &convert_settings.to, 0, "format to write (required)",
     "tape|otf2|paraver|chrome|arrow|folded|speedscope"},
    {"force", '\0', POPT_ARG_NONE, &convert_settings.force, 0, "replace OUT if it is there", NULL},
    POPT_TABLEEND,
};

/* Replacing a directory removes all that is in it: only where that is a trace. Formats that are no
 * traces look themselves. */
static int check_target(const char *path, const struct lull_format *to)
{
    if (!lull_is_directory(path) || !convert_settings.force || !to->writer_open)
        return LULL_EXIT_OK;
    const struct lull_format *format;
    if (lull_trace_recognise(path, &format, NULL) != LULL_OK)
        return lull_cli_fail("%s: is a directory but no trace, so it is not replaced", path);
    return LULL_EXIT_OK;
}

static int convert(const char *from, const char *to, const struct lull_format *format,
                   struct lull_cli_call *call)
{
    struct lull_trace *trace;
    int status = check_target(to, format);
    if (status != LULL_EXIT_OK)
        return status;
    lull_interrupt_clean_up();
    lull_limits_raise_files();
    if (lull_trace_open(from, &trace, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    if (format->write) /* for people; programs that read traces know names as linkers do */
        lull_trace_demangle(trace);
    lull_progress_begin(&call->line, to);
    lull_status done = lull_convert(trace, to, format, convert_settings.force, lull_progress_update,
                                    &call->line, &call->err);
    lull_progress_end(&call->line);
    if (done == LULL_OK) {
        lull_notices_add_quirks(&call->notices, trace, from);
        lull_notices_add_cut_copy(&call->notices, trace, from, format);
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
    const struct lull_format *format =
        convert_settings.to ? lull_written_format(convert_settings.to) : NULL;
    if (!convert_settings.to)
        return lull_cli_usage("expected --to with one of %s", lull_written_formats(call->arena));
    if (!format)
        return lull_cli_usage("cannot write '%s', expected one of %s", convert_settings.to,
                              lull_written_formats(call->arena));
    return convert(names[0], names[1], format, call);
}

const struct lull_command lull_cmd_convert = {
    .name = "convert",
    .summary = "write a run in another format: of traces, or as tables",
    .operands = "IN OUT",
    .details =
        "OUT appears when it is complete, or not at all.\n\n"
        "examples:\n"
        "  lull convert run.prv.gz run --to otf2        an archive run/ for Score-P's tools\n"
        "  lull convert scorep/traces.otf2 run.json --to chrome    for ui.perfetto.dev\n"
        "  lull convert app.lull tables --to arrow      tables/steps.arrow ... for pandas\n"
        "  lull convert run.lull run.json --to speedscope    call paths of samples, for "
        "speedscope.app\n",
    .options = convert_options,
    .run = run_convert,
};
