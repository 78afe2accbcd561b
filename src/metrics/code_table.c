/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics/code_table.h"

#include "base/hash.h"
#include "stats/quantile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row that is being made. */
struct draft {
    struct lull_code_row row;
    const char *plain;        /* the function as call sites have it */
    uint32_t lowest, highest; /* lines of its samples */
    uint32_t next;            /* another row of a function that call sites call the same */
    double variance;          /* of useful_ns, ns^2 */
    int64_t longest_line;     /* ns */
};

/* Useful time of a process in a row. */
struct row_time {
    uint32_t row, process;
    int64_t ns;
};

/* Useful time of all threads; that of threads with samples, and sum(U^2 / n) over these. */
struct useful {
    int64_t all, sampled;
    double spread;
};

struct table_maker {
    const struct lull_code_times *code;
    const struct lull_trace *trace;
    const struct lull_reading *reading;
    enum lull_code_level level;
    struct lull_arena *arena;
    struct draft *rows;
    size_t n_rows, capacity;
    struct lull_hash keys;  /* of rows: their index */
    struct lull_hash names; /* of functions as call sites have them, with their files: first row */
    uint32_t *row_of;       /* [n_places] */
    int64_t *place_ns;      /* [n_places] */
    struct row_time *times;
    size_t n_times, times_capacity;
    uint32_t n_processes; /* of the application */
    struct useful useful;
    bool no_memory;
};

/* The name of the function of the source: compilers move code of a function into others, whose names
 * begin with its name ("step._omp_fn.0", "step.constprop.0"). */
static const char *source_function(const char *name, struct lull_arena *arena)
{
    static const char *const moved[] = {"._omp_fn.", ".omp_outlined", ".constprop.", ".isra.",
                                        ".part.",    ".cold",         ".lto_priv."};
    const char *end = NULL;
    if (strncmp(name, ".omp_outlined", strlen(".omp_outlined")) == 0)
        return "parallel region"; /* of clang 14, which does not say of which function */
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        const char *at = strstr(name, moved[i]);
        if (at && at > name && (!end || at < end))
            end = at;
    }
    return end ? lull_arena_strndup(arena, name, (size_t)(end - name)) : name;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The row with a key, which is made where there is none. NULL: no memory. */
static struct draft *find_row(struct table_maker *maker, const char *key, bool *ret_new)
{
    uint64_t *index = lull_hash_add(&maker->keys, key, strlen(key), maker->n_rows, ret_new);
    if (!index) {
        maker->no_memory = true;
        return NULL;
    }
    if (*ret_new) {
        maker->rows = lull_arena_grow(maker->arena, maker->rows, &maker->capacity,
                                      maker->n_rows + 1, sizeof *maker->rows);
        maker->rows[maker->n_rows++] =
            (struct draft){.row = {.function = "", .file = "", .object = LULL_NONE},
                           .plain = "",
                           .lowest = UINT32_MAX,
                           .next = LULL_NONE};
    }
    return &maker->rows[*index];
}

/* What call sites call the function of a row is noted, to be looked up. */
static void note_name(struct table_maker *maker, struct draft *draft, const char *plain)
{
    const char *key = lull_arena_printf(maker->arena, "%s\n%s", plain, draft->row.file);
    const uint32_t index = (uint32_t)(draft - maker->rows);
    bool is_new;
    uint64_t *first = lull_hash_add(&maker->names, key, strlen(key), index, &is_new);
    draft->plain = plain;
    maker->no_memory |= !first;
    if (!first || is_new)
        return;
    draft->next = (uint32_t)*first;
    *first = index;
}

static const char *object_name(const struct table_maker *maker, uint32_t object)
{
    return object < maker->trace->n_objects ? maker->trace->objects[object].path : "";
}

/* A function, as code is named in rows; `at` is the source file, or else the file with the code. */
struct named_code {
    const char *function, *plain, *file, *at;
    uint32_t line;
};

