/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/model/hot_loops.h"

#include "base/parallel.h"
#include "binary/source.h"
#include "diagnose/evidence.h"
#include "model/kernel/next_step.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Where nobody says the sizes, the arrays of a nest have this many times the bytes of the last cache. */
static const double supposed_caches = 4;
/* A thread counts as one that executes a loop at the same time as others if it computes there for so much
 * of what the thread with most does. */
static const double taking_part = 0.1;

/* ==== what is known of a loop ================================================================= */

struct candidate {
    struct lull_hot_loop *loop;
    struct lull_arena *arena; /* of what is found while others are looked at, too */
    struct lull_kernel_source source;
    struct lull_kernel *kernel; /* of the nest; NULL: it is not understood */
    const char *const *flags;   /* -I and the like */
    unsigned cores;
    int body;                            /* index of the innermost loop in `kernel` */
    size_t same;                         /* the first candidate with the same nest */
    struct lull_kernel_prediction *nest; /* of the first candidate with it */
};

struct search_of_hot {
    const struct lull_run *run;
    const struct lull_hot_wish *wish;
    const struct lull_code_times *code;
    const struct lull_code_table *table;
    const int64_t *ns; /* [n_places of the code]: useful time of all threads */
    struct candidate *candidates;
    size_t n_candidates;
    bool predicts; /* else kernels and machine code are read */
    atomic_size_t next;
};

/* "line 12: a branch ..." of "/home/x/heat.c: line 12: a branch ...". */
static const char *without_path(const char *text, const char *path, struct lull_arena *arena)
{
    const size_t length = strlen(path);
    if (strncmp(text, path, length) == 0 && strncmp(text + length, ": ", 2) == 0)
        text += length + 2;
    return lull_arena_strdup(arena, text);
}

/* ---- the source ------------------------------------------------------------------------------ */

/* A place in the code of a row; NULL: there is none. */
static const struct lull_code_place *place_of_hot(const struct search_of_hot *search,
                                                  const struct lull_code_row *row)
{
    for (uint32_t i = 0; i < search->code->n_places; i++)
        if (search->table->row_of[i] < search->table->n_rows &&
            &search->table->rows[search->table->row_of[i]] == row)
            return &search->code->places[i];
    return NULL;
}

/* Whether another loop lies inside of a row: then the row has the time between its executions. */
static bool has_loop_inside(const struct lull_code_table *table, const struct lull_code_row *row)
{
    for (uint32_t i = 0; i < table->n_rows; i++) {
        const struct lull_code_row *other = &table->rows[i];
        if (other != row && other->first > 0 && strcmp(other->file, row->file) == 0 &&
            other->first >= row->first && other->last <= row->last &&
            (other->first > row->first || other->last < row->last))
            return true;
    }
    return false;
}

/* Finds out how the code of a loop was compiled, and adds where its headers are. */
static const char *find_compilation(const struct search_of_hot *search, struct candidate *candidate,
                                    const struct lull_code_place *place)
{
    struct lull_arena *arena = candidate->arena;
    const struct lull_object *object = &search->run->trace->objects[place->object];
    const char *file = candidate->loop->row->file;
    struct lull_symbols *symbols;
    if (lull_symbols_open(object->path, object->build_id, &symbols) != LULL_SYMBOLS_FOUND)
        return "the program is not there any more";
    const struct lull_compilation compiled =
        lull_symbols_compilation(symbols, place->offset, arena);
    lull_symbols_close(symbols);
    if (strstr(compiled.producer, "-fdefault-real-") ||
        strstr(compiled.producer, "-fdefault-integer-") ||
        strstr(compiled.producer, "-fdefault-double-"))
        return "an option of its compiler gave its numbers other sizes than the source says";
    if (*compiled.file && strcmp(compiled.file, file) != 0)
        return lull_arena_printf(arena, "it stands in a header, %s", lull_code_base_name(file));
    const struct lull_incore_options *incore = &search->wish->incore;
    size_t n_given = 0, count = 0;
    while (incore->flags && incore->flags[n_given])
        n_given++;
    const char **flags = lull_arena_zero(arena, n_given + compiled.n_folders + 1, sizeof *flags);
    for (size_t i = 0; i < n_given; i++)
        flags[count++] = incore->flags[i];
    for (size_t i = 0; i < compiled.n_folders; i++)
        flags[count++] = lull_arena_printf(arena, "-I%s", compiled.folders[i]);
    candidate->flags = flags;
    return NULL;
}

/* Why the source of a row cannot be trusted to be that of the program; NULL: it can. */
static const char *check_source(const struct search_of_hot *search, struct candidate *candidate,
                                const struct lull_code_place *place)
{
    const struct lull_code_row *row = candidate->loop->row;
    const struct lull_source_search from = {.binary =
                                                search->run->trace->objects[place->object].path};
    struct lull_source_text source;
    struct lull_error err;
    if (lull_source_read(row->file, row->first, row->first, &from, candidate->arena, &source,
                         &err) != LULL_OK)
        return lull_arena_strdup(candidate->arena, err.text);
    candidate->source.path = source.path;
    return source.newer ? "its source was changed since the program was compiled" : NULL;
}

