/* Who talked to whom, in messages of which size. */
#include "view/report/report_parts.h"

#include <math.h>

static const char *party_name(const struct lull_timeline *timeline, uint32_t party,
                              struct lull_arena *arena)
{
    const struct lull_timeline_party *at = &timeline->parties[party];
    const struct lull_trace *trace = timeline->trace;
    const uint32_t rank = trace->processes[at->process].rank;
    if (at->node != LULL_NONE && *trace->nodes[at->node].name)
        return trace->nodes[at->node].name;
    return at->n_processes == 1
               ? lull_arena_printf(arena, "%u", rank)
               : lull_arena_printf(arena, "%u-%u", rank, rank + at->n_processes - 1);
}

static double *no_values(size_t count, struct lull_arena *arena)
{
    double *values = lull_arena_alloc(arena, (count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

/* ---- the matrix ---------------------------------------------------------------------------- */

enum { BYTES, COUNT, WAIT, LAYERS };

static void fill_matrix(const struct lull_timeline *timeline, struct lull_picture_matrix *matrix,
                        struct lull_arena *arena)
{
    static const struct lull_picture_layer about[LAYERS] = {
        [BYTES] = {"bytes", "Bytes sent", "B", NULL},
        [COUNT] = {"messages", "Messages sent", "count", NULL},
        [WAIT] = {"wait", "Time the receiver was in MPI until they were there", "s", NULL}};
    struct lull_picture_layer *layers = lull_arena_zero(arena, LAYERS, sizeof *layers);
    const size_t n = timeline->n_parties;
    double *values[LAYERS];
    for (int l = 0; l < LAYERS; l++) {
        values[l] = no_values(n * n, arena);
        layers[l] = about[l];
        layers[l].values = values[l];
    }
    for (size_t i = 0; i < timeline->n_traffic; i++) {
        const struct lull_timeline_traffic *traffic = &timeline->traffic[i];
        const size_t at = traffic->source * n + traffic->target;
        values[BYTES][at] = (double)traffic->sent_bytes;
        values[COUNT][at] = (double)traffic->sent;
        values[WAIT][at] = 1e-9 * (double)traffic->wait_ns;
    }
    matrix->layers = layers;
    matrix->n_layers = LAYERS;
}

static void add_matrix(struct lull_document *document, const struct lull_run *run,
                       const struct lull_timeline *timeline, struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    matrix->id = lull_arena_printf(arena, "communication:%s", run->name);
    matrix->title = lull_arena_printf(arena, "Communication of %s", run->name);
    if (timeline->n_traffic == 0)
        matrix->absent = timeline->sent + timeline->received
                             ? "The run has messages with other programs only."
                             : "The run has no messages between processes.";
    matrix->about = "What each process, or group of processes, sent to each other one.";
    matrix->row_axis = "sender";
    matrix->column_axis = "receiver";
    lull_document_matrix(document, matrix);
    if (matrix->absent)
        return;
    const char **names = lull_arena_zero(arena, timeline->n_parties + (size_t)1, sizeof *names);
    for (uint32_t p = 0; p < timeline->n_parties; p++)
        names[p] = party_name(timeline, p, arena);
    matrix->row_names = matrix->column_names = names;
    matrix->n_rows = matrix->n_columns = timeline->n_parties;
    fill_matrix(timeline, matrix, arena);
}

/* ---- tables -------------------------------------------------------------------------------- */

static const char *size_label(unsigned size, struct lull_arena *arena)
{
    if (size == 0)
        return "0 B";
    const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const unsigned low = size - 1;
    return lull_arena_printf(arena, "from %u %s", 1u << low % 10, units[low / 10]);
}

static void add_sizes(struct lull_document *document, const struct lull_run *run,
                      const struct lull_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->sent == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, lull_arena_printf(arena, "message_sizes:%s", run->name),
        lull_arena_printf(arena, "Messages of %s by size, below twice that", run->name),
        LULL_BY_COLUMN);
    lull_table_corner(table, "Size");
    lull_table_column(table, "count", "messages");
    lull_table_column(table, "share", "share");
    for (unsigned size = 0; size < LULL_TIMELINE_SIZES; size++) {
        if (timeline->sizes[size] == 0)
            continue;
        const char *id =
            size == 0 ? "0" : lull_arena_printf(arena, "%.0f", ldexp(1, (int)size - 1));
        uint32_t row = lull_table_row(table, id, size_label(size, arena), LULL_NO_ROW);
        lull_table_set(table, row, 0, lull_cell_count(timeline->sizes[size]));
        lull_table_set(table, row, 1,
                       lull_cell_share((double)timeline->sizes[size] / (double)timeline->sent));
    }
}

static void add_totals(struct lull_document *document, const struct lull_run *run,
                       const struct lull_timeline *timeline, struct lull_arena *arena)
{
    if (timeline->sent + timeline->received == 0)
        return;
    struct lull_table *table =
        lull_document_table(document, lull_arena_printf(arena, "messages:%s", run->name),
                            lull_arena_printf(arena, "Messages of %s", run->name), LULL_BY_COLUMN);
    lull_table_corner(table, "Messages");
    lull_table_column(table, "count", "count");
    lull_table_column(table, "bytes", "bytes");
    uint32_t sent = lull_table_row(table, "sent", "sent", LULL_NO_ROW);
    uint32_t received = lull_table_row(table, "received", "received", LULL_NO_ROW);
    lull_table_set(table, sent, 0, lull_cell_count(timeline->sent));
    lull_table_set(table, sent, 1, lull_cell_bytes(timeline->sent_bytes));
    lull_table_set(table, received, 0, lull_cell_count(timeline->received));
    lull_table_set(table, received, 1, lull_cell_bytes(timeline->received_bytes));
}

void lull_report_add_traffic(struct lull_document *document, const struct lull_run *run,
                             const struct lull_report_run *of, struct lull_arena *arena)
{
    if (!of->timeline)
        return;
    add_matrix(document, run, of->timeline, arena);
    add_totals(document, run, of->timeline, arena);
    add_sizes(document, run, of->timeline, arena);
}
