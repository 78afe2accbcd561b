#include "base/text.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/progress.h"
#include "model/fit/read.h"
#include "study/compare.h"
#include "study/model/fit_study.h"
#include "view/fit/fit_chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the user typed. */
static struct {
    char *x, *y, *laws, *kind, *errors, *at, *confidence, *sizes, *by, *chart;
    int extrapolate, list, threads, force;
} settings;
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"x", 'x', POPT_ARG_STRING, &settings.x, 0,
     "over what: of runs processes, threads or size (what differs), of tables the names of columns "
     "or parameters (all); at most three, with commas",
     "NAME,..."},
    {"y", 'y', POPT_ARG_STRING, &settings.y, 0,
     "what is fitted: of runs the runtime, the time in a region or a metric; of a CSV a column "
     "(the "
     "last); of other tables a region or a metric",
     "runtime|region:NAME|metric:NAME|COLUMN"},
    {"law", 'l', POPT_ARG_STRING, &settings.laws, 0,
     "laws to choose from, with commas (all; see --list)", "LAW,...|all"},
    {"kind", '\0', POPT_ARG_STRING, &settings.kind, 0, "what y is (by its name; otherwise a time)",
     "time|throughput|efficiency|quantity"},
    {"errors", '\0', POPT_ARG_STRING, &settings.errors, 0,
     "errors of measurements: in proportion to them, or all alike (relative; absolute for a "
     "throughput)",
     "relative|absolute"},
    {"at", '\0', POPT_ARG_STRING, &settings.at, 0,
     "predict at these x; with several parameters as 64:1000,128:1000 (doublings of the range)",
     "X,..."},
    {"extrapolate", '\0', POPT_ARG_NONE, &settings.extrapolate, 0,
     "predict also where the data do not bear it", NULL},
    {"confidence", '\0', POPT_ARG_STRING, &settings.confidence, 0, "of intervals, in percent (95)",
     "PERCENT"},
    {"sizes", '\0', POPT_ARG_STRING, &settings.sizes, 0,
     "size of the problem of each RUN, in their order", "N,..."},
    {"by", 'b', POPT_ARG_STRING, &settings.by, 0,
     "fit each region of the runs, too: which one stops scaling first", "region"},
    {"chart", '\0', POPT_ARG_STRING, &settings.chart, 0,
     "draw measurements, law and interval as SVG", "FILE"},
    {"list", '\0', POPT_ARG_NONE, &settings.list, 0, "list the laws", NULL},
    LULL_THREADS_OPTION(settings.threads),
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0,
     "go on where the tracer disturbed a run too much, or where runs seem not to be of one program",
     NULL},
    LULL_OUTPUT_OPTIONS(output),
    POPT_TABLEEND,
};

/* ---- what was typed ------------------------------------------------------------------------- */

struct wishes {
    struct lull_fit_wish runs;
    struct lull_fit_options fit;
    struct lull_fit_show show;
    bool has_kind;
    enum lull_fit_kind kind;
};

/* The pieces between commas, NULL at the end; NULL for NULL. */
static const char **split(const char *text, struct lull_arena *arena, size_t *ret_count)
{
    const char **pieces = NULL;
    size_t capacity = 0;
    *ret_count = 0;
    while (text) {
        size_t length = strcspn(text, ",");
        pieces = lull_arena_grow(arena, pieces, &capacity, *ret_count + 2, sizeof *pieces);
        pieces[(*ret_count)++] = lull_arena_strndup(arena, text, length);
        pieces[*ret_count] = NULL;
        text = text[length] ? text + length + 1 : NULL;
    }
    return pieces;
}

/* A number above 0 that ends where `end` says. */
static bool read_number(const char *text, const char *end, double *ret_value)
{
    char *stop;
    *ret_value = strtod(text, &stop);
    return stop == end && stop != text && *ret_value > 0 && isfinite(*ret_value);
}

static int read_laws(struct wishes *wishes, struct lull_arena *arena)
{
    size_t count, found = 0;
    const char **names = split(settings.laws, arena, &count);
    if (!names || (count == 1 && strcmp(names[0], "all") == 0))
        return LULL_EXIT_OK;
    for (size_t i = 0; i < count; i++)
        if (!lull_fit_law_find(names[i]))
            return lull_cli_usage("--law: there is no '%s'; --list names the laws", names[i]);
    const struct lull_fit_law **laws = lull_arena_zero(arena, count + 1, sizeof *laws);
    for (size_t l = 0; lull_fit_laws[l]; l++) /* in their order, once */
        for (size_t i = 0; i < count; i++)
            if (lull_fit_law_find(names[i]) == lull_fit_laws[l]) {
                laws[found++] = lull_fit_laws[l];
                break;
            }
    wishes->fit.laws = laws;
    return LULL_EXIT_OK;
}