static const char *find_hot_source(const struct search_of_hot *search, struct candidate *candidate)
{
    const struct lull_code_row *row = candidate->loop->row;
    const struct lull_code_place *place = place_of_hot(search, row);
    if (!*row->file || row->first == 0)
        return "its lines are not known: compile with -g";
    if (!place || place->object >= search->run->trace->n_objects)
        return "its code is not known";
    if (lull_is_system_header(row->file))
        return "it stands in a header of the system";
    const char *why = find_compilation(search, candidate, place);
    return why ? why : check_source(search, candidate, place);
}

/* ---- the machine code ------------------------------------------------------------------------ */

static int64_t *time_of_places(const struct search_of_hot *search, struct lull_arena *arena)
{
    int64_t *ns = lull_arena_zero(arena, search->code->n_places + (size_t)1, sizeof *ns);
    for (uint32_t l = 0; l < search->run->trace->n_locations; l++) {
        const struct lull_code_thread *thread = &search->code->threads[l];
        for (uint32_t i = 0; i < thread->n_parts; i++)
            ns[thread->parts[i].place] += thread->parts[i].ns;
    }
    return ns;
}

/* A place in that loop of the machine code in which a row has most time; NULL: there is none. */
static const struct lull_code_place *place_in_code(const struct search_of_hot *search,
                                                   const struct lull_code_row *row)
{
    const struct lull_code_times *code = search->code;
    const struct lull_code_place *found = NULL;
    int64_t most = 0;
    for (uint32_t i = 0; i < code->n_places; i++) {
        const struct lull_code_place *place = &code->places[i];
        if (search->table->row_of[i] >= search->table->n_rows || !place->loop ||
            &search->table->rows[search->table->row_of[i]] != row)
            continue;
        int64_t ns = 0;
        for (uint32_t k = 0; k < code->n_places; k++)
            if (code->places[k].loop == place->loop && code->places[k].object == place->object)
                ns += search->ns[k];
        if (ns > most) {
            most = ns;
            found = place;
        }
    }
    return found;
}

/* Asks llvm-mca about the machine code of a loop. Returns why it cannot; NULL: it can. */
static const char *read_code(const struct search_of_hot *search, struct candidate *candidate)
{
    const struct lull_hot_wish *wish = search->wish;
    struct lull_arena *arena = candidate->arena;
    const struct lull_code_place *place = place_in_code(search, candidate->loop->row);
    struct lull_hot_code *code = lull_arena_zero(arena, 1, sizeof *code);
    struct lull_symbols *symbols;
    struct lull_loop_code machine_code;
    struct lull_error err = {""};
    double clock;
    if (!place || place->object >= search->run->trace->n_objects)
        return "no loop of its machine code is known";
    const struct lull_object *object = &search->run->trace->objects[place->object];
    if (lull_symbols_open(object->path, object->build_id, &symbols) != LULL_SYMBOLS_FOUND)
        return "the program is not there any more";
    const bool found = lull_symbols_loop_code(symbols, place->offset, arena, &machine_code);
    lull_symbols_close(symbols);
    if (!found)
        return "its machine code has another loop inside, or is not of x86-64";
    code->n_others = machine_code.n_others;
    code->n_calls = machine_code.n_calls;
    const bool whole = code->n_others == 0 && code->n_calls == 0;
    if (lull_ecm_clock(wish->machine, &clock, &err) != LULL_OK ||
        lull_incore_of_code(machine_code.code, machine_code.size, whole, wish->machine,
                            &wish->incore, arena, &code->in_core, &err) != LULL_OK)
        return lull_arena_strdup(arena, err.text);
    code->seconds = code->in_core.cycles / clock;
    candidate->loop->code = code;
    return NULL;
}

/* Whether all passes execute the same instructions, and no other functions. */
static bool is_whole_pass(const struct lull_hot_code *code)
{
    return code && code->n_others == 0 && code->n_calls == 0;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static double last_cache(const struct lull_machine *machine)
{
    return machine->n_caches > 0 ? (double)machine->caches[machine->n_caches - 1].bytes : 0;
}

/* The innermost loop of the nest that has the lines of a row, the busiest of several; LULL_KERNEL_NONE: none. */
static int find_body(const struct lull_kernel *kernel, const struct lull_code_row *row)
{
    int found = LULL_KERNEL_NONE;
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        const struct lull_kernel_loop *loop = &kernel->loops[l];
        const unsigned first = kernel->code_line + loop->first_line;
        const unsigned last = kernel->code_line + loop->last_line;
        if (!lull_kernel_is_innermost(kernel, l) || last < row->first || first > row->last)
            continue;
        if (found == LULL_KERNEL_NONE ||
            lull_kernel_iterations(kernel, l) > lull_kernel_iterations(kernel, found))
            found = l;
    }
    return found;
}

