#include "view/machine/machine_document.h"

#include "base/text.h"
#include "bench/benchmark.h"

#include <math.h>
#include <string.h>

struct lull_document *lull_bench_list(struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench-list/1", "");
    struct lull_table *table =
        lull_document_table(document, "benchmarks", "Benchmarks", LULL_BY_COLUMN);
    lull_table_corner(table, "Name");
    uint32_t group = lull_table_column(table, "group", "group");
    uint32_t summary = lull_table_column(table, "summary", "what it measures");
    for (size_t i = 0; lull_benchmarks[i]; i++) {
        const struct lull_benchmark *benchmark = lull_benchmarks[i];
        uint32_t row = lull_table_row(table, benchmark->name, benchmark->name, LULL_NO_ROW);
        lull_table_set(table, row, group, lull_cell_text(benchmark->group));
        lull_table_set(table, row, summary, lull_cell_text(benchmark->summary));
    }
    return document;
}

/* ---- tables of numbers --------------------------------------------------------------------- */

/* Which table a number belongs to, by its name: the first pattern that its name begins with, or for
 * a pattern that begins with '.' contains. */
static const struct section {
    const char *id, *title;
    const char *patterns[6];
} sections[] = {
    {"clock", "Clock", {"clock."}},
    {"compute", "Arithmetic on registers", {"peak.", "divide."}},
    {"latency", "Latency of dependent loads", {".latency."}},
    {"openmp", "OpenMP", {"openmp."}},
    {"messages", "MPI, two ranks", {"mpi.pingpong.", "mpi.overlap."}},
    {"mpi", "MPI, all ranks", {"mpi."}},
    {"noise", "Noise", {"noise."}},
    {"bandwidth", "Bandwidth, explicit bytes", {"L", "memory."}},
    {"vectors", "Vectors within and across cache lines, first cache", {"within.", "crossing."}},
    {"other", "Other numbers", {""}},
};
enum { SECTIONS = sizeof sections / sizeof *sections };

static size_t section_of(const char *name)
{
    for (size_t i = 0; i < SECTIONS; i++)
        for (size_t k = 0; k < 6 && sections[i].patterns[k]; k++) {
            const char *pattern = sections[i].patterns[k];
            if (*pattern == '.' ? strstr(name, pattern) != NULL
                                : strncmp(name, pattern, strlen(pattern)) == 0)
                return i;
        }
    return SECTIONS - 1;
}

struct columns {
    uint32_t value, low, high, mean, cycles, allocate, blocks, rounds, verdict;
};

/* Columns that not every section has. */
struct optional {
    bool allocates, has_cycles, has_mean, is_time;
};

static struct optional optional_columns(const struct lull_machine *machine, size_t section)
{
    struct optional optional = {false};
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (section_of(number->name) != section)
            continue;
        optional.allocates |= !isnan(number->with_write_allocate);
        optional.has_cycles |= !isnan(number->in_cycles);
        optional.has_mean |= !isnan(number->mean);
        optional.is_time |= strcmp(number->unit, "s") == 0;
    }
    return optional;
}

static struct columns make_columns(struct lull_table *table, const struct optional *optional)
{
    struct columns columns = {.value = lull_table_column(table, "value", "value"),
                              .low = lull_table_column(table, "low", "from"),
                              .high = lull_table_column(table, "high", "to")};
    if (optional->has_mean)
        columns.mean = lull_table_column(table, "mean", "mean of\nblocks");
    if (optional->has_cycles)
        columns.cycles =
            lull_table_column(table, "in_cycles", optional->is_time ? "cycles" : "per\ncycle");
    if (optional->allocates)
        columns.allocate = lull_table_column(table, "with_write_allocate", "with\nwrite-allocate");
    columns.blocks = lull_table_column(table, "samples", "blocks");
    columns.rounds = lull_table_column(table, "rounds", "rounds");
    columns.verdict = lull_table_column(table, "verdict", "verdict");
    return columns;
}

static void set_quantity(struct lull_table *table, uint32_t row, uint32_t column, double value,
                         const char *unit)
{
    if (isnan(value))
        return;
    bool is_share = unit && strcmp(unit, "1") == 0;
    lull_table_set(table, row, column,
                   is_share ? lull_cell_share(value) : lull_cell_quantity(value, unit));
}

