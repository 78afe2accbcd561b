#include "model/kernel/incore/incore.h"

#include "base/file.h"
#include "model/kernel/incore/parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lull_incore_note(struct lull_incore *incore, struct lull_arena *arena, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t capacity = incore->n_notes;
    incore->notes = lull_arena_grow(arena, incore->notes, &capacity, incore->n_notes + 1,
                                    sizeof *incore->notes);
    incore->notes[incore->n_notes++] = lull_arena_strdup(arena, text);
}

static bool has_isa(const struct lull_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->cpu.n_isa; i++)
        if (strcmp(machine->cpu.isa[i], name) == 0)
            return true;
    return false;
}

/* ---- compiler ------------------------------------------------------------------------------ */

static const char *architecture(const struct lull_machine *machine, bool here)
{
    if (here)
        return "native";
    if (machine->core.llvm_cpu)
        return machine->core.llvm_cpu;
    return has_isa(machine, "avx512f") ? "x86-64-v4"
           : has_isa(machine, "avx2")  ? "x86-64-v3"
                                       : "x86-64";
}

/* NULL at the end. */
static const char *const *flags_for(const struct lull_kernel *kernel,
                                    const struct lull_machine *machine,
                                    const struct lull_incore_options *options,
                                    struct lull_arena *arena)
{
    if (options->flags)
        return options->flags;
    const char **flags = lull_arena_zero(arena, 5, sizeof *flags);
    flags[0] = "-O3";
    flags[1] = "-funroll-loops";
    flags[2] = lull_arena_printf(arena, "-march=%s", architecture(machine, options->here));
    flags[3] = kernel->reduces ? "-ffast-math" : NULL; /* sums in vectors */
    return flags;
}

static const char *join(const char *const *words, struct lull_arena *arena)
{
    const char *text = "";
    for (size_t i = 0; words[i]; i++)
        text = lull_arena_printf(arena, "%s%s%s", text, i ? " " : "", words[i]);
    return text;
}

static lull_status write_text(const char *path, const char *text, struct lull_error *err)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return lull_fail_errno(err, "%s: cannot write", path);
    fputs(text, file);
    return fclose(file) == 0 ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

/* `more`: what tells the compiler what to make, NULL at the end. Libraries stand behind the source,
 * because a linker may take of them only what it needs until then. */
static lull_status compile(const struct lull_kernel *kernel, const struct lull_machine *machine,
                           const struct lull_incore_options *options, bool constant_sizes,
                           const char *const *more, const char *out, const char *folder,
                           struct lull_arena *arena, struct lull_error *err)
{
    const char *const *flags = flags_for(kernel, machine, options, arena);
    const char *source = lull_arena_printf(arena, "%s/kernel.c", folder);
    const char **words;
    size_t count = 0, n_flags = 0, n_more = 0;
    while (flags[n_flags])
        n_flags++;
    while (more[n_more])
        n_more++;
    words = lull_arena_zero(arena, n_flags + n_more + 10, sizeof *words);
    words[count++] = options->compiler ? options->compiler : "cc";
    words[count++] = "-std=gnu17";
    words[count++] = "-w";
    words[count++] = "-fno-builtin-memcpy";
    for (size_t i = 0; i < n_flags; i++)
        words[count++] = flags[i];
    for (size_t i = 0; i < n_more; i++)
        words[count++] = more[i];
    words[count++] = "-o";
    words[count++] = out;
    words[count++] = source;
    words[count++] = "-lm";
    lull_status status =
        write_text(source, lull_incore_c_source(kernel, constant_sizes, arena), err);
    if (status == LULL_OK)
        status =
            lull_incore_run(words, NULL, lull_arena_printf(arena, "%s/cc.err", folder), arena, err);
    return status == LULL_OK ? LULL_OK : lull_fail_prefix(err, status, "%s", kernel->path);
}

lull_status lull_incore_build(const struct lull_kernel *kernel, const struct lull_machine *machine,
                              const struct lull_incore_options *options, const char *path,
                              struct lull_arena *arena, struct lull_error *err)
{
    static const char *const shared[] = {"-shared", "-fPIC", NULL};
    const char *folder;
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    status = compile(kernel, machine, options, true, shared, path, folder, arena, err);
    lull_remove_tree(folder, NULL);
    return status;
}

/* ---- the loop ------------------------------------------------------------------------------ */

/* Bytes that an iteration of the body stores, or loads where it stores none: each element once. */
static double bytes_per_iteration(const struct lull_kernel *kernel, bool stores)
{
    double sum = 0;
    for (size_t i = 0; i < kernel->n_accesses; i++) {
        const struct lull_kernel_access *access = &kernel->accesses[i];
        bool again = access->loop != kernel->body || access->write != stores ||
                     (lull_kernel_stride(kernel, access, (size_t)kernel->body) == 0 &&
                      access->index_access == LULL_KERNEL_NONE);
        for (size_t k = 0; k < i && !again; k++)
            again = kernel->accesses[k].loop == access->loop &&
                    kernel->accesses[k].array == access->array &&
                    kernel->accesses[k].write == stores &&
                    kernel->accesses[k].index_access == access->index_access &&
                    lull_poly_equal(&kernel->accesses[k].offset, &access->offset);
        if (!again)
            sum += kernel->arrays[access->array].bytes;
    }
    return sum;
}