static bool says_index(const struct lull_hot_wish *wish, const char *array)
{
    for (size_t i = 0; i < wish->n_indices; i++)
        if (strcmp(wish->indices[i].array, array) == 0)
            return true;
    return false;
}

/* Takes index arrays of which the user does not say what they hold to count up: no other order needs less. */
static void take_indices(const struct search_of_hot *search, struct candidate *candidate)
{
    const struct lull_kernel *kernel = candidate->kernel;
    struct lull_arena *arena = candidate->arena;
    struct lull_kernel_index *indices =
        lull_arena_zero(arena, kernel->n_accesses + search->wish->n_indices + 1, sizeof *indices);
    size_t count = 0;
    for (size_t i = 0; i < search->wish->n_indices; i++)
        indices[count++] = search->wish->indices[i];
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const int reads = kernel->accesses[i].index_access;
        const char *array =
            reads == LULL_KERNEL_NONE ? NULL : kernel->arrays[kernel->accesses[reads].array].name;
        bool known = !array || says_index(search->wish, array);
        for (size_t k = 0; !known && k < count; k++)
            known = strcmp(indices[k].array, array) == 0;
        if (known)
            continue;
        indices[count++] =
            (struct lull_kernel_index){.array = array, .kind = LULL_INDEX_SEQUENTIAL};
        candidate->loop->notes = lull_arena_printf(
            arena, "%sWhat %s holds is not known: it is taken to count up, the best case. ",
            candidate->loop->notes, array);
    }
    candidate->source.indices = indices;
    candidate->source.n_indices = count;
}

static void tell_sizes(struct candidate *candidate)
{
    const struct lull_kernel *kernel = candidate->kernel;
    struct lull_arena *arena = candidate->arena;
    const char *sizes = "", *supposed = "";
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        const struct lull_kernel_symbol *symbol = &kernel->symbols[s];
        if (!symbol->is_size || symbol->divisor ||
            (symbol->supposed && symbol->value == 1 && !symbol->varies))
            continue;
        if (symbol->supposed)
            supposed =
                lull_arena_printf(arena, "%s%s%s", supposed, *supposed ? ", " : "", symbol->name);
        else
            sizes = lull_arena_printf(arena, "%s%s%s %.0f", sizes, *sizes ? ", " : "", symbol->name,
                                      symbol->value);
    }
    candidate->loop->sizes = sizes;
    candidate->loop->supposed = *supposed ? supposed : NULL;
}

static const char *read_candidate(const struct search_of_hot *search, struct candidate *candidate)
{
    const struct lull_hot_wish *wish = search->wish;
    const struct lull_code_row *row = candidate->loop->row;
    struct lull_error err = {""};
    const char *why = find_hot_source(search, candidate);
    if (why)
        return why;
    candidate->source.first_line = row->first;
    candidate->source.last_line = row->last;
    candidate->source.suppose_bytes = supposed_caches * last_cache(wish->machine);
    candidate->source.sizes = wish->sizes;
    candidate->source.n_sizes = wish->n_sizes;
    candidate->source.costs = wish->costs;
    candidate->source.n_costs = wish->n_costs;
    candidate->source.flags = candidate->flags;
    if (lull_kernel_read(&candidate->source, candidate->arena, &candidate->kernel, &err) != LULL_OK)
        return without_path(err.text, candidate->source.path, candidate->arena);
    candidate->body = find_body(candidate->kernel, row);
    if (candidate->body == LULL_KERNEL_NONE)
        return "it is around loops, and has little to do with arrays itself";
    if (candidate->kernel->is_cpp && lull_kernel_count_innermost(candidate->kernel) > 1)
        return "its nest has several innermost loops, which are looked at in C only";
    take_indices(search, candidate);
    tell_sizes(candidate);
    if (candidate->kernel->around)
        candidate->loop->notes = lull_arena_printf(
            candidate->arena, "%sWhat loops around it keep in caches is not known: %s. ",
            candidate->loop->notes,
            without_path(candidate->kernel->around, candidate->source.path, candidate->arena));
    return NULL;
}

/* ---- the prediction -------------------------------------------------------------------------- */

static double line_bytes_of(const struct lull_machine *machine)
{
    return machine->n_caches > 0 && machine->caches[0].line_bytes > 0
               ? machine->caches[0].line_bytes
               : 64;
}

/* Takes the in-core times of a nest that cannot be compiled alone from the machine code of the program. Returns
 * why that is not possible; NULL: it is. */
