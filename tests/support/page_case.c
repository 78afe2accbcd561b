#include "support/page_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USEFUL, P2P, COLLECTIVE, SYNC, IDLE, ACTIVITIES };
enum { WORK, SEND, RECV, ALLREDUCE, BARRIER, REGIONS };
enum { FINE = 11, COARSE = 6, OVERHEAD = 20000 }; /* ns of a call */

static const struct lull_picture_activity activities[ACTIVITIES] = {
    {"useful", "useful", LULL_PAINT_USEFUL},
    {"mpi_p2p", "MPI point-to-point", LULL_PAINT_MESSAGES},
    {"mpi_collective", "MPI collective", LULL_PAINT_COLLECTIVE},
    {"omp_sync", "OpenMP synchronisation", LULL_PAINT_SYNC},
    {"idle", "idle outside parallel regions", LULL_PAINT_IDLE},
};

struct leaf {
    struct lull_picture_step *steps;
    size_t count, capacity;
    int64_t at;
};

struct made {
    struct lull_arena *arena;
    const struct page_run *run;
    struct lull_picture_timeline timeline;
    struct leaf *leaves;
    uint32_t *first_leaf; /* of rows */
    struct lull_picture_message *messages;
    size_t n_messages, messages_capacity;
    struct lull_picture_place places[4];
};

static void add_step(struct made *made, uint32_t leaf, int64_t until, uint8_t activity,
                     uint32_t region)
{
    struct leaf *to = &made->leaves[leaf];
    if (until <= to->at)
        return;
    to->steps =
        lull_arena_grow(made->arena, to->steps, &to->capacity, to->count + 1, sizeof *to->steps);
    to->steps[to->count++] = (struct lull_picture_step){until, region, activity};
    to->at = until;
}

static int64_t work_of(const struct page_run *run, uint32_t rank, uint32_t iteration)
{
    int64_t work =
        run->work_ns + (int64_t)((rank * 7 + iteration * 13) % 11) * (run->work_ns / 100);
    return rank == run->late_rank ? work * 19 / 10 : work;
}

/* All compute, send to the right, receive from the left, and meet. */
static void add_iteration(struct made *made, uint32_t ranks, uint32_t iteration)
{
    const struct page_run *run = made->run;
    int64_t *sent = lull_arena_zero(made->arena, ranks, sizeof *sent), last = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t leaf = rank * run->threads;
        int64_t begin = made->leaves[leaf].at, end = begin + work_of(run, rank, iteration);
        add_step(made, leaf, end, USEFUL, WORK);
        add_step(made, leaf, end + OVERHEAD, P2P, SEND);
        sent[rank] = end + OVERHEAD / 2;
        for (uint32_t thread = 1; thread < run->threads; thread++) {
            add_step(made, leaf + thread, begin + (end - begin) * 8 / 10, USEFUL, WORK);
            add_step(made, leaf + thread, end, SYNC, BARRIER);
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t leaf = rank * run->threads, left = (rank + ranks - 1) % ranks;
        int64_t end = fmax((double)sent[left] + OVERHEAD, (double)made->leaves[leaf].at + 1000);
        add_step(made, leaf, end, P2P, RECV);
        last = end > last ? end : last;
        made->messages = lull_arena_grow(made->arena, made->messages, &made->messages_capacity,
                                         made->n_messages + 1, sizeof *made->messages);
        made->messages[made->n_messages++] = (struct lull_picture_message){
            sent[left], end, left * run->threads, leaf, 8192 * (uint64_t)(1 + left % 3), 7};
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        add_step(made, rank * run->threads, last + OVERHEAD, COLLECTIVE, ALLREDUCE);
        for (uint32_t thread = 1; thread < run->threads; thread++)
            add_step(made, rank * run->threads + thread, last + OVERHEAD, IDLE,
                     LULL_PICTURE_NO_ROW);
    }
}

static int by_sending(const void *a, const void *b)
{
    const struct lull_picture_message *one = a, *other = b;
    return (one->sent > other->sent) - (one->sent < other->sent);
}

/* ---- rows ---------------------------------------------------------------------------------- */

static uint32_t add_row(struct made *made, struct lull_picture_row *rows, uint32_t first_leaf,
                        struct lull_picture_row row)
{
    uint32_t number = made->timeline.n_rows++;
    rows[number] = row;
    made->first_leaf[number] = first_leaf;
    return number;
}

