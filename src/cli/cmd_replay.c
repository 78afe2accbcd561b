#include "base/file.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/limits.h"
#include "cli/message.h"
#include "cli/metrics_tables.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/replay_runs.h"
#include "cli/study.h"
#include "cli/warnings.h"
#include "replay/measured_network.h"
#include "sim/network/machine.h"
#include "sim/spec.h"
#include "trace/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char not_said[] = "";

/* What the user typed. */
static struct {
    char *network, *machine, *cpu_speed, *balance, *scheme, *run;
    char **regions;
    int no_noise, application, force;
} settings = {.application = 1, .balance = not_said};
static struct lull_output_settings output;

static const struct poptOption options[] = {
    {"network", 'n', POPT_ARG_STRING, &settings.network, 0,
     "what if the network were another: NAME:KEY=VALUE,..., or a JSON file; a value may be a "
     "sweep, "
     "FROM:TO:N",
     "SPEC"},
    {"machine", 'm', POPT_ARG_STRING, &settings.machine, 0,
     "what if the network were that of a machine file (lull bench)", "FILE"},
    {"cpu-speed", '\0', POPT_ARG_STRING, &settings.cpu_speed, 0,
     "what if the processors were X times as fast", "X"},
    {"region", '\0', POPT_ARG_ARGV, &settings.regions, 0,
     "what if the time in a region were multiplied by FACTOR; may be repeated", "NAME=FACTOR"},
    {"balance", '\0', POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &settings.balance, 0,
     "what if all processes computed alike between collective operations (in a region only: "
     "--balance=NAME)",
     "NAME"},
    {"no-noise", '\0', POPT_ARG_NONE, &settings.no_noise, 0,
     "what if no computation took longer than the median of those at its place", NULL},
    {"output", 'o', POPT_ARG_STRING, &settings.run, 0,
     "write the simulated run, as a tape that other commands read", "RUN"},
    {"scheme", 's', POPT_ARG_STRING, &settings.scheme, 0,
     "how efficiencies are split (multiplicative for runs with one thread per process, otherwise "
     "additive)",
     "additive|multiplicative"},
    {"application", '\0', POPT_ARG_INT, &settings.application, 0,
     "which program of a trace that holds several (1)", "N"},
    {"force", '\0', POPT_ARG_NONE, &settings.force, 0,
     "replace RUN if it is there, and go on where the tracer disturbed the run too much", NULL},
    {"format", 'f', POPT_ARG_STRING, &output.format, 0, "how to print the result", "text|json|csv"},
    {"color", '\0', POPT_ARG_STRING, &output.colour, 0,
     "colours in text; auto: on a terminal, unless NO_COLOR is set", "auto|always|never"},
    {"digits", '\0', POPT_ARG_INT, &output.digits, 0, "decimals of efficiencies in text (2)", "N"},
    POPT_TABLEEND,
};

/* All that the steps share. */
struct session {
    struct lull_arena *arena;
    struct lull_document *document;
    struct lull_runs runs; /* measured, replayed, what if */
    struct lull_runs_options wanted;
    struct lull_network measured, other;
    const struct lull_sweep *sweep;     /* of the network; NULL: it stays as measured */
    const struct lull_machine *machine; /* whose network it is; NULL: none */
    double cpu_speed;
    struct lull_what_if_options what_if;
    bool computes_otherwise, any; /* something in what_if; anything at all */
    struct lull_replayed replayed, supposed;
    const bool *callers; /* threads that communicate beside the masters */
};

/* ---- options ------------------------------------------------------------------------------- */

static bool read_factor(const char *text, double *ret_factor)
{
    char *end;
    *ret_factor = strtod(text, &end);
    return end != text && *end == '\0' && *ret_factor > 0 && *ret_factor <= 1e6;
}