static const char *take_machine_code(const struct search_of_hot *search,
                                     struct candidate *candidate,
                                     struct lull_kernel_incores *incores)
{
    struct lull_hot_loop *loop = candidate->loop;
    struct lull_arena *arena = candidate->arena;
    struct lull_incore *incore = lull_arena_zero(arena, 1, sizeof *incore);
    if (!loop->code)
        return loop->no_code;
    if (!is_whole_pass(loop->code))
        return "its machine code has branches or calls, and its own compilation is what it is "
               "judged by";
    const struct lull_kernel body = lull_kernel_look_at(candidate->kernel, candidate->body);
    if (!lull_incore_of_body(&body, &loop->code->in_core, line_bytes_of(search->wish->machine),
                             arena, incore))
        return "how many iterations a pass of its machine code is cannot be told";
    incores->loops[candidate->body] = incore;
    const char *vectors = lull_hot_vectors(loop->code, search->wish->machine, arena);
    loop->notes = lull_arena_printf(
        arena, "%sThe time in the core is that of its machine code%s%s. ", loop->notes,
        vectors ? ", whose instructions of floating point calculate with " : "",
        vectors ? vectors : "");
    return NULL;
}

static const char *predict_candidate(const struct search_of_hot *search,
                                     struct candidate *candidate)
{
    struct lull_kernel_options options = {
        .incore = search->wish->incore, .cores = candidate->cores, .seed = 1};
    struct lull_error err = {""};
    options.incore.more_flags = candidate->flags;
    if (options.incore.flags) { /* those of the user are among them */
        options.incore.flags = candidate->flags;
        options.incore.more_flags = NULL;
    }
    candidate->nest = lull_arena_zero(candidate->arena, 1, sizeof *candidate->nest);
    struct lull_kernel_incores incores =
        lull_kernel_no_incores(candidate->kernel, candidate->arena);
    const char *why =
        candidate->kernel->is_cpp ? take_machine_code(search, candidate, &incores) : NULL;
    if (why)
        return why;
    if (lull_kernel_predict(candidate->kernel, search->wish->machine, &candidate->source, &options,
                            &incores, candidate->arena, candidate->nest, &err) == LULL_OK)
        return NULL;
    return without_path(err.text, candidate->source.path, candidate->arena);
}

static void look_at_candidates(void *context, unsigned worker)
{
    struct search_of_hot *search = context;
    (void)worker;
    for (size_t at; (at = atomic_fetch_add(&search->next, 1)) < search->n_candidates;) {
        struct candidate *candidate = &search->candidates[at];
        if (!search->predicts)
            candidate->loop->no_code = read_code(search, candidate);
        if (candidate->loop->why)
            continue;
        if (!search->predicts)
            candidate->loop->why = read_candidate(search, candidate);
        else if (candidate->same == at)
            candidate->loop->why = predict_candidate(search, candidate);
    }
}

static void run_search_of_hot(struct search_of_hot *search, bool predicts)
{
    search->predicts = predicts;
    atomic_store(&search->next, 0);
    lull_parallel_run(search->wish->workers > 0 ? search->wish->workers : 1, look_at_candidates,
                      search);
}

/* Several loops may be of one nest, which is predicted once. */
static void find_same_nests(struct search_of_hot *search)
{
    for (size_t i = 0; i < search->n_candidates; i++) {
        struct candidate *candidate = &search->candidates[i];
        candidate->same = i;
        for (size_t k = 0; k < i && candidate->same == i && candidate->kernel; k++) {
            const struct candidate *other = &search->candidates[k];
            if (other->kernel && !other->loop->why && other->cores == candidate->cores &&
                other->kernel->code_line == candidate->kernel->code_line &&
                strcmp(other->source.path, candidate->source.path) == 0)
                candidate->same = k;
        }
    }
}

/* ---- how many cores -------------------------------------------------------------------------- */

static int64_t time_in_row(const struct search_of_hot *search, const struct lull_code_row *row,
                           const struct lull_code_thread *thread)
{
    int64_t ns = 0;
    for (uint32_t i = 0; i < thread->n_parts; i++)
        if (&search->table->rows[search->table->row_of[thread->parts[i].place]] == row)
            ns += thread->parts[i].ns;
    return ns;
}

/* The useful time of all threads in a row in which they had a core, ns: what other programs took of it tells
 * nothing of the loop. */
static double time_with_core(const struct search_of_hot *search, const struct lull_code_row *row)
{
    const struct lull_run *run = search->run;
    double ns = 0;
    for (uint32_t l = 0; l < run->trace->n_locations; l++) {
        const int64_t part = time_in_row(search, row, &search->code->threads[l]);
        if (part > 0)
            ns += (double)part * lull_evidence_core_part(run->trace, run->breakdown, NULL, l);
    }
    return ns;
}

/* How many threads execute a loop on the node that has most of them. */
static unsigned count_cores(const struct search_of_hot *search, const struct lull_code_row *row,
                            struct lull_arena *arena)
{
    const struct lull_trace *trace = search->run->trace;
    unsigned *of_node = lull_arena_zero(arena, trace->n_nodes + (size_t)1, sizeof *of_node);
    unsigned most = 1;
    int64_t longest = 0;
    for (uint32_t l = 0; l < trace->n_locations; l++) {
        const int64_t ns = time_in_row(search, row, &search->code->threads[l]);
        longest = ns > longest ? ns : longest;
    }
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const struct lull_process *process = &trace->processes[p];
        const uint32_t node = process->node < trace->n_nodes ? process->node : trace->n_nodes;
        for (uint32_t l = 0; l < process->n_locations; l++) {
            const struct lull_code_thread *thread =
                &search->code->threads[process->first_location + l];
            const int64_t ns = time_in_row(search, row, thread);
            if (ns > 0 && (double)ns >= taking_part * (double)longest && ++of_node[node] > most)
                most = of_node[node];
        }
    }
    return most;
}