static void add_number(struct lull_table *table, const struct columns *columns,
                       const struct lull_number *number, const struct optional *optional)
{
    uint32_t row = lull_table_row(table, number->name, number->name, LULL_NO_ROW);
    set_quantity(table, row, columns->value, number->value, number->unit);
    set_quantity(table, row, columns->low, number->low, number->unit);
    set_quantity(table, row, columns->high, number->high, number->unit);
    if (optional->has_mean)
        set_quantity(table, row, columns->mean, number->mean, number->unit);
    if (optional->has_cycles && !isnan(number->in_cycles))
        lull_table_set(table, row, columns->cycles,
                       lull_cell_number(number->in_cycles, number->in_cycles < 10 ? 3 : 1));
    if (optional->allocates)
        set_quantity(table, row, columns->allocate, number->with_write_allocate, number->unit);
    if (number->samples)
        lull_table_set(table, row, columns->blocks, lull_cell_count(number->samples));
    if (number->rounds)
        lull_table_set(table, row, columns->rounds, lull_cell_count(number->rounds));
    lull_table_set(table, row, columns->verdict,
                   lull_cell_text(lull_verdict_name(number->verdict)));
    if (number->note)
        lull_table_row_about(table, row, number->note);
}

static void add_section(struct lull_document *document, const struct lull_machine *machine,
                        size_t section)
{
    struct lull_table *table = NULL;
    struct columns columns = {0};
    const struct optional optional = optional_columns(machine, section);
    for (size_t i = 0; i < machine->numbers.count; i++) {
        const struct lull_number *number = &machine->numbers.items[i];
        if (section_of(number->name) != section)
            continue;
        if (!table) {
            table = lull_document_table(document, sections[section].id, sections[section].title,
                                        LULL_BY_COLUMN);
            lull_table_corner(table, "Number");
            columns = make_columns(table, &optional);
        }
        add_number(table, &columns, number, &optional);
    }
}

/* ---- network and noise --------------------------------------------------------------------- */

static void add_network(struct lull_document *document, const struct lull_machine *machine,
                        struct lull_arena *arena)
{
    if (machine->n_network == 0)
        return;
    struct lull_table *table = lull_document_table(
        document, "network", "Network, time = latency + size / bandwidth", LULL_BY_COLUMN);
    lull_table_corner(table, "Level");
    uint32_t from = lull_table_column(table, "from", "from"),
             to = lull_table_column(table, "to", "to");
    uint32_t latency = lull_table_column(table, "latency", "latency");
    uint32_t bandwidth = lull_table_column(table, "bandwidth", "bandwidth");
    uint32_t protocol = lull_table_column(table, "protocol", "protocol");
    for (size_t i = 0; i < machine->n_network; i++) {
        const struct lull_network_level *level = &machine->network[i];
        for (size_t k = 0; k < level->n_ranges; k++) {
            const struct lull_network_range *range = &level->ranges[k];
            const char *id = lull_arena_printf(arena, "%s.%zu", level->name, k + 1);
            uint32_t row = lull_table_row(table, id, level->name, LULL_NO_ROW);
            lull_table_set(table, row, from, lull_cell_bytes(range->from));
            if (range->to != UINT64_MAX)
                lull_table_set(table, row, to, lull_cell_bytes(range->to));
            set_quantity(table, row, latency, range->latency.value, "s");
            set_quantity(table, row, bandwidth, range->bandwidth.value, "B/s");
            if (range->protocol)
                lull_table_set(table, row, protocol, lull_cell_text(range->protocol));
        }
    }
}

static void add_machine_noise(struct lull_document *document, const struct lull_machine *machine,
                              struct lull_arena *arena)
{
    if (machine->n_noise == 0)
        return;
    struct lull_table *table =
        lull_document_table(document, "noise_cores", "Noise of a core", LULL_BY_COLUMN);
    lull_table_corner(table, "Core");
    uint32_t share = lull_table_column(table, "share", "share");
    uint32_t power = lull_table_column(table, "power", "power");
    uint32_t detours = lull_table_column(table, "detours", "detours");
    uint32_t duration = lull_table_column(table, "duration", "recorded");
    for (size_t i = 0; i < machine->n_noise; i++) {
        const struct lull_machine_noise *noise = &machine->noise[i];
        const char *name = lull_arena_printf(arena, "%u", noise->core);
        uint32_t row = lull_table_row(table, name, name, LULL_NO_ROW);
        if (!isnan(noise->share.value))
            lull_table_set(table, row, share, lull_cell_share(noise->share.value));
        set_quantity(table, row, power, noise->power.value, "s");
        lull_table_set(table, row, detours, lull_cell_count(noise->n_detours));
        set_quantity(table, row, duration, noise->duration, "s");
    }
}

/* ---- facts and notes ----------------------------------------------------------------------- */

static void fact(struct lull_document *document, const char *id, const char *label,
                 const char *text)
{
    if (text)
        lull_document_fact(document, id, label, lull_cell_text(text));
}