static int read_regions(struct session *session)
{
    struct lull_what_if_options *what_if = &session->what_if;
    for (char **region = settings.regions; region && *region; region++) {
        const char *sign = strrchr(*region, '=');
        double factor;
        if (!sign || sign == *region || !read_factor(sign + 1, &factor))
            return lull_cli_usage("--region is '%s', expected NAME=FACTOR with a factor above 0",
                                  *region);
        if (what_if->n_regions == LULL_WHAT_IF_REGIONS)
            return lull_cli_usage("--region is given more than %d times", LULL_WHAT_IF_REGIONS);
        what_if->regions[what_if->n_regions] =
            lull_arena_strndup(session->arena, *region, (size_t)(sign - *region));
        what_if->factors[what_if->n_regions++] = factor;
    }
    return LULL_EXIT_OK;
}

static int read_settings(struct session *session)
{
    session->cpu_speed = 1;
    if (settings.application < 1)
        return lull_cli_usage("--application is %d, expected 1 or more", settings.application);
    if (settings.scheme && strcmp(settings.scheme, "additive") != 0 &&
        strcmp(settings.scheme, "multiplicative") != 0)
        return lull_cli_usage("--scheme is '%s', expected additive or multiplicative",
                              settings.scheme);
    if (settings.cpu_speed && !read_factor(settings.cpu_speed, &session->cpu_speed))
        return lull_cli_usage("--cpu-speed is '%s', expected a number above 0", settings.cpu_speed);
    int status = read_regions(session);
    if (status != LULL_EXIT_OK)
        return status;
    struct lull_what_if_options *what_if = &session->what_if;
    what_if->application = (uint32_t)settings.application - 1;
    what_if->no_noise = settings.no_noise;
    what_if->balance = settings.balance != not_said;
    what_if->balanced = what_if->balance ? settings.balance : NULL;
    session->computes_otherwise = what_if->no_noise || what_if->balance || what_if->n_regions;
    session->any =
        session->computes_otherwise || settings.network || settings.machine || settings.cpu_speed;
    return lull_output_check(&output);
}