/* The most cores of them that share a memory domain, if they are spread evenly. */
static unsigned cores_in_domain(const struct lull_machine *machine, unsigned cores)
{
    const unsigned domains = machine->cpu.numa_domains ? machine->cpu.numa_domains : 1;
    unsigned all = machine->cpu.cores_per_numa_domain;
    if (!all)
        all = machine->cpu.cores / domains;
    const unsigned spread = cores > all ? (cores + domains - 1) / domains : cores;
    return all > 0 && spread > all ? all : spread > 0 ? spread : 1;
}

/* ==== how many iterations ===================================================================== */

/* Whether the name of a parallel region, "!$omp parallel @heat.c:173", has one of the lines of a file. */
static bool is_at(const char *site, const char *file, unsigned first, unsigned last)
{
    const char *base = lull_code_base_name(file), *at = strstr(site, base);
    const size_t length = strlen(base);
    if (!at || at[length] != ':' || (at > site && at[-1] != '(' && at[-1] != '/' && at[-1] != '@'))
        return false;
    unsigned line = 0;
    for (at += length + 1; *at >= '0' && *at <= '9'; at++)
        line = 10 * line + (unsigned)(*at - '0');
    return line >= first && line <= last;
}

/* Executions of the parallel region that begins right before the nest; 0: none is known. */
static double executions_of_parallel(const struct lull_run *run, const struct lull_kernel *kernel)
{
    double sum = 0;
    for (uint32_t r = 0; kernel->omp_line > 0 && r < run->breakdown->n_parallels; r++) {
        const struct lull_parallel_breakdown *region = &run->breakdown->parallels[r];
        if (is_at(region->name, kernel->path, kernel->omp_line, kernel->code_line))
            sum += (double)region->executions;
    }
    return sum;
}

/* Whether a region is the function of a nest. In Fortran it may be called "grids::smooth", and "smooth_". */
static bool is_region_of(const char *region, const struct lull_kernel *kernel)
{
    const size_t length = strlen(kernel->function);
    const char *name = kernel->is_fortran ? strrchr(region, ':') : NULL;
    name = name ? name + 1 : region;
    return strncmp(name, kernel->function, length) == 0 &&
           (!name[length] || (kernel->is_fortran && strcmp(name + length, "_") == 0));
}

/* Visits of the user's region that is the function of the nest; 0: there is none. */
static double visits_of_function(const struct lull_run *run, const struct lull_kernel *kernel)
{
    double sum = 0;
    for (uint32_t r = 0; kernel->whole_function && r < run->breakdown->n_regions; r++) {
        const struct lull_region_breakdown *region = &run->breakdown->regions[r];
        if ((region->role == LULL_ROLE_FUNCTION || region->role == LULL_ROLE_CODE) &&
            is_region_of(region->name, kernel))
            sum += (double)region->visits;
    }
    return sum;
}

/* Whether all of a run is analysed, or all between MPI_Init and MPI_Finalize: the source does not tell how
 * often a nest was executed in a window. */
static bool is_whole(const struct lull_run *run)
{
    return run->main_part || !lull_reading_of(run->reading)->windows;
}

static uint32_t processes_of(const struct lull_run *run)
{
    return run->processes > 0 ? run->processes : 1;
}

static void count_iterations(const struct lull_run *run, const struct candidate *candidate,
                             struct lull_arena *arena)
{
    const struct lull_kernel *kernel = candidate->kernel;
    struct lull_hot_loop *loop = candidate->loop;
    loop->iterations = loop->executions = NAN;
    const double parallel = executions_of_parallel(run, kernel);
    const double visits = visits_of_function(run, kernel);
    if (parallel > 0) {
        loop->counted = LULL_HOT_BY_PARALLEL;
        loop->executions = parallel;
    } else if (visits > 0) {
        loop->counted = LULL_HOT_BY_REGION;
        loop->executions = visits;
    } else if (kernel->executions > 0 && is_whole(run)) { /* false where it is not known */
        loop->counted = LULL_HOT_BY_SOURCE;
        loop->executions = kernel->executions * processes_of(run);
    }
    if (loop->counted == LULL_HOT_NOT_COUNTED)
        loop->uncounted = lull_arena_printf(
            arena, "How often %s executes it is not known: %s.", kernel->function,
            kernel->is_cpp && !kernel->whole_function
                ? "in a file of C++ with methods, templates or lambdas only a parallel region "
                  "right "
                  "before the nest tells"
                : "mark the nest as a region, or compile with -finstrument-functions");
    else if (!lull_kernel_knows_iterations(kernel, candidate->body))
        loop->uncounted =
            lull_arena_printf(arena, "Its trip count is not known: say -D NAME=VALUE for %s.",
                              loop->supposed ? loop->supposed : "its sizes");
    else
        loop->iterations = loop->executions * lull_kernel_iterations(kernel, candidate->body);
}