static const char *describe_cache(const struct lull_machine_cache *cache, struct lull_arena *arena)
{
    char size[32];
    const char *text =
        cache->bytes ? lull_format_size(cache->bytes, size, sizeof size) : "size unknown";
    text = lull_arena_strdup(arena, text);
    if (cache->ways)
        text = lull_arena_printf(arena, "%s, %u ways", text, cache->ways);
    if (cache->line_bytes)
        text = lull_arena_printf(arena, "%s, lines of %u B", text, cache->line_bytes);
    if (cache->shared_cores > 1)
        text = lull_arena_printf(arena, "%s, shared by %u cores", text, cache->shared_cores);
    if (cache->inclusive != LULL_UNKNOWN)
        text = lull_arena_printf(arena, "%s, %sinclusive", text,
                                 cache->inclusive == LULL_YES ? "" : "not ");
    return text;
}

static void add_cpu(struct lull_document *document, const struct lull_machine *machine,
                    struct lull_arena *arena)
{
    const struct lull_machine_cpu *cpu = &machine->cpu;
    fact(document, "cpu", "Processor", cpu->model);
    if (cpu->cores)
        lull_document_fact(document, "cores", "Cores", lull_cell_count(cpu->cores));
    if (cpu->packages > 1)
        lull_document_fact(document, "packages", "Sockets", lull_cell_count(cpu->packages));
    if (cpu->numa_domains > 1)
        lull_document_fact(document, "numa_domains", "Memory domains",
                           lull_cell_count(cpu->numa_domains));
    for (size_t i = 0; i < machine->n_caches; i++) {
        const struct lull_machine_cache *cache = &machine->caches[i];
        const char *id = lull_arena_printf(arena, "l%u", cache->level);
        fact(document, id, lull_arena_printf(arena, "L%u cache", cache->level),
             describe_cache(cache, arena));
    }
    if (machine->memory_bytes)
        lull_document_fact(document, "memory", "Memory", lull_cell_bytes(machine->memory_bytes));
}

static void add_provenance(struct lull_document *document, const struct lull_machine *machine)
{
    const struct lull_machine_provenance *from = &machine->provenance;
    fact(document, "host", "Host", machine->host.name);
    fact(document, "hypervisor", "Hypervisor", machine->host.hypervisor);
    fact(document, "source", "Published in", from->source);
    fact(document, "date", "Date", from->date);
    fact(document, "effort", "Effort", from->effort);
    fact(document, "kernel", "Kernel", from->kernel);
    fact(document, "compiler", "Compiler", from->compiler);
    fact(document, "mpi", "MPI", from->mpi);
    fact(document, "openmp", "OpenMP", from->openmp);
    fact(document, "openmp_environment", "OpenMP environment", from->openmp_environment);
    if (strcmp(from->kind, "measured") == 0) {
        fact(document, "governor", "Governor", from->governor ? from->governor : "unknown");
        fact(document, "turbo", "Turbo", from->turbo ? from->turbo : "unknown");
    }
    fact(document, "clock_source", "Clock", from->clock_source);
    fact(document, "pinning", "Pinning", from->pinning);
    fact(document, "pages", "Pages", from->pages);
    for (size_t i = 0; i < from->n_remarks; i++)
        lull_document_note(document, LULL_NOTE_INFO, "%s.", from->remarks[i]);
}

static void add_verdicts(struct lull_document *document, const struct lull_machine *machine)
{
    size_t counts[LULL_VERDICT_PUBLISHED + 1] = {0}, all = machine->numbers.count;
    for (size_t i = 0; i < all; i++)
        counts[machine->numbers.items[i].verdict]++;
    if (counts[LULL_VERDICT_NOT_CONVERGED])
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu of %zu numbers have not converged: they are known less well than "
                           "asked. --full, or a quieter machine, makes them surer.",
                           counts[LULL_VERDICT_NOT_CONVERGED], all);
    if (counts[LULL_VERDICT_NOISY])
        lull_document_note(document, LULL_NOTE_INFO,
                           "%zu of %zu numbers were taken while something else used the cores.",
                           counts[LULL_VERDICT_NOISY], all);
}

/* Curves have no table. */
static void add_curves(struct lull_document *document, const struct lull_machine *machine,
                       struct lull_arena *arena)
{
    const char *names = "";
    for (size_t i = 0; i < machine->n_series; i++)
        names = lull_arena_printf(arena, "%s%s%s", names, i ? ", " : "", machine->series[i].name);
    if (machine->n_series)
        lull_document_note(document, LULL_NOTE_INFO,
                           "Curves (%s) are in the machine file, -o, and drawn with --charts.",
                           names);
}

struct lull_document *lull_bench_document(const struct lull_machine *machine,
                                          struct lull_arena *arena)
{
    struct lull_document *document = lull_document_create(arena, "lull-bench/1", "");
    fact(document, "name", "Machine", machine->name);
    add_cpu(document, machine, arena);
    add_provenance(document, machine);
    for (size_t i = 0; i < SECTIONS; i++)
        add_section(document, machine, i);
    add_network(document, machine, arena);
    add_machine_noise(document, machine, arena);
    add_curves(document, machine, arena);
    add_verdicts(document, machine);
    return document;
}