static int read_machine(struct session *session)
{
    struct lull_error err;
    struct lull_machine *machine;
    const char *note;
    if (settings.network)
        return lull_cli_usage("--network and --machine exclude each other");
    if (lull_machine_read(settings.machine, session->arena, &machine, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    if (lull_network_from_machine(machine, NULL, 1, session->arena, &session->other, &note, &err) !=
        LULL_OK)
        return lull_cli_fail("%s: %s", settings.machine, err.text);
    session->machine = machine;
    return LULL_EXIT_OK;
}

/* The machine's network between the nodes of the trace. */
static lull_status take_machine(struct session *session, struct lull_error *err)
{
    struct lull_placement placement;
    const char *note;
    lull_replay_placement(session->runs.runs[0].trace, session->wanted.application, session->arena,
                          &placement);
    lull_status status = lull_network_from_machine(session->machine, NULL, placement.n_ranks,
                                                   session->arena, &session->other, &note, err);
    if (status != LULL_OK)
        return status;
    session->other.placement = placement;
    if (note)
        lull_document_note(session->document, LULL_NOTE_INFO, "%s.", note);
    return LULL_OK;
}

static int read_network(struct session *session)
{
    struct lull_error err;
    struct lull_spec *spec;
    const struct lull_spec **specs = lull_arena_zero(session->arena, 1, sizeof *specs);
    if (settings.machine)
        return read_machine(session);
    if (!settings.network)
        return LULL_EXIT_OK;
    if (lull_spec_parse(settings.network, session->arena, &spec, &err) != LULL_OK)
        return lull_cli_usage("--network: %s", err.text);
    specs[0] = spec;
    if (lull_sweep_make(specs, 1, session->arena, &session->sweep, &err) != LULL_OK)
        return lull_cli_usage("--network: %s", err.text);
    for (uint64_t point = 0; point < session->sweep->n_points; point++)
        if (lull_replay_read_network(lull_sweep_spec(session->sweep, point, 0, session->arena),
                                     NULL, 0, session->arena, &session->other, &err) != LULL_OK)
            return lull_cli_usage("--network: %s", err.text);
    return LULL_EXIT_OK;
}

/* ---- the measured run ---------------------------------------------------------------------- */

static int load_measured(struct session *session, const char *path)
{
    struct lull_error err;
    struct lull_ideal_result ideal;
    session->wanted = (struct lull_runs_options){.application = session->what_if.application,
                                                 .force = settings.force};
    int status = lull_runs_load(&path, 1, &session->wanted, session->document, session->arena,
                                &session->runs);
    if (status != LULL_EXIT_OK)
        return status;
    struct lull_run *run = &session->runs.runs[0];
    if (!run->trace)
        return lull_cli_fail("%s: is a saved profile, expected a trace with its events", path);
    if (run->breakdown->from_sums || run->trace->events != LULL_EVENTS_ALL)
        return lull_cli_fail("%s: cannot be replayed: it does not have the events of the whole run",
                             path);
    session->callers = lull_run_callers(run, session->wanted.application, session->arena);
    if (lull_replay_network(run->trace, session->wanted.application, session->callers,
                            session->arena, &session->measured, &ideal, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    if (ideal.absent && !ideal.incomplete)
        return lull_cli_fail("%s: cannot be replayed: %s: %s", path, ideal.absent, ideal.detail);
    if (ideal.absent)
        lull_warn_both(session->document, "%s: %s: %s; the replay goes on as if it were nothing",
                       path, ideal.absent, ideal.detail);
    run->name = "measured";
    return LULL_EXIT_OK;
}

/* One more column: the run of a replay. */
static int add_run(struct session *session, const char *name, struct lull_replayed *replayed)
{
    struct lull_runs *runs = &session->runs;
    runs->runs = lull_arena_grow(session->arena, runs->runs, &runs->capacity, runs->count + 1,
                                 sizeof *runs->runs);
    struct lull_run *run = &runs->runs[runs->count];
    *run = (struct lull_run){.path = runs->runs[0].path, .order = runs->count, .name = name};
    run->trace = replayed->trace;
    replayed->trace = NULL; /* lull_runs_close closes it */
    runs->count++;
    return lull_run_analyse(run, &session->wanted, session->document, session->arena);
}

static int replay_measured(struct session *session)
{
    struct lull_error err;
    struct lull_replay_wish wish = {.application = session->wanted.application,
                                    .callers = session->callers,
                                    .network = &session->measured,
                                    .keep_calls = LULL_KEEP_ALL,
                                    .run = true};
    if (lull_replayed_make(session->runs.runs[0].trace, &wish, session->arena, &session->replayed,
                           &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    return add_run(session, "replayed", &session->replayed);
}

/* ---- what if ------------------------------------------------------------------------------- */

/* On the ideal network no call takes time; where the network says what a message costs the
 * processor, it is not counted twice. */
static uint8_t kept_on(const struct lull_network *network)
{
    if (network->class == lull_network_find("ideal"))
        return LULL_KEEP_NONE;
    return network->class == lull_network_find("hockney") ? LULL_KEEP_ALL : LULL_KEEP_OTHERS;
}

static lull_status suppose(struct session *session, uint64_t point, bool run,
                           struct lull_replayed *ret_replayed, struct lull_error *err)
{
    lull_status status = LULL_OK;
    struct lull_replay_wish wish = {.application = session->wanted.application,
                                    .callers = session->callers,
                                    .network = &session->other,
                                    .what_if =
                                        session->computes_otherwise ? &session->what_if : NULL,
                                    .run = run};
    session->other = session->measured;
    if (session->sweep)
        status = lull_replay_read_network(lull_sweep_spec(session->sweep, point, 0, session->arena),
                                          session->runs.runs[0].trace, session->wanted.application,
                                          session->arena, &session->other, err);
    if (session->machine)
        status = take_machine(session, err);
    session->other.cpu_speed *= session->cpu_speed;
    wish.keep_calls = kept_on(&session->other);
    if (status != LULL_OK)
        return status;
    return lull_replayed_make(session->runs.runs[0].trace, &wish, session->arena, ret_replayed,
                              err);
}

static int64_t runtime_of(const struct session *session, uint32_t run)
{
    return session->runs.runs[run].breakdown->runtime_ns;
}

static struct lull_cell ratio(int64_t top, int64_t bottom)
{
    return bottom > 0 ? lull_cell_number((double)top / (double)bottom, 3)
                      : lull_cell_absent("no time");
}

/* One row for each point. */
static int sweep(struct session *session)
{
    const struct lull_sweep *all = session->sweep;
    struct lull_table *table =
        lull_document_table(session->document, "sweep", "What if", LULL_BY_COLUMN);
    lull_table_corner(table, "Network");
    for (uint32_t axis = 0; axis < all->n_axes; axis++)
        lull_table_column(table, all->axes[axis].key, all->axes[axis].key);
    lull_table_column(table, "runtime", "Runtime");
    lull_table_column(table, "speedup", "Times as fast as measured");
    for (uint64_t point = 0; point < all->n_points; point++) {
        struct lull_error err;
        struct lull_replayed replayed;
        if (suppose(session, point, false, &replayed, &err) != LULL_OK)
            return lull_cli_fail("%s", err.text);
        char id[32];
        snprintf(id, sizeof id, "%llu", (unsigned long long)point);
        uint32_t row = lull_table_row(table, id, session->other.class->name, LULL_NO_ROW);
        for (uint32_t axis = 0; axis < all->n_axes; axis++)
            lull_table_set(table, row, axis, lull_cell_text(lull_sweep_value(all, point, axis)));
        lull_table_set(table, row, all->n_axes, lull_cell_time(replayed.runtime));
        lull_table_set(table, row, all->n_axes + 1,
                       ratio(runtime_of(session, 0), replayed.runtime));
        lull_replayed_close(&replayed);
    }
    return LULL_EXIT_OK;
}

static int what_if(struct session *session)
{
    struct lull_error err;
    if (!session->any)
        return LULL_EXIT_OK;
    if (session->sweep && session->sweep->n_points > 1)
        return sweep(session);
    if (suppose(session, 0, true, &session->supposed, &err) != LULL_OK)
        return lull_cli_fail("%s", err.text);
    return add_run(session, "what if", &session->supposed);
}

/* ---- the document -------------------------------------------------------------------------- */

static void add_runtimes(struct session *session)
{
    struct lull_runs *runs = &session->runs;
    struct lull_table *table =
        lull_document_table(session->document, "replay", "Replay", LULL_BY_ROW);
    lull_table_corner(table, "Quantity");
    uint32_t runtime = lull_table_row(table, "runtime", "Runtime", LULL_NO_ROW);
    uint32_t error = lull_table_row(table, "difference", "Difference from measured", LULL_NO_ROW);
    uint32_t speedup = 0; /* of what-ifs alone */
    if (runs->count > 2)
        speedup = lull_table_row(table, "speedup", "Times as fast as replayed", LULL_NO_ROW);
    for (uint32_t i = 0; i < runs->count; i++) {
        int64_t ns = runtime_of(session, i);
        uint32_t column = lull_table_column(table, runs->runs[i].name, runs->runs[i].name);
        lull_table_set(table, runtime, column, lull_cell_time(ns));
        if (i > 0)
            lull_table_set(table, error, column,
                           lull_cell_share((double)ns / (double)runtime_of(session, 0) - 1));
        if (i > 1)
            lull_table_set(table, speedup, column, ratio(runtime_of(session, 1), ns));
    }
}

static int add_trees(struct session *session)
{
    struct lull_runs *runs = &session->runs;
    int status = lull_study_compute(runs, session->arena);
    if (status != LULL_EXIT_OK)
        return status;
    bool hybrid = lull_pop_is_hybrid(runs->runs[0].input);
    bool additive = settings.scheme ? strcmp(settings.scheme, "additive") == 0 : hybrid;
    enum lull_scheme sums = hybrid ? LULL_SCHEME_ADDITIVE : LULL_SCHEME_MPI_ADDITIVE;
    enum lull_scheme products =
        hybrid ? LULL_SCHEME_MULTIPLICATIVE : LULL_SCHEME_MPI_MULTIPLICATIVE;
    lull_table_of_scheme(session->document, runs, additive ? sums : products, session->arena);
    return LULL_EXIT_OK;
}

static void add_notes(struct session *session)
{
    int64_t measured = runtime_of(session, 0), replayed = runtime_of(session, 1);
    lull_document_note(session->document, LULL_NOTE_INFO,
                       "The measured network, as the messages of the trace show it: %s.",
                       lull_replay_describe(&session->measured, session->arena));
    lull_document_note(session->document, LULL_NOTE_INFO,
                       "Replayed on it, the run takes %.2f %% %s time than measured: what is asked "
                       "of the replay is uncertain by as much.",
                       100 * fabs((double)replayed / (double)measured - 1),
                       replayed < measured ? "less" : "more");
}

static int write_run(struct session *session)
{
    struct lull_error err;
    if (!settings.run)
        return LULL_EXIT_OK;
    lull_interrupt_clean_up();
    const struct lull_run *last = &session->runs.runs[session->runs.count - 1];
    struct lull_progress progress;
    lull_progress_begin(&progress, settings.run);
    lull_status status = lull_convert(last->trace, settings.run, &lull_format_tape, settings.force,
                                      lull_progress_update, &progress, &err);
    lull_progress_end(&progress);
    return status == LULL_OK ? LULL_EXIT_OK : lull_cli_fail("%s", err.text);
}

static int replay(struct session *session, const char *path)
{
    int status = read_settings(session);
    if (status == LULL_EXIT_OK)
        status = read_network(session);
    if (status == LULL_EXIT_OK)
        status = load_measured(session, path);
    if (status == LULL_EXIT_OK)
        status = replay_measured(session);
    if (status == LULL_EXIT_OK)
        status = what_if(session);
    if (status != LULL_EXIT_OK)
        return status;
    add_runtimes(session);
    status = add_trees(session);
    add_notes(session);
    if (status == LULL_EXIT_OK)
        status = write_run(session);
    return status == LULL_EXIT_OK ? lull_output_write(&output, session->document) : status;
}

static int run(poptContext context)
{
    lull_limits_raise_files();
    const char **paths = poptGetArgs(context);
    if (!paths || !paths[0] || paths[1])
        return lull_cli_usage("expected one RUN");
    struct session session = {.arena = lull_cli_arena()};
    session.document = lull_document_create(session.arena, "lull-replay/1", "");
    int status = replay(&session, paths[0]);
    lull_replayed_close(&session.replayed);
    lull_replayed_close(&session.supposed);
    lull_runs_close(&session.runs);
    lull_arena_destroy(session.arena);
    return status;
}

const struct lull_command lull_cmd_replay = {
    .name = "replay",
    .summary = "what a measured run would take if something were different",
    .operands = "RUN",
    .details = "The run is replayed on the network that its messages show, which tells how far a\n"
               "replay can be believed, and then with what is asked for.\n\n"
               "examples:\n"
               "  lull replay traces.otf2 --network ideal\n"
               "  lull replay run.tape --network hockney:latency=1us,bandwidth=1e8:1e10:5\n"
               "  lull replay run.tape --balance --cpu-speed 2 -o balanced.tape\n",
    .options = options,
    .run = run,
};
