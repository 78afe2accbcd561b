/* SPDX-License-Identifier: BSD-3-Clause */
/* `lull top`: a run is looked at while it is recorded. */
#include "base/output_file.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "study/look.h"
#include "view/top_document.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What the user typed. */
static struct {
    char *every, *count, *format, *openmetrics;
} top_settings;

static const struct poptOption top_options[] = {
    {"every", 'e', POPT_ARG_STRING, &top_settings.every, 0, "time between two looks (2)",
     "SECONDS"},
    {"count", 'n', POPT_ARG_STRING, &top_settings.count, 0,
     "end after so many looks; as a rule lull top ends when the run has ended", "N"},
    {"format", 'f', POPT_ARG_STRING, &top_settings.format, 0,
     "how to print a look; json: as one line", "text|json"},
    {"openmetrics", '\0', POPT_ARG_STRING, &top_settings.openmetrics, 0,
     "write each look to FILE, too, for Prometheus' node exporter", "FILE"},
    POPT_TABLEEND,
};

struct top_wish {
    double every;   /* s */
    uint64_t count; /* 0: until the run has ended */
    bool json;
};

static lull_status read_top_settings(struct top_wish *wish, struct lull_error *err)
{
    static const char *const formats[] = {"text", "json", NULL};
    unsigned format;
    *wish = (struct top_wish){.every = 2};
    lull_status status = lull_option_real("every", top_settings.every, 0, &wish->every, err);
    if (status == LULL_OK)
        status = lull_option_number("count", top_settings.count, 1, UINT32_MAX, &wish->count, err);
    if (status == LULL_OK)
        status = lull_option_word("format", top_settings.format, formats, &format, err);
    wish->json = status == LULL_OK && format == 2;
    return status;
}

/* The lines of a JSON document as one line: what stands between its values holds no text. */
static void print_as_line(const char *json)
{
    for (const char *at = json; *at; at++) {
        if (*at != '\n') {
            putchar(*at);
            continue;
        }
        while (at[1] == ' ' || at[1] == '\n')
            at++;
    }
    putchar('\n');
}

static int print_line(const struct lull_document *document)
{
    char *json = NULL;
    size_t size;
    FILE *out = open_memstream(&json, &size);
    if (!out)
        return lull_cli_fail("out of memory");
    lull_renderer_find("json")->render(document, &(struct lull_render_options){0}, out);
    if (fclose(out) != 0) {
        free(json);
        return lull_cli_fail("out of memory");
    }
    print_as_line(json);
    free(json);
    return LULL_EXIT_OK;
}

/* On a terminal each look takes the place of the one before it. */
static int print_text(const struct lull_document *document, bool first)
{
    static const struct lull_output_settings as_text;
    if (isatty(STDOUT_FILENO))
        fputs("\033[H\033[2J", stdout);
    else if (!first)
        puts("\n----");
    return lull_output_write(&as_text, document);
}

static void wait_between(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)(1e9 * (seconds - floor(seconds)));
    while (nanosleep(&left, &left) != 0)
        continue;
}

/* One look. *since is when the one before it ended, and becomes when this one does; negative: it is
 * the first. What it takes is given back before the next one. */
static int look_once(struct lull_cli_call *call, const struct top_wish *wish, int64_t *since,
                     bool *ret_over, double *ret_seconds)
{
    const struct lull_runs_options options = {
        .regions = true, .force = true, .workers = 1, .most_with_replay = 4096};
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_notices notices = {.arena = arena};
    struct lull_look look;
    int status = LULL_EXIT_OK;
    if (lull_look_take(call->operands[0], &options, *since, &notices, arena, &look, &call->err) !=
        LULL_OK) {
        status = lull_cli_fail("%s", call->err.text);
    } else {
        const struct lull_document *document = lull_top_document(&look, arena);
        const struct lull_top_metrics metrics = {&look, call->operands[0], arena};
        status = wish->json ? print_line(document) : print_text(document, *since < 0);
        if (status == LULL_EXIT_OK && top_settings.openmetrics &&
            lull_file_write(top_settings.openmetrics, lull_top_write_metrics, &metrics,
                            &call->err) != LULL_OK)
            status = lull_cli_fail("%s", call->err.text);
        *since = look.until;
        *ret_over = look.is_over;
        *ret_seconds = look.seconds;
    }
    fflush(stdout);
    lull_look_close(&look);
    lull_arena_destroy(arena);
    return status;
}

static int run_top(struct lull_cli_call *call)
{
    enum { REST = 4 }; /* lull top rests at least so many times as long as a look takes */
    struct top_wish wish;
    const char *path;
    int64_t since = -1;
    lull_limits_raise_files();
    int status = lull_cli_operand(call, "RUN", &path);
    if (status == LULL_EXIT_OK)
        status = lull_cli_read(call, read_top_settings(&wish, &call->err));
    if (status != LULL_EXIT_OK)
        return status;
    if (!path)
        return lull_cli_usage("expected the RUN that is recorded");
    if (top_settings.openmetrics &&
        lull_file_probe(top_settings.openmetrics, &call->err) != LULL_OK)
        return lull_cli_fail("%s", call->err.text);
    for (uint64_t n = 1;; n++) {
        bool over = true;
        double seconds = 0;
        status = look_once(call, &wish, &since, &over, &seconds);
        if (status != LULL_EXIT_OK || over || ferror(stdout) || n == wish.count)
            return status;
        wait_between(fmax(wish.every, REST * seconds));
    }
}

const struct lull_command lull_cmd_top = {
    .name = "top",
    .summary = "look at a run while it is recorded",
    .operands = "RUN",
    .details =
        "RUN is the folder that lull record writes, on any machine that sees it. Each look prints\n"
        "the metrics so far and those since the last look, the processes that computed most,\n"
        "the regions with most time, and in which calls threads are now. A run that has ended is\n"
        "shown once.\n\n"
        "examples:\n"
        "  lull top run.lull\n"
        "  lull top run.lull --every 10 --format json > looks.jsonl\n"
        "  lull top run.lull --openmetrics lull.prom > /dev/null\n",
    .options = top_options,
    .under_mpirun = LULL_WORK_OF_ONE,
    .run = run_top,
};