static int read_words(struct wishes *wishes)
{
    static const char *const kinds[] = {"time", "throughput", "efficiency", "quantity", NULL};
    static const char *const errors[] = {"relative", "absolute", NULL};
    static const char *const parts[] = {"region", NULL};
    unsigned kind, error, part;
    int status = lull_option_word("kind", settings.kind, kinds, &kind);
    if (status == LULL_EXIT_OK)
        status = lull_option_word("errors", settings.errors, errors, &error);
    if (status == LULL_EXIT_OK)
        status = lull_option_word("by", settings.by, parts, &part);
    if (status != LULL_EXIT_OK)
        return status;
    wishes->has_kind = kind > 0;
    wishes->kind = (enum lull_fit_kind)(kind ? kind - 1 : 0);
    wishes->fit.errors = (enum lull_fit_errors)error;
    wishes->runs.by_region = part > 0;
    return LULL_EXIT_OK;
}

static int read_confidence(struct wishes *wishes)
{
    double percent;
    if (!settings.confidence)
        return LULL_EXIT_OK;
    if (!read_number(settings.confidence, settings.confidence + strlen(settings.confidence),
                     &percent) ||
        percent < 50 || percent > 99.99)
        return lull_cli_usage("--confidence is '%s', expected 50 to 99.99 percent",
                              settings.confidence);
    wishes->fit.confidence = percent / 100;
    return LULL_EXIT_OK;
}

static int read_sizes(struct wishes *wishes, struct lull_arena *arena)
{
    const char **pieces = split(settings.sizes, arena, &wishes->runs.n_sizes);
    double *sizes = lull_arena_zero(arena, wishes->runs.n_sizes + 1, sizeof *sizes);
    for (size_t i = 0; i < wishes->runs.n_sizes; i++)
        if (!read_number(pieces[i], pieces[i] + strlen(pieces[i]), &sizes[i]))
            return lull_cli_usage("--sizes: '%s', expected a number above 0", pieces[i]);
    wishes->runs.sizes = pieces ? sizes : NULL;
    return LULL_EXIT_OK;
}

/* Coordinates with colons between the parameters, once their number is known. */
static int read_places(struct wishes *wishes, size_t n_params, struct lull_arena *arena)
{
    size_t count;
    const char **pieces = split(settings.at, arena, &count);
    double(*at)[LULL_FIT_PARAMETERS] = lull_arena_zero(arena, count + 1, sizeof *at);
    for (size_t i = 0; i < count; i++) {
        const char *text = pieces[i];
        for (size_t p = 0; p < n_params; p++) {
            const char *end = text + strcspn(text, ":");
            bool last = p + 1 == n_params;
            if (!read_number(text, end, &at[i][p]) || (*end == '\0') != last)
                return lull_cli_usage("--at: '%s', expected %zu number%s above 0%s", pieces[i],
                                      n_params, n_params == 1 ? "" : "s",
                                      n_params == 1 ? "" : " with colons between them");
            text = end + !last;
        }
    }
    wishes->show.at = (const double(*)[LULL_FIT_PARAMETERS])at;
    wishes->show.n_at = count;
    return LULL_EXIT_OK;
}

static int read_settings(struct wishes *wishes, struct lull_arena *arena)
{
    wishes->runs.x = split(settings.x, arena, &wishes->runs.n_x);
    wishes->runs.y = lull_fit_y_read(settings.y);
    wishes->show.extrapolate = settings.extrapolate;
    int status = read_laws(wishes, arena);
    if (status == LULL_EXIT_OK)
        status = read_words(wishes);
    if (status == LULL_EXIT_OK)
        status = read_confidence(wishes);
    if (status == LULL_EXIT_OK)
        status = read_sizes(wishes, arena);
    if (status == LULL_EXIT_OK)
        status = lull_option_threads(settings.threads);
    return status == LULL_EXIT_OK ? lull_output_check(&output) : status;
}

/* ---- the measurements ----------------------------------------------------------------------- */

static lull_status read_runs(const char *const *paths, uint32_t count, const struct wishes *wishes,
                             struct lull_notices *notices, struct lull_fit_table **ret_table,
                             struct lull_error *err)
{
    struct lull_progress progress;
    const struct lull_study_progress shown = lull_progress_of_study(&progress);
    const struct lull_runs_options wanted = {.regions = wishes->runs.by_region ||
                                                        wishes->runs.y.subject == LULL_FIT_REGION,
                                             .force = settings.force,
                                             .no_replay = wishes->runs.y.subject != LULL_FIT_METRIC,
                                             .workers = (unsigned)settings.threads,
                                             .progress = &shown};
    struct lull_arena *arena = notices->arena;
    struct lull_runs runs;
    lull_status status = lull_runs_load(paths, count, &wanted, notices, arena, &runs, err);
    if (status == LULL_OK)
        status = lull_study_check(&runs, settings.force, notices, arena, err);
    if (status == LULL_OK)
        status = lull_study_compute(&runs, arena, err);
    if (status == LULL_OK)
        status = lull_fit_table_of_runs(&runs, &wishes->runs, arena, ret_table, err);
    lull_runs_close(&runs);
    return status;
}