static double iterations_per_pass(const struct lull_kernel *kernel,
                                  const struct lull_assembly_loop *loop)
{
    double stored = bytes_per_iteration(kernel, true), loaded = bytes_per_iteration(kernel, false);
    if (stored > 0 && loop->stored > 0)
        return loop->stored / stored;
    return loaded > 0 && loop->loaded > 0 ? loop->loaded / loaded : 1;
}

static void note_vectors(const struct lull_kernel *kernel, const struct lull_assembly_loop *loop,
                         const struct lull_incore_options *options, struct lull_arena *arena,
                         struct lull_incore *incore)
{
    bool vectors = false;
    for (size_t i = 0; i < loop->count; i++) {
        const char *name = loop->items[i].text;
        size_t length = strcspn(name, " \t");
        bool packed = length > 2 && name[length - 2] == 'p' && loop->items[i].floating &&
                      (name[length - 1] == 'd' || name[length - 1] == 's');
        vectors |= packed;
        if (packed && loop->items[i].register_bits > incore->vector_bits)
            incore->vector_bits = loop->items[i].register_bits;
    }
    if (vectors) {
        if (kernel->reduces && !options->flags)
            lull_incore_note(incore, arena,
                             "A sum is vectorised with -ffast-math only, with which it was "
                             "compiled; --cflags chooses other flags.");
        return;
    }
    incore->vector_bits = 8 * kernel->precision;
    lull_incore_note(incore, arena, "The compiler did not vectorise the loop%s.",
                     kernel->reduces ? ": it sums up, which needs -ffast-math" : "");
}

/* ---- processors ---------------------------------------------------------------------------- */

/* What llvm-mca may call the processor: as the machine file says, or the nearest by vendor and
 * instructions, newest first. NULL at the end. */
static const char *const *processors(const struct lull_machine *machine, struct lull_arena *arena)
{
    static const char *const amd512[] = {"znver5", "znver4", "znver3", NULL};
    static const char *const amd[] = {"znver3", "znver2", NULL};
    static const char *const intel512[] = {"icelake-server", "skylake-avx512", NULL};
    static const char *const intel2[] = {"skylake", "haswell", NULL};
    static const char *const intel[] = {"sandybridge", NULL};
    static const char *const none[] = {NULL};
    if (machine->core.llvm_cpu) {
        const char **one = lull_arena_zero(arena, 2, sizeof *one);
        one[0] = machine->core.llvm_cpu;
        return one;
    }
    if (!machine->cpu.vendor)
        return none;
    if (strcmp(machine->cpu.vendor, "AuthenticAMD") == 0)
        return has_isa(machine, "avx512f") ? amd512 : amd;
    if (strcmp(machine->cpu.vendor, "GenuineIntel") != 0)
        return none;
    return has_isa(machine, "avx512f") ? intel512 : has_isa(machine, "avx2") ? intel2 : intel;
}

static void analyse(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                    const struct lull_incore_options *options, const char *folder,
                    struct lull_arena *arena, struct lull_incore *incore)
{
    const char *const *cpus = processors(machine, arena);
    struct lull_error why = {"the machine file does not name the processor (core/llvm_cpu)"};
    for (size_t i = 0; !options->estimate && cpus[i]; i++) {
        if (lull_incore_mca(loop, machine, cpus[i], options->mca, folder, arena, incore, &why) !=
            LULL_OK)
            continue;
        if (!machine->core.llvm_cpu)
            lull_incore_note(incore, arena,
                             "The processor is taken for %s, the nearest that llvm-mca knows: the "
                             "machine file does not name it (core/llvm_cpu).",
                             cpus[i]);
        return;
    }
    lull_incore_estimate(loop, machine, arena, incore);
    lull_incore_note(incore, arena,
                     "In-core times are a rough estimate from counted instructions: %s.",
                     options->estimate ? "--estimate asked for it" : why.text);
}

/* From cycles per pass to cycles per unit of work. */
static void scale_cycles(struct lull_incore *incore, double factor)
{
    incore->t_ol *= factor;
    incore->t_nol *= factor;
    incore->chain *= factor;
    incore->alone *= factor;
    for (size_t i = 0; i < incore->n_ports; i++)
        incore->ports[i].cycles *= factor;
}

static double cycles_of_calls(const struct lull_kernel *kernel, double unit)
{
    double sum = 0;
    for (size_t i = 0; i < kernel->n_calls; i++)
        sum += kernel->calls[i].cycles * lull_kernel_per_iteration(kernel, kernel->calls[i].loop);
    return sum * unit;
}