/* ==== what limits ============================================================================= */

/* A loop at a number of cores. `cycles` are per unit of work of one of them. */
struct state_of_loop {
    struct lull_ecm ecm;
    double chain;  /* NAN: none */
    size_t level;  /* links that the data pass */
    double shared; /* per core: cycles for which all cores together keep the memory busy */
};

static double cycles_of_state(const struct state_of_loop *state)
{
    return fmax(fmax(lull_ecm_time(&state->ecm, state->level), state->chain), state->shared);
}

/* Which part limits: a link by its number from 0 on, or one of these. */
enum { PART_SHARED = -4, PART_CHAIN = -3, PART_OL = -2, PART_NOL = -1 };

static int limiting_part(const struct state_of_loop *state)
{
    const double time = lull_ecm_time(&state->ecm, state->level);
    if (state->shared >= fmax(time, isnan(state->chain) ? 0 : state->chain) && state->shared > 0)
        return PART_SHARED;
    if (state->chain >= time)
        return PART_CHAIN;
    int part = PART_NOL;
    double most = state->ecm.t_nol;
    for (size_t i = 0; i < state->level; i++)
        if (state->ecm.links[i].cycles > most) {
            most = state->ecm.links[i].cycles;
            part = (int)i;
        }
    return state->ecm.t_ol >= time ? PART_OL : part;
}

static void take_away(struct state_of_loop *state, int part)
{
    switch (part) {
    case PART_CHAIN:
        state->chain = NAN;
        break;
    case PART_OL:
        state->ecm.t_ol = 0;
        break;
    case PART_NOL:
        state->ecm.t_nol = 0;
        break;
    case PART_SHARED:
        state->level = state->level > 0 ? state->level - 1 : 0;
        state->shared = 0;
        break;
    default:
        if ((size_t)part + 1 == state->level) { /* the data come from the level before */
            state->level--;
            state->shared = 0;
        } else {
            state->ecm.links[part].cycles = state->ecm.links[part].whole = 0;
        }
    }
}

static const char *name_of_part(const struct lull_kernel_prediction *prediction, int part,
                                struct lull_arena *arena)
{
    switch (part) {
    case PART_SHARED:
        return "bandwidth of memory";
    case PART_CHAIN:
        return "dependency chain";
    case PART_OL:
        return lull_incore_busiest_port(&prediction->incore, arena);
    case PART_NOL:
        return "loads from L1";
    default:
        return (size_t)part + 1 == prediction->ecm.n_links
                   ? "memory"
                   : lull_arena_printf(arena, "L%d", part + 2);
    }
}

static void find_limits(const struct lull_kernel_prediction *prediction, unsigned cores,
                        struct lull_hot_loop *loop, struct lull_arena *arena)
{
    struct state_of_loop state = {.ecm = prediction->ecm,
                                  .chain = prediction->incore.chain,
                                  .level = prediction->ecm.n_links,
                                  .shared = cores > 1 ? cores * prediction->ecm.shared : 0};
    const double before = cycles_of_state(&state);
    const int part = limiting_part(&state);
    loop->limit = name_of_part(prediction, part, arena);
    loop->allowed = before / prediction->clock / prediction->unit;
    take_away(&state, part);
    const double after = cycles_of_state(&state);
    loop->gain = after > 0 ? before / after : INFINITY;
    if (after > 0)
        loop->next = name_of_part(prediction, limiting_part(&state), arena);
}

/* What the model allows with the in-core time of the program's own machine code, instead of that of the compiler
 * that the model asks; NAN where it is not known how many iterations a pass is, or not all of it is. */
static double time_as_compiled(const struct lull_kernel_prediction *prediction,
                               const struct lull_hot_code *code, unsigned cores,
                               struct lull_arena *arena)
{
    struct lull_incore incore;
    if (!is_whole_pass(code) || !lull_incore_of_body(prediction->kernel, &code->in_core,
                                                     prediction->line_bytes, arena, &incore))
        return NAN;
    struct state_of_loop state = {.ecm = prediction->ecm,
                                  .chain = incore.chain,
                                  .level = prediction->ecm.n_links,
                                  .shared = cores > 1 ? cores * prediction->ecm.shared : 0};
    state.ecm.t_ol = incore.t_ol;
    state.ecm.t_nol = incore.t_nol;
    return cycles_of_state(&state) / prediction->clock / prediction->unit;
}

const char *lull_hot_lanes(const struct lull_hot_code *code, struct lull_arena *arena)
{
    const struct lull_incore_binary *in_core = &code->in_core;
    if (in_core->element_bytes == 0)
        return NULL;
    return lull_arena_printf(arena, "%u %s%s", in_core->lanes,
                             in_core->element_bytes == 8 ? "double" : "float",
                             in_core->lanes == 1 ? "" : "s");
}