static void make_rows(struct made *made)
{
    const struct page_run *run = made->run;
    uint32_t ranks = run->nodes * run->ranks_per_node,
             most = run->nodes + ranks + ranks * run->threads;
    struct lull_picture_row *rows = lull_arena_zero(made->arena, most, sizeof *rows);
    made->first_leaf = lull_arena_zero(made->arena, most, sizeof *made->first_leaf);
    bool fine_ranks = ranks <= 1024, fine_threads = ranks * run->threads <= 1024;
    for (uint32_t node = 0; node < run->nodes; node++) {
        uint32_t per_node = run->ranks_per_node * run->threads, of_node = LULL_PICTURE_NO_ROW;
        if (run->nodes > 1)
            of_node = add_row(made, rows, node * per_node,
                              (struct lull_picture_row){
                                  lull_arena_printf(made->arena, "node%u", node), "node",
                                  LULL_PICTURE_NO_ROW, per_node, LULL_PICTURE_NO_ROW, FINE});
        for (uint32_t r = 0; r < run->ranks_per_node; r++) {
            uint32_t rank = node * run->ranks_per_node + r, leaf = rank * run->threads;
            uint32_t of_rank =
                add_row(made, rows, leaf,
                        (struct lull_picture_row){lull_arena_printf(made->arena, "rank %u", rank),
                                                  "process", of_node, run->threads,
                                                  run->threads == 1 ? leaf : LULL_PICTURE_NO_ROW,
                                                  fine_ranks ? FINE : COARSE});
            for (uint32_t thread = 0; run->threads > 1 && thread < run->threads; thread++)
                add_row(made, rows, leaf + thread,
                        (struct lull_picture_row){
                            lull_arena_printf(made->arena, "rank %u thread %u", rank, thread),
                            "thread", of_rank, 1, leaf + thread, fine_threads ? FINE : COARSE});
        }
    }
    made->timeline.rows = rows;
}

/* ---- what the page asks for ---------------------------------------------------------------- */

static int64_t edge(const struct lull_picture_timeline *timeline, unsigned level, uint32_t bin)
{
    __extension__ typedef unsigned __int128 wide;
    return timeline->begin +
           (int64_t)((wide)bin * (uint64_t)(timeline->end - timeline->begin) >> level);
}

/* Adds what a leaf did in each of the bins. */
static void add_leaf(const struct made *made, uint32_t leaf, unsigned level, uint32_t first,
                     uint32_t count, int64_t *ns)
{
    int64_t at = made->timeline.begin;
    uint32_t bin = first;
    for (size_t i = 0; i < made->leaves[leaf].count; i++) {
        const struct lull_picture_step *step = &made->leaves[leaf].steps[i];
        while (bin < first + count && edge(&made->timeline, level, bin) < step->end) {
            int64_t low = edge(&made->timeline, level, bin);
            int64_t high = edge(&made->timeline, level, bin + 1);
            int64_t from = low > at ? low : at, to = high < step->end ? high : step->end;
            if (to > from)
                ns[(size_t)(bin - first) * ACTIVITIES + step->activity] += to - from;
            if (high > step->end)
                break;
            bin++;
        }
        at = step->end;
    }
}

static void cells(const void *data, uint32_t row, unsigned level, uint32_t first, uint32_t count,
                  int64_t *ret_ns)
{
    const struct made *made = data;
    memset(ret_ns, 0, (size_t)count * ACTIVITIES * sizeof *ret_ns);
    for (uint32_t i = 0; i < made->timeline.rows[row].n_leaves; i++)
        add_leaf(made, made->first_leaf[row] + i, level, first, count, ret_ns);
}

static uint32_t pieces(const void *data, uint32_t leaf)
{
    (void)leaf;
    return ((const struct made *)data)->run->steps;
}

static struct lull_picture_piece piece(const void *data, uint32_t leaf, uint32_t number)
{
    const struct made *made = data;
    (void)number;
    return (struct lull_picture_piece){made->timeline.begin, made->leaves[leaf].count,
                                       made->leaves[leaf].steps};
}

static struct lull_picture_step step(const void *data, const struct lull_picture_piece *of,
                                     size_t number)
{
    (void)data;
    return ((const struct lull_picture_step *)of->steps)[number];
}

/* Of leaf n each bin has n + 1 million instructions in half a million cycles. */
static void counts(const void *data, uint32_t leaf, double *ret_counts)
{
    (void)data;
    for (uint32_t bin = 0; bin < 1 << COARSE; bin++) {
        ret_counts[bin] = 1e6 * (leaf + 1);
        ret_counts[(1 << COARSE) + bin] = 5e5;
    }
}