/* A file that is a table stands alone; anything else is a run. */
static lull_status read_measurements(const char *const *paths, uint32_t count,
                                     const struct wishes *wishes, struct lull_notices *notices,
                                     struct lull_fit_table **ret_table, size_t *ret_front,
                                     struct lull_error *err)
{
    const struct lull_fit_format *format = NULL;
    uint32_t number = 0;
    while (number < count && !(format = lull_fit_recognise(paths[number])))
        number++;
    *ret_front = 0;
    if (!format && wishes->has_kind)
        return lull_fail(err, LULL_ERR_RANGE, "--kind is for tables; of runs it is known");
    if (!format)
        return read_runs(paths, count, wishes, notices, ret_table, err);
    if (count > 1)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: is a table of measurements (%s), expected it alone", paths[number],
                         format->name);
    const enum lull_fit_subject subject = wishes->runs.y.subject;
    bool names_series = subject == LULL_FIT_REGION || subject == LULL_FIT_METRIC;
    const struct lull_fit_read_options wanted = {.params = wishes->runs.x,
                                                 .n_params = wishes->runs.n_x,
                                                 .y = names_series ? NULL : settings.y};
    lull_status status = lull_fit_read(paths[0], format, &wanted, notices->arena, ret_table, err);
    if (status == LULL_OK)
        status = lull_fit_find_series(*ret_table, wishes->runs.y, notices->arena, ret_front, err);
    for (size_t s = 0; status == LULL_OK && wishes->has_kind && s < (*ret_table)->n_series; s++)
        (*ret_table)->series[s].kind = wishes->kind;
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static void write_chart(const void *content, FILE *out)
{
    lull_chart_write(content, out);
}

static int draw(const struct lull_fit_study *study, const struct wishes *wishes,
                struct lull_arena *arena)
{
    const struct lull_chart *chart = lull_fit_chart(study, &wishes->show, arena);
    if (!chart)
        return lull_cli_fail("--chart: is for one parameter, there are %zu",
                             study->table->n_params);
    return lull_output_save(settings.chart, write_chart, chart);
}

static int report(const char *const *paths, uint32_t count, struct lull_arena *arena)
{
    struct wishes wishes = {0};
    struct lull_notices notices = {.arena = arena};
    struct lull_fit_table *table;
    struct lull_fit_study study;
    struct lull_error err;
    size_t front;
    int status = read_settings(&wishes, arena);
    if (status != LULL_EXIT_OK)
        return status;
    if (read_measurements(paths, count, &wishes, &notices, &table, &front, &err) != LULL_OK) {
        lull_cli_warn_all(&notices);
        return lull_cli_fail("%s", err.text);
    }
    status = read_places(&wishes, table->n_params, arena);
    if (status != LULL_EXIT_OK)
        return status;
    if (lull_fit_study_make(table, front, &wishes.fit, arena, &study, &err) != LULL_OK) {
        lull_cli_warn_all(&notices);
        return count == 1 ? lull_cli_fail("%s: %s", paths[0], err.text)
                          : lull_cli_fail("%s", err.text);
    }
    const struct lull_document *document = lull_fit_document(&study, &wishes.show, &notices, arena);
    lull_cli_warn_all(&notices);
    if (settings.chart)
        status = draw(&study, &wishes, arena);
    return status == LULL_EXIT_OK ? lull_output_write(&output, document) : status;
}

static int run(poptContext context)
{
    lull_limits_raise_files();
    const char **paths = poptGetArgs(context);
    uint32_t count = 0;
    while (paths && paths[count])
        count++;
    if (!count && !settings.list)
        return lull_cli_usage("expected RUNs or a table of measurements");
    struct lull_arena *arena = lull_cli_arena();
    int status = settings.list ? lull_output_check(&output) : report(paths, count, arena);
    if (settings.list && status == LULL_EXIT_OK)
        status = lull_output_write(&output, lull_fit_list(arena));
    lull_arena_destroy(arena);
    return status;
}

const struct lull_command lull_cmd_fit = {
    .name = "fit",
    .summary = "laws of scaling, fitted to runs or tables of measurements",
    .operands = "RUN...|TABLE",
    .details =
        "A TABLE is a CSV file with a line of names, or an Extra-P file (text or JSON Lines).\n\n"
        "examples:\n"
        "  lull fit run1.prv.gz run4.prv.gz run8.prv.gz --by region\n"
        "  lull fit times.csv --x processes --y runtime --at 256,512 --chart fit.svg\n"
        "  lull fit throughput.csv --law usl\n"
        "  lull fit experiment.txt --y region:solve --law pmnf --at 4096:1000\n",
    .options = options,
    .run = run,
};