static struct draft *row_of_function(struct table_maker *maker, const struct named_code *code,
                                     const char *kind, const char *told)
{
    bool is_new;
    const char *key = lull_arena_printf(maker->arena, "%s\n%s\n%s", kind, code->function, code->at);
    struct draft *draft = find_row(maker, key, &is_new);
    if (!draft || !is_new)
        return draft;
    draft->row.function = code->function;
    draft->row.file = code->file;
    draft->row.label = lull_arena_printf(maker->arena, "%s%s", code->function, told);
    const char *at = lull_code_base_name(code->at);
    draft->row.id = strcmp(at, code->function) == 0
                        ? draft->row.label
                        : lull_arena_printf(maker->arena, "%s (%s)%s", code->function, at, told);
    note_name(maker, draft, code->plain);
    return draft;
}

static struct draft *row_of_line(struct table_maker *maker, const struct named_code *code)
{
    bool is_new;
    if (!*code->file || code->line == 0)
        return row_of_function(maker, code, "function", "");
    const char *key = lull_arena_printf(maker->arena, "line\n%s\n%u", code->file, code->line);
    struct draft *draft = find_row(maker, key, &is_new);
    if (!draft || !is_new)
        return draft;
    draft->row.function = code->function;
    draft->row.file = code->file;
    draft->row.line = code->line;
    draft->row.id = draft->row.label =
        lull_arena_printf(maker->arena, "%s:%u", lull_code_base_name(code->file), code->line);
    note_name(maker, draft, code->plain);
    return draft;
}

static struct draft *row_of_loop(struct table_maker *maker, const struct named_code *code,
                                 const struct lull_loop *loop)
{
    bool is_new;
    if (!loop)
        return row_of_function(maker, code, "no loop", ", in no loop");
    const bool lines = *loop->file && loop->first > 0;
    const char *key = lines
                          ? lull_arena_printf(maker->arena, "loop\n%s\n%s\n%u\n%u", code->function,
                                              loop->file, loop->first, loop->last)
                          : lull_arena_printf(maker->arena, "loop at\n%s\n%s\n%llx", code->function,
                                              code->at, (unsigned long long)loop->head);
    struct draft *draft = find_row(maker, key, &is_new);
    if (!draft || !is_new)
        return draft;
    draft->row.function = code->function;
    draft->row.file = lines ? loop->file : "";
    draft->row.first = loop->first;
    draft->row.last = loop->last;
    const char *label =
        lines ? lull_arena_printf(maker->arena, "%s:%u-%u", lull_code_base_name(loop->file),
                                  loop->first, loop->last)
              : lull_arena_printf(maker->arena, "%s+0x%llx", lull_code_base_name(code->at),
                                  (unsigned long long)loop->head);
    draft->row.id = draft->row.label = label;
    note_name(maker, draft, code->plain);
    return draft;
}

static struct draft *row_of_code(struct table_maker *maker, const struct lull_code_place *place)
{
    bool is_new;
    if (place->known == LULL_CODE_NAMED) {
        const struct lull_symbol *symbol = lull_symbol_of_program(&place->symbol);
        const struct named_code code = {
            .function = source_function(symbol->short_name, maker->arena),
            .plain = source_function(symbol->function, maker->arena),
            .file = symbol->file,
            .at = *symbol->file ? symbol->file : object_name(maker, place->object),
            .line = symbol->line};
        return maker->level == LULL_CODE_BY_FUNCTION ? row_of_function(maker, &code, "function", "")
               : maker->level == LULL_CODE_BY_LINE   ? row_of_line(maker, &code)
                                                     : row_of_loop(maker, &code, place->loop);
    }
    const char *name = lull_code_name_of(maker->trace, place, maker->arena);
    const char *key = lull_arena_printf(
        maker->arena, "%u\n%s", (unsigned)place->known,
        place->known == LULL_CODE_NO_FILE ? name : object_name(maker, place->object));
    struct draft *draft = find_row(maker, key, &is_new);
    if (draft && is_new) {
        draft->row.known = place->known;
        draft->row.id = draft->row.label = name;
    }
    return draft;
}