static const struct lull_picture_counter counters[] = {{"instructions", "instructions"},
                                                       {"cycles", "cycles"}};

static struct lull_picture_region *make_regions(struct made *made)
{
    struct lull_picture_region *regions = lull_arena_zero(made->arena, REGIONS, sizeof *regions);
    regions[WORK] = (struct lull_picture_region){made->run->region, "heat.c:120"};
    regions[SEND] = (struct lull_picture_region){"MPI_Send", "exchange (heat.c:87)"};
    regions[RECV] = (struct lull_picture_region){"MPI_Recv", "exchange (heat.c:91)"};
    regions[ALLREDUCE] = (struct lull_picture_region){"MPI_Allreduce", "residual (heat.c:140)"};
    regions[BARRIER] = (struct lull_picture_region){"omp barrier", ""};
    return regions;
}

/* The first long receive of the rank that waits for the late one. */
static void find_place(struct made *made, uint32_t ranks)
{
    uint32_t leaf = (made->run->late_rank + 1) % ranks * made->run->threads;
    int64_t begin = 0;
    for (size_t i = 0; i < made->leaves[leaf].count; i++) {
        const struct lull_picture_step *one = &made->leaves[leaf].steps[i];
        if (one->region == RECV && made->timeline.n_places < 4)
            made->places[made->timeline.n_places++] =
                (struct lull_picture_place){begin, one->end, leaf, RECV, P2P};
        begin = one->end;
    }
}

const struct lull_picture_timeline *page_case_timeline(struct lull_arena *arena,
                                                       const struct page_run *run)
{
    struct made *made = lull_arena_zero(arena, 1, sizeof *made);
    uint32_t ranks = run->nodes * run->ranks_per_node, n_leaves = ranks * run->threads;
    made->arena = arena;
    made->run = run;
    made->leaves = lull_arena_zero(arena, n_leaves, sizeof *made->leaves);
    for (uint32_t i = 0; i < run->iterations; i++)
        add_iteration(made, ranks, i);
    if (made->n_messages)
        qsort(made->messages, made->n_messages, sizeof *made->messages, by_sending);
    struct lull_picture_timeline *timeline = &made->timeline;
    *timeline =
        (struct lull_picture_timeline){.id = "run",
                                       .title = run->title,
                                       .command = "lull report run.lull --window",
                                       .end = made->leaves[0].at,
                                       .level = FINE,
                                       .activities = activities,
                                       .n_activities = ACTIVITIES,
                                       .n_leaves = n_leaves,
                                       .regions = make_regions(made),
                                       .n_regions = REGIONS,
                                       .cells = cells,
                                       .pieces = pieces,
                                       .piece = piece,
                                       .step = step,
                                       .counts = counts,
                                       .counters = counters,
                                       .n_counters = 2,
                                       .data = made,
                                       .n_messages = made->n_messages,
                                       .all_steps = run->steps,
                                       .all_messages = run->messages,
                                       .messages = made->messages,
                                       .n_kept_messages = run->messages ? made->n_messages : 0,
                                       .places = made->places};
    make_rows(made);
    for (uint32_t i = 0; i < n_leaves; i++)
        timeline->n_steps += made->leaves[i].count;
    find_place(made, ranks);
    return timeline;
}

/* ---- documents ----------------------------------------------------------------------------- */

static void add_tree(struct lull_document *document, const char *id, const char *title,
                     const struct page_run *runs, size_t n_runs, double factor)
{
    struct lull_table *table = lull_document_table(document, id, title, LULL_BY_ROW);
    lull_table_corner(table, "Metric");
    uint32_t global = lull_table_row(table, "global", "Global efficiency", LULL_NO_ROW);
    uint32_t parallel = lull_table_row(table, "parallel", "Parallel efficiency", global);
    uint32_t balance = lull_table_row(table, "balance", "Load balance", parallel);
    uint32_t transfer = lull_table_row(table, "transfer", "Transfer", parallel);
    lull_table_rule(table);
    uint32_t ipc = lull_table_row(table, "ipc", "Instructions per cycle", LULL_NO_ROW);
    lull_table_row_about(table, balance, "mean useful / max useful");
    for (size_t i = 0; i < n_runs; i++) {
        uint32_t column = lull_table_column(table, runs[i].title, runs[i].title);
        lull_table_set(table, global, column, lull_cell_efficiency(0.55 * factor));
        lull_table_set(table, parallel, column, lull_cell_efficiency(0.58 * factor));
        lull_table_set(table, balance, column, lull_cell_efficiency(0.62 * factor));
        lull_table_set(table, transfer, column, lull_cell_efficiency(0.94));
        lull_table_set(table, ipc, column, lull_cell_absent("no instruction counter"));
    }
}