/* Where the body stands, in lines as the compiler counts them; of the only innermost loop: all. */
static lull_status find_lines(const struct lull_kernel *kernel, struct lull_source_lines *ret_lines,
                              struct lull_error *err)
{
    const struct lull_kernel_loop *body = &kernel->loops[kernel->body];
    *ret_lines = (struct lull_source_lines){.file = kernel->path};
    for (int l = 0; l < (int)kernel->n_loops; l++) {
        const struct lull_kernel_loop *loop = &kernel->loops[l];
        if (l == kernel->body || !lull_kernel_is_innermost(kernel, l))
            continue;
        if (loop->first_line <= body->last_line && loop->last_line >= body->first_line)
            return lull_fail(
                err, LULL_ERR_RANGE,
                "%s: line %u: two innermost loops stand on one line, where they cannot "
                "be told apart",
                kernel->path, loop->line);
        ret_lines->first = kernel->code_line + body->first_line;
        ret_lines->last = kernel->code_line + body->last_line;
    }
    return LULL_OK;
}

static lull_status find_in_folder(const char *folder, const struct lull_kernel *kernel,
                                  const struct lull_machine *machine,
                                  const struct lull_incore_options *options, double unit,
                                  struct lull_arena *arena, struct lull_incore *incore,
                                  struct lull_error *err)
{
    /* -g1 notes lines, and leaves the code as it is. */
    static const char *const assembly_only[] = {"-S", NULL}, *const with_lines[] = {"-S", "-g1",
                                                                                    NULL};
    const char *path = lull_arena_printf(arena, "%s/kernel.s", folder);
    struct lull_assembly_loop loop;
    struct lull_source_lines lines;
    const char *assembly = NULL;
    bool found = false, unrolled = false;
    lull_status status = find_lines(kernel, &lines, err);
    if (status != LULL_OK)
        return status;
    /* Where sizes are so small that they leave no loop, it is compiled for any sizes. */
    for (unsigned try = 0; try < 2 && !found; try++) {
        status = compile(kernel, machine, options, try == 0,
                         lines.last ? with_lines : assembly_only, path, folder, arena, err);
        if (status != LULL_OK)
            return status;
        assembly = lull_incore_slurp(path, arena);
        found = assembly && lull_assembly_find(assembly, "lull_loop", lines, arena, &loop);
    }
    if (!found && assembly)
        found = unrolled = lull_assembly_find_unrolled(assembly, "lull_loop", lines, arena, &loop);
    if (!found)
        return lull_fail(err, LULL_ERR_FORMAT,
                         "%s: line %u: no loop is left in what the compiler made of it (%s %s); "
                         "give its times with --in-core T_OL,T_nOL",
                         kernel->path, kernel->loops[kernel->body].line, incore->compiler,
                         incore->flags);
    incore->assembly = loop.text;
    incore->per_pass = iterations_per_pass(kernel, &loop);
    note_vectors(kernel, &loop, options, arena, incore);
    analyse(&loop, machine, options, folder, arena, incore);
    if (unrolled) { /* no pass follows another */
        incore->chain = NAN;
        lull_incore_note(incore, arena, "The compiler left no loop: its instructions count.");
    }
    scale_cycles(incore, unit / incore->per_pass);
    return LULL_OK;
}

static lull_status take_given(const struct lull_kernel *kernel,
                              const struct lull_incore_options *options,
                              struct lull_incore *ret_incore, struct lull_error *err)
{
    size_t count = lull_kernel_count_innermost(kernel);
    if (options->n_given != count)
        return lull_fail(err, LULL_ERR_RANGE,
                         "%s: line %u: expected in-core times of %zu innermost loop%s, got %zu",
                         kernel->path, kernel->loops[0].line, count, count == 1 ? "" : "s",
                         options->n_given);
    *ret_incore =
        (struct lull_incore){.source = LULL_INCORE_GIVEN,
                             .t_ol = options->given[lull_kernel_number(kernel) - 1].t_ol,
                             .t_nol = options->given[lull_kernel_number(kernel) - 1].t_nol,
                             .chain = NAN,
                             .alone = NAN};
    return LULL_OK;
}

lull_status lull_incore_find(const struct lull_kernel *kernel, const struct lull_machine *machine,
                             const struct lull_incore_options *options, double line_bytes,
                             struct lull_arena *arena, struct lull_incore *ret_incore,
                             struct lull_error *err)
{
    struct lull_incore incore = {.chain = NAN, .alone = NAN};
    double unit = lull_kernel_unit(kernel, line_bytes);
    const char *folder;
    if (options->given)
        return take_given(kernel, options, ret_incore, err);
    incore.compiler = options->compiler ? options->compiler : "cc";
    incore.flags = join(flags_for(kernel, machine, options, arena), arena);
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    incore.t_ol = incore.t_nol = 0;
    status = find_in_folder(folder, kernel, machine, options, unit, arena, &incore, err);
    lull_remove_tree(folder, NULL);
    incore.t_ol += cycles_of_calls(kernel, unit);
    if (status == LULL_OK)
        *ret_incore = incore;
    return status;
}