static struct draft *row_of_place(struct table_maker *maker, const struct lull_code_place *place)
{
    struct draft *draft = row_of_code(maker, place);
    if (draft && draft->row.object == LULL_NONE)
        draft->row.object = place->object;
    return draft;
}

/* ---- useful time ----------------------------------------------------------------------------- */

static void add_time(struct table_maker *maker, uint32_t row, uint32_t process, int64_t ns)
{
    maker->times = lull_arena_grow(maker->arena, maker->times, &maker->times_capacity,
                                   maker->n_times + 1, sizeof *maker->times);
    maker->times[maker->n_times++] = (struct row_time){row, process, ns};
}

/* The parts of a thread, row by row, are added to those of its process. `of_thread` and `of_process` are
 * [n_rows] and hold zeros between calls, and between processes. */
static void add_thread(struct table_maker *maker, const struct lull_code_thread *thread,
                       int64_t *of_thread, int64_t *of_process)
{
    for (uint32_t i = 0; i < thread->n_parts; i++)
        of_thread[maker->row_of[thread->parts[i].place]] += thread->parts[i].ns;
    for (uint32_t i = 0; i < thread->n_parts; i++) {
        const uint32_t row = maker->row_of[thread->parts[i].place];
        const double p =
            thread->useful_ns > 0 ? (double)of_thread[row] / (double)thread->useful_ns : 0;
        maker->rows[row].row.useful_ns += of_thread[row];
        maker->rows[row].variance +=
            (double)thread->useful_ns * (double)thread->useful_ns * p * (1 - p) / thread->effective;
        of_process[row] += of_thread[row];
        of_thread[row] = 0; /* another part of the row adds nothing: p is 0 */
    }
}

static void add_process(struct table_maker *maker, uint32_t p, int64_t *of_thread,
                        int64_t *of_process, struct useful *useful, struct lull_code_table *table)
{
    const struct lull_process *process = &maker->trace->processes[p];
    const struct lull_code_thread *threads = &maker->code->threads[process->first_location];
    for (uint32_t t = 0; t < process->n_locations; t++) {
        const struct lull_code_thread *thread = &threads[t];
        useful->all += thread->useful_ns;
        if (thread->n_parts == 0) {
            table->unsampled_ns += thread->useful_ns;
            table->unsampled_threads += thread->useful_ns > 0;
            continue;
        }
        useful->sampled += thread->useful_ns;
        useful->spread += (double)thread->useful_ns * (double)thread->useful_ns / thread->effective;
        add_thread(maker, thread, of_thread, of_process);
    }
    const uint32_t team = lull_code_team_size(maker->trace, p);
    table->has_idle |= team > 1;
    for (uint32_t t = 0; t < process->n_locations; t++)
        for (uint32_t i = 0; i < threads[t].n_parts; i++) {
            const uint32_t row = maker->row_of[threads[t].parts[i].place];
            if (team > 1)
                maker->rows[row].row.idle_ns += (team - 1) * threads[t].parts[i].alone_ns;
            if (of_process[row] > 0)
                add_time(maker, row, p, of_process[row]);
            of_process[row] = 0;
        }
}

/* The share of a row in the useful time of all threads, with its interval. */
static void estimate(struct draft *draft, const struct useful *useful)
{
    struct lull_code_row *row = &draft->row;
    if (useful->all <= 0 || useful->sampled <= 0)
        return;
    const double whole = (double)useful->sampled, part = whole / (double)useful->all;
    const double p = (double)row->useful_ns / whole;
    double n = draft->variance > 0 ? p * (1 - p) * whole * whole / draft->variance
                                   : whole * whole / useful->spread;
    lull_proportion_interval(p, n, &row->low, &row->high);
    row->share = p * part;
    row->low *= part;
    row->high *= part;
}

