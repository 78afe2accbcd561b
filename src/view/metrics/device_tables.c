/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/metrics/metrics_tables.h"

#include <inttypes.h>

/* ==== devices ================================================================================= */

/* The causes of the time that devices lose, in the order of the columns. */
static const struct {
    uint8_t loss; /* enum lull_device_loss */
    const char *title;
} device_columns[] = {
    {LULL_LOST_COPYING, "copies"},
    {LULL_LOST_EXCHANGING, "NCCL"},
    {LULL_LOST_HOST, "host"},
    {LULL_LOST_MPI, "MPI"},
    {LULL_LOST_RUNTIME, "runtime"},
    {LULL_LOST_LAUNCH, "launch"},
    {LULL_LOST_OTHER_DEVICE, "other device"},
    {LULL_LOST_NO_WORK, "no work"},
    {LULL_LOST_UNKNOWN, "not known"},
};
enum { DEVICE_COLUMNS = sizeof device_columns / sizeof *device_columns, DEVICE_FIRST_LOSS = 2 };

/* What devices move, and how much of that beside kernels, has a column where a device moves it. */
enum { DEVICE_MOVES = 2 };
static const struct {
    const char *id, *title, *absent;
} device_moves[DEVICE_MOVES] = {
    {"copy_overlap", "copies beside\nkernels", "no copies"},
    {"exchange_overlap", "NCCL beside\nkernels", "no exchanges of NCCL"},
};

static int64_t moved_ns(const struct lull_device_breakdown *device, unsigned move)
{
    return move == 0 ? device->copy_ns : device->exchange_ns;
}

static int64_t moved_beside_ns(const struct lull_device_breakdown *device, unsigned move)
{
    return move == 0 ? device->copy_beside_ns : device->exchange_beside_ns;
}

/* Which columns a table of devices has. */
struct device_shape {
    uint8_t losses[DEVICE_COLUMNS], moves[DEVICE_MOVES];
    unsigned n_losses, n_moves;
};

static struct device_shape shape_of_devices(const struct lull_breakdown *breakdown)
{
    struct device_shape shape = {.n_losses = 0};
    for (unsigned c = 0; c < DEVICE_COLUMNS; c++) {
        bool any = false;
        for (uint32_t d = 0; d < breakdown->n_devices; d++)
            any |= breakdown->devices[d].lost_ns[device_columns[c].loss] > 0;
        if (any)
            shape.losses[shape.n_losses++] = (uint8_t)c;
    }
    for (unsigned move = 0; move < DEVICE_MOVES; move++) {
        bool any = false;
        for (uint32_t d = 0; d < breakdown->n_devices; d++)
            any |= moved_ns(&breakdown->devices[d], move) > 0;
        if (any)
            shape.moves[shape.n_moves++] = (uint8_t)move;
    }
    return shape;
}

static void set_device(struct lull_table *table, uint32_t row,
                       const struct lull_device_breakdown *device, const struct device_shape *shape)
{
    const unsigned first_move = DEVICE_FIRST_LOSS + shape->n_losses,
                   others = first_move + shape->n_moves;
    int64_t all = device->kernel_ns;
    lull_table_set(table, row, others, lull_cell_count(device->n_streams));
    lull_table_set(table, row, others + 1, lull_cell_count(device->n_processes));
    if (device->absent) {
        for (unsigned column = 0; column < others; column++)
            lull_table_set(table, row, column, lull_cell_absent(device->absent));
        return;
    }
    for (unsigned i = 0; i < shape->n_losses; i++) {
        const int64_t lost = device->lost_ns[device_columns[shape->losses[i]].loss];
        lull_table_set(table, row, DEVICE_FIRST_LOSS + i, lull_cell_time(lost));
        all += lost;
    }
    for (unsigned i = 0; i < shape->n_moves; i++) {
        const int64_t ns = moved_ns(device, shape->moves[i]),
                      beside = moved_beside_ns(device, shape->moves[i]);
        lull_table_set(table, row, first_move + i,
                       ns > 0 ? lull_cell_share((double)beside / (double)ns)
                              : lull_cell_absent(device_moves[shape->moves[i]].absent));
    }
    if (all > 0)
        lull_table_set(table, row, 0, lull_cell_share((double)device->kernel_ns / (double)all));
    lull_table_set(table, row, 1, lull_cell_time(device->kernel_ns));
}