const char *lull_hot_vectors(const struct lull_hot_code *code, const struct lull_machine *machine,
                             struct lull_arena *arena)
{
    const char *lanes = lull_hot_lanes(code, arena);
    const unsigned most =
        lanes ? lull_machine_vector_bits(machine) / 8 / code->in_core.element_bytes : 0;
    if (!lanes)
        return NULL;
    return code->in_core.lanes < most
               ? lull_arena_printf(arena, "%s each, where a vector of the machine holds %u", lanes,
                                   most)
               : lull_arena_printf(arena, "%s each", lanes);
}

/* How a loop was compiled, if the model allows more than that: nearer than LULL_HOT_AT_LIMIT it does not tell. */
static const char *tell_compilation(const struct lull_hot_loop *loop,
                                    const struct lull_machine *machine, struct lull_arena *arena)
{
    if (!(loop->compiled * LULL_HOT_AT_LIMIT > loop->allowed))
        return NULL;
    const char *vectors = lull_hot_vectors(loop->code, machine, arena);
    return lull_arena_printf(arena,
                             "As it was compiled an iteration takes at least %.3g ns: its "
                             "instructions%s%s, and the core is limited by %s.",
                             1e9 * loop->compiled,
                             vectors ? " of floating point calculate with " : " have no vectors",
                             vectors ? vectors : "", loop->code->in_core.limit);
}

/* ==== other forms ============================================================================= */

static const char *add_form(const char *forms, const char *form, double seconds,
                            struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%s%s%s: %.3g ns", forms ? forms : "", forms ? "; " : "", form,
                             1e9 * seconds);
}

/* What the loop would reach in blocks, with stores that pass by the caches, and with the vectors that its machine code
 * lacks, an iteration each. */
static void find_steps(const struct lull_machine *machine, struct lull_hot_loop *loop,
                       struct lull_arena *arena)
{
    const struct lull_kernel_prediction *prediction = loop->prediction;
    const double each = 1 / prediction->clock / prediction->unit;
    struct lull_next_steps steps;
    if (lull_next_steps_find(prediction, loop->cores, arena, &steps, NULL) != LULL_OK)
        return;
    const struct lull_incore_binary *code = loop->code ? &loop->code->in_core : NULL;
    if (code && code->element_bytes > 0 && loop->compiled * LULL_HOT_AT_LIMIT > loop->allowed &&
        code->lanes < prediction->incore.vector_bits / 8 / code->element_bytes &&
        prediction->incore.vector_bits <= lull_machine_vector_bits(machine))
        loop->steps =
            add_form(loop->steps,
                     lull_arena_printf(arena, "with vectors of %u",
                                       prediction->incore.vector_bits / 8 / code->element_bytes),
                     loop->allowed, arena);
    if (isfinite(steps.blocked.cycles))
        loop->steps = add_form(loop->steps,
                               lull_arena_printf(arena, "in blocks of %.0f that L%zu holds",
                                                 steps.blocked.block, steps.blocked.level + 1),
                               steps.blocked.cycles * each, arena);
    if (isfinite(steps.non_temporal.cycles))
        loop->steps = add_form(loop->steps, "with non-temporal stores",
                               steps.non_temporal.cycles * each, arena);
}

static void note_conflict(struct lull_hot_loop *loop, struct lull_arena *arena)
{
    double bytes;
    const char *array = lull_find_conflict(loop->prediction->kernel, &bytes);
    if (array)
        loop->notes = lull_arena_printf(arena,
                                        "%sLines of %s are %.0f bytes apart, a multiple of %d, and "
                                        "compete for few sets of a cache, "
                                        "which the model does not know: pad its rows. ",
                                        loop->notes, array, fabs(bytes), LULL_CONFLICT_BYTES);
}

/* ==== all of it =============================================================================== */

/* Which machine the file is of and which the run is of, where they differ; NULL: they do not, or the run
 * does not say. */
static const char *other_machine(const struct lull_run *run, const struct lull_machine *machine,
                                 struct lull_arena *arena)
{
    const struct lull_trace *trace = run->trace;
    const char *label = lull_machine_label(machine);
    const char *node = NULL;
    for (uint32_t p = 0; p < trace->n_processes; p++) {
        const uint32_t at = trace->processes[p].node;
        if (at >= trace->n_nodes)
            continue;
        node = trace->nodes[at].name;
        if (machine->host.name && strcmp(node, machine->host.name) == 0)
            return NULL;
    }
    return node ? lull_arena_printf(arena, "of %s, and the run of %s",
                                    label ? label : "an unnamed machine", node)
                : NULL;
}

static const char *why_no_loops(const struct lull_run *run, const struct lull_hot_wish *wish,
                                struct lull_hot_loops *loops, struct lull_arena *arena)
{
    const char *absent;
    struct lull_error err;
    if (!lull_run_code(run, arena, &absent))
        return lull_arena_printf(arena, "there are no samples of its code: %s", absent);
    if (lull_kernel_find_reader(&err) != LULL_OK)
        return lull_arena_strdup(arena, err.text);
    loops->other = other_machine(run, wish->machine, arena);
    if (loops->other && !wish->force)
        return lull_arena_printf(arena,
                                 "%s is %s: --force goes on, and says so beside the predictions",
                                 wish->machine_path, loops->other);
    return NULL;
}