static int by_row_and_time(const void *a, const void *b)
{
    const struct row_time *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return (x->process > y->process) - (x->process < y->process);
}

static bool is_analysed(const struct table_maker *maker, uint32_t process)
{
    const uint32_t application = maker->reading->application;
    return application == LULL_NONE || maker->trace->processes[process].application == application;
}

/* The k-th smallest of the times of all processes, most of which may have none in the row. */
static int64_t ranked(const struct row_time *times, size_t n, size_t n_processes, size_t k)
{
    const size_t without = n_processes - n;
    return k < without ? 0 : times[k - without].ns;
}

/* The first process that has the least time: one without any, where there is one. `in_row` is
 * [n_processes] of the trace and holds false between calls. */
static uint32_t least_process(const struct table_maker *maker, const struct row_time *times,
                              size_t n, bool *in_row)
{
    uint32_t least = LULL_NONE;
    for (size_t i = 0; i < n; i++)
        in_row[times[i].process] = true;
    if (n < maker->n_processes)
        for (least = 0; in_row[least] || !is_analysed(maker, least);)
            least++;
    else
        least = times[0].process; /* of one time the processes ascend */
    for (size_t i = 0; i < n; i++)
        in_row[times[i].process] = false;
    return least;
}

/* Smallest, median and largest time of a process, of the n that have some in the row. */
static void compare_processes(const struct table_maker *maker, struct lull_code_row *row,
                              const struct row_time *times, size_t n, bool *in_row)
{
    struct lull_code_time *kept = lull_arena_alloc(maker->arena, n * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        kept[i] = (struct lull_code_time){times[i].process, times[i].ns};
    row->times = kept;
    row->n_times = (uint32_t)n;
    const size_t all = maker->n_processes, middle = all / 2;
    row->min_ns = ranked(times, n, all, 0);
    row->max_ns = times[n - 1].ns;
    row->median_ns = ranked(times, n, all, middle);
    if (all % 2 == 0)
        row->median_ns = (ranked(times, n, all, middle - 1) + row->median_ns) / 2;
    row->min_process = least_process(maker, times, n, in_row);
    for (size_t i = n; i-- > 0 && times[i].ns == row->max_ns;)
        row->max_process = times[i].process;
}

static bool divide_among_rows(struct table_maker *maker, struct lull_code_table *table)
{
    const struct lull_trace *trace = maker->trace;
    int64_t *sums = calloc(2 * maker->n_rows + 1, sizeof *sums);
    bool *in_row = calloc(trace->n_processes + (size_t)1, sizeof *in_row);
    struct useful useful = {0};
    if (!sums || !in_row) {
        free(sums);
        free(in_row);
        return false;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++)
        if (is_analysed(maker, p)) {
            add_process(maker, p, sums, sums + maker->n_rows, &useful, table);
            maker->n_processes++;
        }
    free(sums);
    table->useful_ns = useful.all;
    if (maker->n_times > 0)
        qsort(maker->times, maker->n_times, sizeof *maker->times, by_row_and_time);
    for (size_t i = 0, end; i < maker->n_times; i = end) {
        struct draft *draft = &maker->rows[maker->times[i].row];
        for (end = i + 1; end < maker->n_times && maker->times[end].row == maker->times[i].row;)
            end++;
        compare_processes(maker, &draft->row, &maker->times[i], end - i, in_row);
    }
    free(in_row);
    maker->useful = useful;
    return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct line_time {
    uint32_t row, line;
    int64_t ns;
};

static int by_row_and_line(const void *a, const void *b)
{
    const struct line_time *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static uint32_t line_of(const struct lull_code_place *place)
{
    return lull_symbol_of_program(&place->symbol)->line;
}

/* The line of each row that has the most useful time, and the lines of its samples. */
static bool find_lines(struct table_maker *maker)
{
    const struct lull_code_times *code = maker->code;
    struct line_time *lines = calloc(code->n_places + (size_t)1, sizeof *lines);
    if (!lines)
        return false;
    for (uint32_t i = 0; i < code->n_places; i++)
        lines[i] =
            (struct line_time){maker->row_of[i], line_of(&code->places[i]), maker->place_ns[i]};
    qsort(lines, code->n_places, sizeof *lines, by_row_and_line);
    for (uint32_t i = 0, end; i < code->n_places; i = end) {
        struct draft *draft = &maker->rows[lines[i].row];
        int64_t ns = 0;
        for (end = i; end < code->n_places && by_row_and_line(&lines[i], &lines[end]) == 0; end++)
            ns += lines[end].ns;
        if (lines[i].line == 0)
            continue;
        draft->lowest = lines[i].line < draft->lowest ? lines[i].line : draft->lowest;
        draft->highest = lines[i].line > draft->highest ? lines[i].line : draft->highest;
        if (draft->row.line == 0 || ns > draft->longest_line) {
            draft->row.line = lines[i].line;
            draft->longest_line = ns;
        }
    }
    free(lines);
    return true;
}

/* ---- what has no name ------------------------------------------------------------------------ */

static int by_share(const void *a, const void *b)
{
    const struct lull_code_gap *x = a, *y = b;
    if (x->share != y->share)
        return x->share < y->share ? 1 : -1;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return (int)x->known - (int)y->known;
}

/* Adds what is missing of a file, if that is a part of the useful time. */
static void add_gap(struct lull_code_table *table, struct lull_code_gap *gaps,
                    const struct lull_code_gap *gap, int64_t ns)
{
    const double share = (double)ns / (double)table->useful_ns;
    if (share < LULL_CODE_GAP)
        return;
    gaps[table->n_gaps] = *gap;
    gaps[table->n_gaps++].share = share;
}

/* Lists the files whose code has no names, or no lines. Places are in the order of objects. */
static bool find_gaps(const struct table_maker *maker, struct lull_code_table *table)
{
    const struct lull_code_times *code = maker->code;
    const bool stubs = lull_code_has_python(maker->trace, code->places, code->n_places);
    struct lull_code_gap *gaps =
        lull_arena_try(maker->arena, 2 * (size_t)maker->trace->n_objects + 2, sizeof *gaps);
    int64_t ns[2] = {0};                 /* without a name, and with one but without a line */
    int64_t all = 0;                     /* in the file */
    bool python = false;                 /* the file has Python's interpreter */
    uint8_t unnamed = LULL_CODE_NO_FILE; /* why those of the object have no name */
    for (uint32_t i = 0; gaps && table->useful_ns > 0 && i < code->n_places; i++) {
        const struct lull_code_place *place = &code->places[i];
        const bool named = place->known == LULL_CODE_NAMED;
        const bool interpreted = place->object < maker->trace->n_objects &&
                                 maker->trace->objects[place->object].function;
        if ((!named || line_of(place) == 0) && !interpreted &&
            !lull_code_is_of_system(maker->trace, place))
            ns[named] += maker->place_ns[i];
        unnamed = named ? unnamed : place->known;
        all += maker->place_ns[i];
        for (const struct lull_symbol *at = &place->symbol; at && !stubs; at = at->caller)
            python |= lull_code_is_interpreter(at->function);
        if (i + 1 < code->n_places && code->places[i + 1].object == place->object)
            continue;
        struct lull_code_gap gap = {
            .object = place->object,
            .known = LULL_CODE_NAMED,
            .python = python,
            .why = place->object < maker->trace->n_objects ? code->files[place->object].why : ""};
        add_gap(table, gaps, &gap, python ? all : ns[1]);
        gap.known = unnamed;
        add_gap(table, gaps, &gap, python ? 0 : ns[0]);
        ns[0] = ns[1] = all = 0;
        python = false;
    }
    if (gaps)
        qsort(gaps, table->n_gaps, sizeof *gaps, by_share);
    table->gaps = gaps;
    return gaps != NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The function that a call site names first, "exchange" of "exchange (heat.c:120) < main (heat.c:40)";
 * "": none. */
static const char *function_of_site(const char *site, struct lull_arena *arena)
{
    const char *end = strstr(site, ")" LULL_SITE_CALLER);
    const size_t length = end ? (size_t)(end - site) : strlen(site);
    for (size_t i = length; i-- > 1;)
        if (site[i] == '(' && site[i - 1] == ' ')
            return source_function(lull_arena_strndup(arena, site, i - 1), arena);
    return "";
}

static uint32_t distance_of(const struct draft *draft, uint32_t line)
{
    if (line < draft->lowest)
        return draft->lowest - line;
    return line > draft->highest ? line - draft->highest : 0;
}

/* Of the rows of functions with the name and file, the one whose samples are nearest to the line; of loops,
 * the smallest one that has the line, and else that of code in no loop. */
static struct draft *row_near(struct table_maker *maker, const struct named_code *code)
{
    const char *key = lull_arena_printf(maker->arena, "%s\n%s", code->plain, code->file);
    const uint64_t *first = lull_hash_find(&maker->names, key, strlen(key));
    struct draft *best = NULL;
    for (uint32_t r = first ? (uint32_t)*first : LULL_NONE; r != LULL_NONE;
         r = maker->rows[r].next) {
        struct draft *draft = &maker->rows[r];
        const struct lull_code_row *row = &draft->row;
        const bool is_loop = row->last > 0;
        if (is_loop && (code->line < row->first || code->line > row->last))
            continue;
        if (!best)
            best = draft;
        else if (is_loop != (best->row.last > 0))
            best = is_loop ? draft : best;
        else if (is_loop)
            best = row->last - row->first < best->row.last - best->row.first ? draft : best;
        else if (distance_of(draft, code->line) < distance_of(best, code->line))
            best = draft;
    }
    return best;
}

/* The row of a source file whose samples surround a line closest, and else the one that is nearest to it:
 * of what compilers call by its line, as the constructs of OpenMP. */
static struct draft *row_around(struct table_maker *maker, const struct lull_region *region)
{
    struct draft *best = NULL;
    for (size_t r = 0; r < maker->n_rows; r++) {
        struct draft *draft = &maker->rows[r];
        if (draft->highest == 0 || strcmp(draft->row.file, region->file) != 0)
            continue;
        const uint32_t distance = distance_of(draft, region->line);
        const uint32_t least = best ? distance_of(best, region->line) : 0;
        if (!best || distance < least ||
            (distance == least && draft->highest - draft->lowest < best->highest - best->lowest))
            best = draft;
    }
    return best;
}

/* The row that has the calls of a region. */
static struct draft *row_of_call(struct table_maker *maker, const struct lull_region *region)
{
    const char *function = function_of_site(region->site, maker->arena);
    const struct named_code code = {.function =
                                        *function ? function : lull_code_base_name(region->file),
                                    .plain = function,
                                    .file = region->file,
                                    .at = *region->file ? region->file : region->site,
                                    .line = region->line};
    if (maker->level == LULL_CODE_BY_LINE)
        return row_of_line(maker, &code);
    struct draft *draft = *region->site ? row_near(maker, &code) : row_around(maker, region);
    if (draft)
        return draft;
    draft = maker->level == LULL_CODE_BY_FUNCTION ? row_of_function(maker, &code, "function", "")
                                                  : row_of_loop(maker, &code, NULL);
    if (draft && draft->row.line == 0)
        draft->row.line = region->line;
    return draft;
}

/* Whether it is known where the calls of a region come from, or which line of the source it is. */
static bool has_place(const struct lull_region *region)
{
    if (region->paradigm == LULL_PARADIGM_OPENMP && *region->file && region->line > 0)
        return true;
    return *region->site &&
           (region->paradigm == LULL_PARADIGM_MPI || region->paradigm == LULL_PARADIGM_OPENMP);
}

static const char *key_of_call(struct lull_arena *arena, const char *name, const char *site)
{
    return lull_arena_printf(arena, "%s\n%s", name, site);
}

static const struct lull_region_breakdown *find_times(const struct lull_hash *table,
                                                      const struct lull_breakdown *breakdown,
                                                      const struct lull_region *region,
                                                      struct lull_arena *arena)
{
    const char *key = key_of_call(arena, region->name, region->site);
    uint64_t *index = lull_hash_find(table, key, strlen(key));
    if (!index || *index == LULL_NONE)
        return NULL;
    const struct lull_region_breakdown *times = &breakdown->regions[*index];
    *index = LULL_NONE; /* another region with the same name and site is in these times, too */
    return times;
}

/* Adds the times in calls to the rows of the code that they are called from. A region that stands for
 * calls from everywhere has none. */
static bool add_calls(struct table_maker *maker, const struct lull_breakdown *breakdown,
                      const int64_t *waited, struct lull_code_table *table)
{
    const struct lull_trace *trace = maker->trace;
    struct lull_hash by_call = {0};
    bool good = true;
    for (uint32_t r = 0; good && r < breakdown->n_regions; r++) {
        const char *key =
            key_of_call(maker->arena, breakdown->regions[r].name, breakdown->regions[r].site);
        good = lull_hash_add(&by_call, key, strlen(key), r, NULL);
    }
    for (uint32_t r = 0; good && r < trace->n_regions; r++) {
        const struct lull_region *region = &trace->regions[r];
        const bool mpi = region->paradigm == LULL_PARADIGM_MPI;
        if (!has_place(region))
            continue;
        table->has_calls = true;
        const struct lull_region_breakdown *times =
            find_times(&by_call, breakdown, region, maker->arena);
        const int64_t waits = waited ? waited[r] : 0;
        const int64_t ns = times ? times->exclusive_ns - times->useful_ns : 0;
        struct draft *draft = ns > 0 || waits > 0 ? row_of_call(maker, region) : NULL;
        good = !maker->no_memory;
        if (!draft)
            continue;
        *(mpi ? &draft->row.mpi_ns : &draft->row.openmp_ns) += ns;
        draft->row.waited_ns += waits;
        if (region->activity == LULL_OMP_SYNC || region->activity == LULL_OMP_LOCK)
            draft->row.openmp_waited_ns += ns;
    }
    lull_hash_free(&by_call);
    return good;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int by_useful_time(const void *a, const void *b)
{
    const struct lull_code_row *x = a, *y = b;
    if (x->useful_ns != y->useful_ns)
        return x->useful_ns < y->useful_ns ? 1 : -1;
    const int64_t calls = x->mpi_ns + x->openmp_ns, others = y->mpi_ns + y->openmp_ns;
    if (calls != others)
        return calls < others ? 1 : -1;
    const int order = strcmp(x->id, y->id);
    if (order)
        return order;
    const int files = strcmp(x->file, y->file);
    if (files)
        return files;
    const int functions = strcmp(x->function, y->function);
    return functions ? functions : (x->number > y->number) - (x->number < y->number);
}

/* Puts the rows in their order, and tells places where they have gone. */
static void sort_rows(struct table_maker *maker, struct lull_code_table *table)
{
    for (size_t r = 0; r < maker->n_rows; r++)
        estimate(&maker->rows[r], &maker->useful);
    struct lull_code_row *rows = lull_arena_alloc(maker->arena, (maker->n_rows + 1) * sizeof *rows);
    uint32_t *place = lull_arena_alloc(maker->arena, (maker->n_rows + 1) * sizeof *place);
    for (size_t r = 0; r < maker->n_rows; r++) {
        rows[r] = maker->rows[r].row;
        rows[r].number = (uint32_t)r;
    }
    qsort(rows, maker->n_rows, sizeof *rows, by_useful_time);
    for (size_t r = 0; r < maker->n_rows; r++)
        place[rows[r].number] = (uint32_t)r;
    for (uint32_t i = 0; i < maker->code->n_places; i++)
        maker->row_of[i] = place[maker->row_of[i]];
    table->rows = rows;
    table->n_rows = (uint32_t)maker->n_rows;
    table->row_of = maker->row_of;
}

static bool make_rows(struct table_maker *maker)
{
    const struct lull_code_times *code = maker->code;
    maker->row_of = lull_arena_try(maker->arena, code->n_places + (size_t)1, sizeof *maker->row_of);
    for (uint32_t i = 0; maker->row_of && i < code->n_places; i++) {
        const struct draft *draft = row_of_place(maker, &code->places[i]);
        if (!draft)
            return false;
        maker->row_of[i] = (uint32_t)(draft - maker->rows);
    }
    maker->place_ns =
        lull_arena_try(maker->arena, code->n_places + (size_t)1, sizeof *maker->place_ns);
    for (uint32_t l = 0; maker->place_ns && l < maker->trace->n_locations; l++)
        for (uint32_t i = 0; i < code->threads[l].n_parts; i++)
            maker->place_ns[code->threads[l].parts[i].place] += code->threads[l].parts[i].ns;
    return maker->row_of && maker->place_ns && !maker->no_memory;
}

lull_status lull_code_table_make(const struct lull_code_times *code, const struct lull_trace *trace,
                                 const struct lull_reading *reading,
                                 const struct lull_breakdown *breakdown, const int64_t *waited,
                                 enum lull_code_level level, struct lull_arena *arena,
                                 struct lull_code_table *ret_table, struct lull_error *err)
{
    struct table_maker maker = {.code = code,
                                .trace = trace,
                                .reading = lull_reading_of(reading),
                                .level = level,
                                .arena = arena};
    *ret_table = (struct lull_code_table){0};
    const bool good = make_rows(&maker) && divide_among_rows(&maker, ret_table) &&
                      find_lines(&maker) && find_gaps(&maker, ret_table) &&
                      add_calls(&maker, breakdown, waited, ret_table);
    lull_hash_free(&maker.keys);
    lull_hash_free(&maker.names);
    if (!good)
        return lull_fail(err, LULL_ERR_MEMORY, "%s: not enough memory for a table of code",
                         trace->path);
    sort_rows(&maker, ret_table);
    return LULL_OK;
}

const char *lull_code_tell_gap(const struct lull_code_gap *gap, const struct lull_trace *trace,
                               struct lull_arena *arena)
{
    const char *path = gap->object < trace->n_objects ? trace->objects[gap->object].path : "";
    const char *why = *gap->why ? gap->why : path;
    const char *text;
    switch (gap->known) {
    case LULL_CODE_NAMED:
        text = lull_arena_printf(arena,
                                 gap->python
                                     ? "is in Python's interpreter (%s), and which functions of "
                                       "Python it executed is not known: record with "
                                       "--sample-stack, and start Python, 3.12 or newer, with "
                                       "-X perf"
                                     : "is in %s, of which functions are known and lines are "
                                       "not: -g compiles lines into it",
                                 path);
        break;
    case LULL_CODE_NO_SYMBOLS:
        text = lull_arena_printf(
            arena, "is in %s, which has no symbols there: compile it with -g, and do not strip it",
            path);
        break;
    case LULL_CODE_CHANGED:
        text = lull_arena_printf(arena,
                                 "has no names, because its file is not the one that was "
                                 "recorded (%s): put that back, or record again",
                                 why);
        break;
    case LULL_CODE_ABSENT:
        text = lull_arena_printf(
            arena,
            "has no names, because its file cannot be read (%s): put it back, or record again",
            why);
        break;
    case LULL_CODE_NOT_BUILT:
        text = "has no names, because lull was built without libdw";
        break;
    default:
        text = "is in code that no file holds, as code that a program makes while it runs";
    }
    return lull_arena_printf(arena, "%.0f %% of the useful time %s", 100 * gap->share, text);
}