void lull_tables_by_device(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        if (breakdown->n_devices == 0) {
            lull_document_note(document, LULL_NOTE_INFO, "%s has no device streams.",
                               runs->runs[i].name);
            continue;
        }
        const struct device_shape shape = shape_of_devices(breakdown);
        struct lull_table *table =
            lull_table_of_parts(document, "devices", "Devices", "Device", &runs->runs[i], arena);
        lull_table_column(table, "share", "efficiency");
        lull_table_column(table, "kernels", "kernels");
        for (unsigned c = 0; c < shape.n_losses; c++)
            lull_table_column(table, lull_device_loss_id(device_columns[shape.losses[c]].loss),
                              device_columns[shape.losses[c]].title);
        for (unsigned c = 0; c < shape.n_moves; c++)
            lull_table_column(table, device_moves[shape.moves[c]].id,
                              device_moves[shape.moves[c]].title);
        lull_table_column(table, "streams", "streams");
        lull_table_column(table, "processes", "processes");
        for (uint32_t d = 0; d < breakdown->n_devices; d++) {
            const struct lull_device_breakdown *device = &breakdown->devices[d];
            const uint32_t row = lull_table_row(
                table, device->id,
                *device->name ? lull_arena_printf(arena, "%s, %s", device->id, device->name)
                              : device->id,
                LULL_NO_ROW);
            set_device(table, row, device, &shape);
        }
    }
}

/* ==== their operations ======================================================================== */

/* Whether the operations of a run are known one by one; else says why they are not. */
static bool has_operations(struct lull_document *document, const struct lull_run *run)
{
    const char *why = run->breakdown->n_devices == 0 ? "has no device streams"
                      : !run->trace ? "was saved without the operations of its devices"
                                    : "has sums of the operations of its devices alone; lull info "
                                      "shows them";
    if (run->breakdown->n_operations > 0)
        return true;
    lull_document_note(document, LULL_NOTE_INFO, "%s %s.", run->name,
                       run->breakdown->operations ? "ran nothing on its devices" : why);
    return false;
}

static void add_lengths_columns(struct lull_table *table, const char *id, const char *title,
                                struct lull_arena *arena)
{
    static const char *const parts[] = {"least", "median", "most"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        lull_table_column(table, lull_arena_printf(arena, "%s_%s", id, parts[i]),
                          lull_arena_printf(arena, "%s\n%s", title, parts[i]));
}

static void set_lengths(struct lull_table *table, uint32_t row, uint32_t column,
                        const struct lull_lengths *lengths)
{
    lull_table_set(table, row, column, lull_cell_time(lengths->min_ns));
    lull_table_set(table, row, column + 1, lull_cell_time(lengths->median_ns));
    lull_table_set(table, row, column + 2, lull_cell_time(lengths->max_ns));
}

/* "cudaLaunchKernel, step (heat.cu:40)", and which part of the operations it has submitted if not all. */
static const char *submitter_of(const struct lull_operation_breakdown *operation,
                                struct lull_arena *arena)
{
    const char *call = *operation->site
                           ? lull_arena_printf(arena, "%s, %s", operation->call, operation->site)
                           : operation->call;
    return operation->n_calls > 1
               ? lull_arena_printf(arena, "%s: %" PRIu64 "; %u other place%s", call,
                                   operation->n_from_there, operation->n_calls - 1,
                                   operation->n_calls > 2 ? "s" : "")
               : call;
}

static void add_operation(struct lull_table *table, const struct lull_operation_breakdown *of,
                          bool moves, int64_t all, struct lull_arena *arena)
{
    const uint32_t row = lull_table_row(table, of->name, of->name, LULL_NO_ROW);
    uint32_t column = 0;
    lull_table_set(table, row, column++, lull_cell_count(of->count));
    lull_table_set(table, row, column++, lull_cell_time(of->ns));
    lull_table_set(table, row, column++,
                   lull_cell_share(all > 0 ? (double)of->ns / (double)all : 0));
    if (moves) {
        if (of->bytes > 0)
            lull_table_set(table, row, column, lull_cell_bytes(of->bytes));
        if (of->bytes > 0 && of->ns > 0)
            lull_table_set(table, row, column + 1,
                           lull_cell_quantity(1e9 * (double)of->bytes / (double)of->ns, "B/s"));
        column += 2;
    }
    set_lengths(table, row, column, &of->length);
    if (of->n_delays > 0)
        set_lengths(table, row, column + 3, &of->delay);
    lull_table_set(table, row, column + 6, lull_cell_text(submitter_of(of, arena)));
}

/* The operations of these kinds (a set of enum lull_operation_kind), those with most time first. */
static void add_operations(struct lull_document *document, const struct lull_runs *runs,
                           unsigned kinds, const char *id, const char *title, const char *corner,
                           struct lull_arena *arena)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        bool moves = false;
        int64_t all = 0;
        uint32_t n = 0;
        if (!has_operations(document, &runs->runs[i]))
            continue;
        for (uint32_t o = 0; o < breakdown->n_operations; o++) {
            const struct lull_operation_breakdown *of = &breakdown->operations[o];
            if (!(kinds >> of->kind & 1))
                continue;
            all += of->ns;
            moves |= of->bytes > 0;
            n++;
        }
        if (n == 0) {
            lull_document_note(document, LULL_NOTE_INFO, "%s has no %s.", runs->runs[i].name, id);
            continue;
        }
        struct lull_table *table =
            lull_table_of_parts(document, id, title, corner, &runs->runs[i], arena);
        lull_table_column(table, "count", "number");
        lull_table_column(table, "time", "time");
        lull_table_column(table, "share", "share");
        if (moves) {
            lull_table_column(table, "bytes", "bytes");
            lull_table_column(table, "bandwidth", "bandwidth");
        }
        add_lengths_columns(table, "length", "each", arena);
        add_lengths_columns(table, "delay", "delay", arena);
        lull_table_column(table, "submitted_by", "submitted by");
        for (uint32_t o = 0; o < breakdown->n_operations; o++)
            if (kinds >> breakdown->operations[o].kind & 1)
                add_operation(table, &breakdown->operations[o], moves, all, arena);
    }
}