static void choose_loops(struct search_of_hot *search, struct lull_hot_loops *loops,
                         struct lull_arena *arena)
{
    const struct lull_code_table *table = search->table;
    for (uint32_t i = 0; i < table->n_rows; i++) {
        const struct lull_code_row *row = &table->rows[i];
        if (row->useful_ns <= 0 || row->known != LULL_CODE_NAMED)
            continue;
        const bool is_loop = row->first > 0;
        if (!is_loop)
            loops->no_loop += row->share;
        if (!is_loop || loops->n_loops == LULL_HOT_LOOPS)
            continue;
        struct lull_hot_loop *loop = &loops->loops[loops->n_loops];
        *loop = (struct lull_hot_loop){.row = row,
                                       .notes = "",
                                       .executions = NAN,
                                       .iterations = NAN,
                                       .measured = NAN,
                                       .allowed = NAN,
                                       .compiled = NAN,
                                       .share = NAN};
        loop->cores = cores_in_domain(search->wish->machine, count_cores(search, row, arena));
        if (has_loop_inside(table, row))
            loop->why = "it is around other loops: this is the time between them";
        search->candidates[loops->n_loops] = (struct candidate){
            .loop = loop, .arena = lull_arena_create(NULL), .cores = loop->cores};
        loops->covered += row->share;
        loops->n_loops++;
    }
    search->n_candidates = loops->n_loops;
}

/* The prediction of the loop of a candidate, among those of its nest. */
static const struct lull_kernel_prediction *prediction_of_hot(const struct candidate *candidate,
                                                              const struct candidate *same)
{
    const struct lull_kernel_prediction *nest = same->nest;
    if (nest->n_loops == 0)
        return nest;
    for (size_t l = 0; l < nest->n_loops; l++)
        if (nest->loops[l].kernel->body == candidate->body)
            return &nest->loops[l];
    return NULL;
}

static void conclude_candidate(const struct search_of_hot *search,
                               const struct candidate *candidate, struct lull_arena *arena)
{
    struct lull_hot_loop *loop = candidate->loop;
    const struct candidate *same = &search->candidates[candidate->same];
    if (!loop->why && same->loop->why)
        loop->why = same->loop->why;
    if (!loop->why) {
        loop->prediction = prediction_of_hot(candidate, same);
        if (!loop->prediction)
            loop->why = "it has no iterations with these sizes";
    }
    if (loop->why)
        return;
    find_limits(loop->prediction, loop->cores, loop, arena);
    loop->compiled = time_as_compiled(loop->prediction, loop->code, loop->cores, arena);
    loop->compilation = tell_compilation(loop, search->wish->machine, arena);
    find_steps(search->wish->machine, loop, arena);
    note_conflict(loop, arena);
    count_iterations(search->run, candidate, arena);
    if (loop->iterations > 0) {
        loop->measured = 1e-9 * time_with_core(search, loop->row) / loop->iterations;
        loop->share = loop->allowed / loop->measured;
    }
}

lull_status lull_hot_loops_find(const struct lull_run *run, const struct lull_hot_wish *wish,
                                struct lull_arena *arena, struct lull_hot_loops *ret_loops,
                                struct lull_error *err)
{
    struct candidate candidates[LULL_HOT_LOOPS];
    const char *ignored;
    struct search_of_hot search = {.run = run, .wish = wish, .candidates = candidates};
    *ret_loops = (struct lull_hot_loops){.machine = wish->machine};
    ret_loops->absent = why_no_loops(run, wish, ret_loops, arena);
    if (ret_loops->absent)
        return LULL_OK;
    struct lull_code_table *table = lull_arena_zero(arena, 1, sizeof *table);
    lull_status status = lull_run_code_table(run, LULL_CODE_BY_LOOP, arena, table, err);
    if (status != LULL_OK)
        return status;
    search.table = table;
    search.code = lull_run_code(run, arena, &ignored);
    search.ns = time_of_places(&search, arena);
    choose_loops(&search, ret_loops, arena);
    ret_loops->gaps = table->gaps;
    ret_loops->n_gaps = table->n_gaps;
    if (ret_loops->n_loops == 0)
        ret_loops->absent = table->n_gaps > 0
                                ? lull_code_tell_gap(&table->gaps[0], run->trace, arena)
                                : "no loop of its code has lines: compile with -g";
    run_search_of_hot(&search, false);
    find_same_nests(&search);
    run_search_of_hot(&search, true);
    for (size_t i = 0; i < search.n_candidates; i++)
        conclude_candidate(&search, &candidates[i], arena);
    for (size_t i = 0; i < search.n_candidates; i++)
        lull_arena_join(arena, candidates[i].arena);
    return LULL_OK;
}
