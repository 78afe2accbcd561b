/* Who talked to whom, in messages of which size. */
#include "view/report/report_parts.h"

#include <math.h>

/* Rows and columns of a matrix: the parties of the timeline, or the nodes that they are on. */
struct sides {
    const char **names;
    uint32_t *of; /* [n_parties]: which of them a party is, or is on */
    uint32_t count;
};

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

static struct sides no_sides(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const size_t most = timeline->n_parties + (size_t)1;
    return (struct sides){.names = lull_arena_zero(arena, most, sizeof(char *)),
                          .of = lull_arena_zero(arena, most, sizeof(uint32_t))};
}

static struct sides list_parties(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    struct sides sides = no_sides(timeline, arena);
    for (; sides.count < timeline->n_parties; sides.count++) {
        sides.names[sides.count] = party_name(timeline, sides.count, arena);
        sides.of[sides.count] = sides.count;
    }
    return sides;
}

/* Of parties that are processes, in the order of their first ones; none where a node is not known.
 */
static struct sides list_nodes(const struct lull_timeline *timeline, struct lull_arena *arena)
{
    const struct lull_trace *trace = timeline->trace;
    struct sides sides = no_sides(timeline, arena);
    uint32_t *numbers = lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *numbers);
    for (uint32_t p = 0; p < timeline->n_parties; p++) {
        const uint32_t node = trace->processes[timeline->parties[p].process].node;
        if (timeline->parties[p].n_processes > 1 || node == LULL_NONE)
            return (struct sides){0};
        if (numbers[node] == 0) {
            sides.names[sides.count++] = *trace->nodes[node].name
                                             ? trace->nodes[node].name
                                             : lull_arena_printf(arena, "node %u", node);
            numbers[node] = sides.count;
        }
        sides.of[p] = numbers[node] - 1;
    }
    return sides;
}

static double *no_values(size_t count, struct lull_arena *arena)
{
    double *values = lull_arena_alloc(arena, (count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

/* ---- the matrix ---------------------------------------------------------------------------- */

enum { TRAFFIC_BYTES, TRAFFIC_COUNT, TRAFFIC_WAIT, TRAFFIC_LAYERS };

static void add_to(double *value, double amount)
{
    *value = isnan(*value) ? amount : *value + amount;
}

static void fill_matrix(const struct lull_timeline *timeline, const struct sides *sides,
                        struct lull_picture_matrix *matrix, struct lull_arena *arena)
{
    static const struct lull_picture_layer about[TRAFFIC_LAYERS] = {
        [TRAFFIC_BYTES] = {"bytes", "Bytes sent", "B", NULL},
        [TRAFFIC_COUNT] = {"messages", "Messages sent", "count", NULL},
        [TRAFFIC_WAIT] = {"wait", "Time the receiver was in MPI until they were there", "s", NULL}};
    struct lull_picture_layer *layers = lull_arena_zero(arena, TRAFFIC_LAYERS, sizeof *layers);
    const size_t n = sides->count;
    double *values[TRAFFIC_LAYERS];
    for (int l = 0; l < TRAFFIC_LAYERS; l++) {
        values[l] = no_values(n * n, arena);
        layers[l] = about[l];
        layers[l].values = values[l];
    }
    for (size_t i = 0; i < timeline->n_traffic; i++) {
        const struct lull_timeline_traffic *traffic = &timeline->traffic[i];
        const size_t at = sides->of[traffic->source] * n + sides->of[traffic->target];
        add_to(&values[TRAFFIC_BYTES][at], (double)traffic->sent_bytes);
        add_to(&values[TRAFFIC_COUNT][at], (double)traffic->sent);
        add_to(&values[TRAFFIC_WAIT][at], 1e-9 * (double)traffic->wait_ns);
    }
    matrix->row_names = matrix->column_names = sides->names;
    matrix->n_rows = matrix->n_columns = sides->count;
    matrix->layers = layers;
    matrix->n_layers = TRAFFIC_LAYERS;
}

static struct lull_picture_matrix *create_matrix(struct lull_document *document, const char *id,
                                                 const char *title, const char *about,
                                                 struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix = lull_arena_zero(arena, 1, sizeof *matrix);
    matrix->id = id;
    matrix->title = title;
    matrix->about = about;
    matrix->row_axis = "sender";
    matrix->column_axis = "receiver";
    lull_document_matrix(document, matrix);
    return matrix;
}

static void add_matrices(struct lull_document *document, const struct lull_run *run,
                         const struct lull_timeline *timeline, struct lull_arena *arena)
{
    struct lull_picture_matrix *matrix =
        create_matrix(document, lull_arena_printf(arena, "communication:%s", run->name),
                      lull_arena_printf(arena, "Communication of %s", run->name),
                      "What each process, or group of processes, sent to each other one.", arena);
    if (timeline->n_traffic == 0) {
        matrix->absent = timeline->sent + timeline->received
                             ? "The run has messages with other programs only."
                             : "The run has no messages between processes.";
        return;
    }
    const struct sides parties = list_parties(timeline, arena);
    const struct sides nodes = list_nodes(timeline, arena);
    fill_matrix(timeline, &parties, matrix, arena);
    if (nodes.count < 2 || nodes.count == parties.count)
        return;
    matrix = create_matrix(document, lull_arena_printf(arena, "node_communication:%s", run->name),
                           lull_arena_printf(arena, "Communication of the nodes of %s", run->name),
                           "What the processes of each node sent to those of each other one, and "
                           "to each other.",
                           arena);
    fill_matrix(timeline, &nodes, matrix, arena);
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
    add_matrices(document, run, of->timeline, arena);
    add_totals(document, run, of->timeline, arena);
    add_sizes(document, run, of->timeline, arena);
}