void lull_tables_by_kernel(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    add_operations(document, runs, 1U << LULL_OPERATION_KERNEL | 1U << LULL_OPERATION_EXCHANGE,
                   "kernels", "Kernels", "Kernel", arena);
}

void lull_tables_by_copy(struct lull_document *document, const struct lull_runs *runs,
                         struct lull_arena *arena)
{
    add_operations(document, runs, 1U << LULL_OPERATION_COPY, "copies", "Copies and fills", "Kind",
                   arena);
}

void lull_tables_by_stream(struct lull_document *document, const struct lull_runs *runs,
                           struct lull_arena *arena)
{
    static const char *const ids[LULL_OPERATION_KINDS] = {"kernels", "copies", "exchanges"};
    static const char *const titles[LULL_OPERATION_KINDS] = {"kernels", "copies", "NCCL"};
    for (uint32_t i = 0; i < runs->count; i++) {
        const struct lull_breakdown *breakdown = runs->runs[i].breakdown;
        uint64_t counts[LULL_OPERATION_KINDS] = {0};
        if (!has_operations(document, &runs->runs[i]))
            continue;
        for (uint32_t s = 0; s < breakdown->n_streams; s++)
            for (int kind = 0; kind < LULL_OPERATION_KINDS; kind++)
                counts[kind] += breakdown->streams[s].kinds[kind].count;
        struct lull_table *table = lull_table_of_parts(document, "streams", "Device streams",
                                                       "Stream", &runs->runs[i], arena);
        lull_table_column(table, "busy", "busy");
        for (int kind = 0; kind < LULL_OPERATION_KINDS; kind++) {
            if (counts[kind] == 0)
                continue;
            lull_table_column(table, ids[kind], titles[kind]);
            lull_table_column(table, lull_arena_printf(arena, "%s_time", ids[kind]), "time");
            if (kind != LULL_OPERATION_KERNEL)
                lull_table_column(table, lull_arena_printf(arena, "%s_bytes", ids[kind]), "bytes");
        }
        lull_table_column(table, "device", "device");
        for (uint32_t s = 0; s < breakdown->n_streams; s++) {
            const struct lull_stream_breakdown *stream = &breakdown->streams[s];
            const uint32_t row = lull_table_row(
                table, lull_arena_printf(arena, "%u.d%u", stream->rank, stream->number),
                lull_arena_printf(arena, "rank %u stream %u", stream->rank, stream->number),
                LULL_NO_ROW);
            uint32_t column = 1;
            int64_t busy = 0;
            for (int kind = 0; kind < LULL_OPERATION_KINDS; kind++) {
                busy += stream->kinds[kind].ns;
                if (counts[kind] == 0)
                    continue;
                lull_table_set(table, row, column++, lull_cell_count(stream->kinds[kind].count));
                lull_table_set(table, row, column++, lull_cell_time(stream->kinds[kind].ns));
                if (kind != LULL_OPERATION_KERNEL)
                    lull_table_set(table, row, column++,
                                   lull_cell_bytes(stream->kinds[kind].bytes));
            }
            if (stream->window_ns > 0)
                lull_table_set(table, row, 0,
                               lull_cell_share((double)busy / (double)stream->window_ns));
            lull_table_set(table, row, column, lull_cell_text(stream->device));
        }
    }
}