static void add_regions(struct lull_document *document)
{
    struct lull_table *table = lull_document_table(document, "regions", "Regions", LULL_BY_COLUMN);
    lull_table_corner(table, "Region");
    lull_table_column(table, "time", "time");
    lull_table_column(table, "calls", "calls");
    for (unsigned i = 0; i < 60; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_time((int64_t)(i * 37 % 60) * 1000003));
        lull_table_set(table, row, 1, lull_cell_count(i * 11 % 60));
    }
}

static const struct lull_chart *speedup_chart(struct lull_arena *arena)
{
    static const struct lull_chart_point points[] = {
        {1, 1, NAN, NAN}, {2, 1.9, NAN, NAN}, {4, 3.1, NAN, NAN}, {8, 4.2, NAN, NAN}};
    struct lull_chart *chart = lull_chart_create(arena, "Speedup");
    lull_chart_x_axis(chart, "threads", "", LULL_CHART_WHOLE);
    lull_chart_y_axis(chart, "speedup", "", LULL_CHART_LINEAR);
    lull_chart_series(chart, "measured", LULL_CHART_LINE, points, 4);
    return chart;
}

static const struct lull_picture_matrix *traffic(struct lull_arena *arena,
                                                 const struct lull_picture_timeline *timeline,
                                                 const struct page_run *run)
{
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    uint32_t ranks = run->nodes * run->ranks_per_node;
    const char **names = lull_arena_zero(arena, ranks, sizeof *names);
    double *bytes = lull_arena_zero(arena, (size_t)ranks * ranks, sizeof *bytes);
    double *counts = lull_arena_zero(arena, (size_t)ranks * ranks, sizeof *counts);
    for (uint32_t i = 0; i < ranks; i++)
        names[i] = lull_arena_printf(arena, "%u", i);
    for (size_t i = 0; i < timeline->n_messages; i++) {
        const struct lull_picture_message *message = &timeline->messages[i];
        size_t cell =
            (size_t)(message->sender / run->threads) * ranks + message->receiver / run->threads;
        bytes[cell] += (double)message->bytes;
        counts[cell]++;
    }
    struct lull_picture_layer *layers = lull_arena_zero(arena, 2, sizeof *layers);
    layers[0] = (struct lull_picture_layer){"bytes", "bytes", "B", bytes};
    layers[1] = (struct lull_picture_layer){"messages", "messages", "count", counts};
    *matrix = (struct lull_picture_matrix){
        .id = "communication",
        .title = lull_arena_printf(arena, "Messages of %s", run->title),
        .about = "Each row is a sender, each column a receiver.",
        .row_axis = "sender",
        .column_axis = "receiver",
        .row_names = names,
        .column_names = names,
        .n_rows = ranks,
        .n_columns = ranks,
        .layers = layers,
        .n_layers = 2};
    return matrix;
}

struct lull_document *page_case_document(struct lull_arena *arena, const struct page_run *runs,
                                         size_t n_runs)
{
    struct lull_document *document =
        lull_document_create(arena, "lull-report/1", "Report of a ring");
    lull_document_fact(document, "clock_error", "clock error", lull_cell_time(1200));
    lull_document_fact(document, "tracer_cost", "tracer's cost", lull_cell_share(0.012));
    lull_document_note(document, LULL_NOTE_WARNING, "There are no hardware counters.");
    add_tree(document, "additive", "POP efficiencies, additive", runs, n_runs, 1);
    add_tree(document, "multiplicative", "POP efficiencies, multiplicative", runs, n_runs, 1.3);
    add_regions(document);
    lull_document_chart(document, "speedup", speedup_chart(arena));
    for (size_t i = 0; i < n_runs; i++) {
        const struct lull_picture_timeline *timeline = page_case_timeline(arena, &runs[i]);
        lull_document_timeline(document, timeline);
        lull_document_matrix(document, traffic(arena, timeline, &runs[i]));
    }
    return document;
}
