/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/kernel/incore.h"

#include "base/file.h"
#include "machine/machine.h"
#include "model/kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ==== the estimate ============================================================================ */

/* Without llvm-mca, instructions are counted, and divided by the number that a present x86 core
 * executes in a cycle. */

/* Per cycle: two loads, one store, two operations on vectors, four instructions. Cores of Intel
 * since Haswell and of AMD since Zen 2 execute at least these (A. Fog, The microarchitecture of
 * Intel, AMD and VIA CPUs). Divisions take about half as many cycles as they give bits of a
 * double. */
static const double loads_per_cycle = 2, stores_per_cycle = 1, usual_operations_per_cycle = 2,
                    instructions_per_cycle = 4, cycles_per_division = 8;

/* Cycles until a result is there, on the same cores (A. Fog, Instruction tables). Additions,
 * multiplications and both at once take 3 to 5, mostly 4; a division of doubles 13 to 15. Moves
 * from register to register take none, and everything else one. */
static const double arithmetic_latency = 4, division_latency = 13, other_latency = 1;

static double latency_of(const struct lull_assembly_instruction *instruction)
{
    static const char *const arithmetic[] = {"add", "sub", "mul", "fm", "fnm", "max", "min", "cvt"};
    const char *name = instruction->text + (*instruction->text == 'v');
    if (instruction->division)
        return division_latency;
    if (strncmp(name, "mov", 3) == 0)
        return 0;
    for (size_t i = 0; instruction->floating && i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (strncmp(name, arithmetic[i], strlen(arithmetic[i])) == 0)
            return arithmetic_latency;
    return other_latency;
}

/* The loop-carried chain (lull_assembly_chain) with these usual latencies. */
static double incore_estimate_chain(const struct lull_assembly_loop *loop, struct lull_arena *arena)
{
    double *latency = lull_arena_zero(arena, loop->count + 1, sizeof *latency);
    for (size_t i = 0; i < loop->count; i++)
        latency[i] = latency_of(&loop->items[i]);
    return lull_assembly_chain(loop, latency, arena);
}

/* Operations per cycle on registers of a width: as many as the machine was measured to multiply and
 * add, because some cores process the widest registers in two halves; a usual number if that was
 * not measured. */
static double operations_per_cycle(const struct lull_machine *machine, unsigned vector_bits)
{
    const struct lull_number *peak =
        lull_machine_find(machine, vector_bits == 512   ? "peak.dp.fma.avx512.1"
                                   : vector_bits == 256 ? "peak.dp.fma.avx2.1"
                                   : vector_bits == 128 ? "peak.dp.fma.sse.1"
                                                        : "peak.dp.fma.scalar.1");
    double flops = 2 * fmax(1, vector_bits / 64);
    return peak && peak->in_cycles > 0 ? peak->in_cycles / flops : usual_operations_per_cycle;
}

/* How many loads an instruction is: a gather loads each of its elements by itself. */
static double loads_of(const struct lull_assembly_instruction *instruction)
{
    const char *name = instruction->text + (*instruction->text == 'v');
    if (strncmp(name, "gather", 6) != 0 && strncmp(name, "pgather", 7) != 0)
        return instruction->load;
    size_t length = strcspn(name, " \t");
    bool floats = name[length - 1] == 's' || strncmp(name + length - 2, "dd", 2) == 0;
    return instruction->register_bits / (floats ? 32.0 : 64.0);
}

void lull_incore_estimate(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                          struct lull_arena *arena, struct lull_incore *incore)
{
    double loads = 0, stores = 0, operations = 0, divisions = 0;
    for (size_t i = 0; i < loop->count; i++) {
        const struct lull_assembly_instruction *instruction = &loop->items[i];
        loads += loads_of(instruction);
        stores += instruction->store;
        operations += instruction->arithmetic;
        divisions += instruction->division;
    }
    incore->source = LULL_INCORE_ESTIMATE;
    incore->t_nol = loads / loads_per_cycle;
    incore->t_ol =
        fmax(fmax(stores / stores_per_cycle,
                  operations / operations_per_cycle(machine, incore->vector_bits)),
             fmax((double)loop->count / instructions_per_cycle, divisions * cycles_per_division));
    incore->chain = incore_estimate_chain(loop, arena);
    incore->alone = NAN;
}

/* ==== running a program ======================================================================= */

extern char **environ;

/* The whole text of a file; NULL: it cannot be read. */
static char *incore_slurp(const char *path, struct lull_arena *arena)
{
    struct lull_mapping mapping;
    if (lull_map_file(path, &mapping, NULL) != LULL_OK)
        return NULL;
    char *text =
        lull_arena_strndup(arena, mapping.size ? (const char *)mapping.data : "", mapping.size);
    lull_unmap(&mapping);
    return text;
}

/* The line of a file that names an error, or else its first line. */
static const char *first_error(const char *path, struct lull_arena *arena)
{
    char *text = path ? incore_slurp(path, arena) : NULL;
    if (!text || !*text)
        return "it says nothing";
    char *line = strstr(text, "error:");
    if (!line)
        line = text;
    while (line > text && line[-1] != '\n')
        line--;
    line[strcspn(line, "\n")] = '\0';
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == '.')
        line[--length] = '\0';
    return line;
}

static int start(const char *const *words, const char *out_path, const char *err_path,
                 pid_t *ret_process)
{
    posix_spawn_file_actions_t actions;
    union { /* posix_spawn does not change the words, although its type lets it */
        const char *const *constant;
        char *const *plain;
    } arguments = {words};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out_path ? out_path : "/dev/null",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err_path ? err_path : "/dev/null",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int problem = posix_spawnp(ret_process, words[0], &actions, NULL, arguments.plain, environ);
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* Runs a program and waits for it. What it prints goes to two files; NULL: nowhere. Fails with
 * LULL_ERR_IO if the program cannot be started, and with LULL_ERR_FORMAT if it fails; the message
 * then has the first line that it printed as an error. */
static lull_status incore_run(const char *const *words, const char *out_path, const char *err_path,
                              struct lull_arena *arena, struct lull_error *err)
{
    pid_t process;
    int state;
    int problem = start(words, out_path, err_path, &process);
    if (problem != 0)
        return lull_fail(err, LULL_ERR_IO, "cannot start %s: %s", words[0], strerror(problem));
    while (waitpid(process, &state, 0) < 0)
        if (errno != EINTR)
            return lull_fail_errno(err, "%s", words[0]);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return lull_fail(err, LULL_ERR_IO, "cannot start %s", words[0]);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s fails: %s", words[0],
                         first_error(err_path, arena));
    return LULL_OK;
}

/* ==== llvm-mca ================================================================================ */

enum { ITERATIONS = 200, MOST_PORTS = 96, MOST_GROUPS = 16 };

/* The ports that load, by llvm-mca's name of the processor; used if the machine file does not name
 * them. All resources with one of the names belong to the group, because versions of LLVM name some
 * differently. */
enum { MOST_PORT_NAMES = 4 };

static const struct {
    const char *cpu, *ports[MOST_PORT_NAMES];
} known_ports[] = {{"sandybridge", {"SBPort23"}},
                   {"ivybridge", {"SBPort23"}},
                   {"haswell", {"HWPort2", "HWPort3"}},
                   {"broadwell", {"BWPort2", "BWPort3"}},
                   {"skylake", {"SKLPort2", "SKLPort3"}},
                   {"skylake-avx512", {"SKXPort2", "SKXPort3"}},
                   {"cascadelake", {"SKXPort2", "SKXPort3"}},
                   {"icelake-server", {"ICXPort2", "ICXPort3"}},
                   {"sapphirerapids", {"SPRPort02", "SPRPort03", "SPRPort11"}},
                   {"znver1", {"ZnAGU0", "ZnAGU1"}},
                   {"znver2", {"Zn2AGU0", "Zn2AGU1", "Zn2AGU2"}},
                   {"znver3", {"Zn3FPP45", "Zn3FP45"}},
                   {"znver4", {"Zn4FPP45", "Zn4FP45"}},
                   {"znver5", {"Zn5FP45", "Zn4FP45"}}};

struct ports {
    const char *names[MOST_PORTS]; /* names of resources, without their number within a group */
    /* Cycles per pass: by all instructions, by loads. */
    double busy[MOST_PORTS], loading[MOST_PORTS];
    bool loads[MOST_PORTS];
    size_t count;
};

/* Whether a resource is a port that loads. *any is set if the load ports of the processor are
 * known. */
static bool is_load_port(const struct lull_machine *machine, const char *cpu, const char *name,
                         bool *any)
{
    bool said = machine->core.llvm_cpu && strcmp(machine->core.llvm_cpu, cpu) == 0;
    bool found = false;
    for (size_t i = 0; said && i < machine->core.n_load_ports; i++) {
        *any = true;
        found |= strcmp(machine->core.load_ports[i], name) == 0;
    }
    if (*any)
        return found;
    for (size_t i = 0; i < sizeof known_ports / sizeof *known_ports; i++)
        for (size_t k = 0; k < MOST_PORT_NAMES && strcmp(known_ports[i].cpu, cpu) == 0; k++)
            found |= known_ports[i].ports[k] && strcmp(known_ports[i].ports[k], name) == 0;
    return found;
}

/* The name of a resource without its unit: LLVM 14 writes "Zn3FPP45.\1", where the byte behind the
 * dot is the unit. */
static const char *port_name(const char *name, struct lull_arena *arena)
{
    return lull_arena_strndup(arena, name, strcspn(name, "."));
}

static bool read_ports(const json_t *root, const struct lull_machine *machine, const char *cpu,
                       struct ports *ports, struct lull_arena *arena)
{
    const json_t *names = json_object_get(json_object_get(root, "TargetInfo"), "Resources");
    bool found = false, said = false;
    ports->count = json_array_size(names);
    if (ports->count == 0 || ports->count > MOST_PORTS)
        return false;
    for (size_t i = 0; i < ports->count; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        ports->names[i] = port_name(name ? name : "", arena);
        ports->loads[i] = is_load_port(machine, cpu, ports->names[i], &said);
        found |= ports->loads[i];
    }
    return found;
}

static void add_pressure(const json_t *region, const struct lull_assembly_loop *loop,
                         struct ports *ports)
{
    const json_t *list =
        json_object_get(json_object_get(region, "ResourcePressureView"), "ResourcePressureInfo");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        size_t instruction = (size_t)json_integer_value(json_object_get(entry, "InstructionIndex"));
        size_t port = (size_t)json_integer_value(json_object_get(entry, "ResourceIndex"));
        double usage = json_number_value(json_object_get(entry, "ResourceUsage"));
        if (instruction >= loop->count || port >= ports->count)
            continue; /* the last entry is a sum */
        ports->busy[port] += usage;
        if (loop->items[instruction].load)
            ports->loading[port] += usage;
    }
}

/* Finds T_OL and T_nOL. Resources of one name are units of a group, which share its work. On a load
 * port the addresses of stores do not count: loads come first, and stores have other ports. */
static void conclude_ports(const struct ports *ports, struct lull_arena *arena,
                           struct lull_incore *incore)
{
    double loading = 0;
    unsigned units = 0;
    incore->ports = lull_arena_zero(arena, ports->count, sizeof *incore->ports);
    for (size_t i = 0; i < ports->count; i++) {
        double busy = 0, same = 0;
        bool first = true;
        for (size_t k = 0; k < ports->count; k++)
            if (strcmp(ports->names[k], ports->names[i]) == 0) {
                first &= k >= i;
                busy += ports->busy[k];
                same++;
            }
        if (ports->loads[i]) {
            loading += ports->loading[i];
            units++;
        }
        if (!first)
            continue;
        incore->ports[incore->n_ports++] =
            (struct lull_incore_port){ports->names[i], busy / same, ports->loads[i]};
        if (!ports->loads[i])
            incore->t_ol = fmax(incore->t_ol, busy / same);
    }
    incore->t_nol = loading / units;
}

/* Finds the loop-carried chain. Latencies are those of the second region, in which operands in
 * memory are registers, because what is loaded does not depend on the pass before. If llvm-mca
 * refused that region, usual latencies are taken. */
static void find_chain(const json_t *regions, const struct lull_assembly_loop *loop,
                       struct lull_arena *arena, struct lull_incore *incore)
{
    const json_t *region = json_array_get(regions, 0), *registers = json_array_get(regions, 1);
    const json_t *list =
        json_object_get(json_object_get(registers, "InstructionInfoView"), "InstructionList");
    const json_t *summary = json_object_get(region, "SummaryView");
    double *latency = lull_arena_zero(arena, loop->count + 1, sizeof *latency);
    for (size_t i = 0; i < loop->count; i++)
        latency[i] = json_number_value(json_object_get(json_array_get(list, i), "Latency"));
    incore->chain = json_array_size(list) == loop->count ? lull_assembly_chain(loop, latency, arena)
                                                         : incore_estimate_chain(loop, arena);
    incore->alone = json_number_value(json_object_get(summary, "TotalCycles")) /
                    fmax(1, json_number_value(json_object_get(summary, "Iterations")));
}

static lull_status write_loop(const struct lull_assembly_loop *loop, const char *path,
                              bool with_registers, struct lull_arena *arena, struct lull_error *err)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return lull_fail_errno(err, "%s: cannot write", path);
    fprintf(file, "\t.text\n# LLVM-MCA-BEGIN loop\n%s# LLVM-MCA-END\n", loop->text);
    if (with_registers) {
        fputs("# LLVM-MCA-BEGIN registers\n", file);
        for (size_t i = 0; i < loop->count; i++)
            fprintf(file, "\t%s\n", lull_assembly_without_load(&loop->items[i], arena));
        fputs("# LLVM-MCA-END\n", file);
    }
    return fclose(file) == 0 ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

static lull_status run_mca(const char *mca, const char *cpu, const char *folder,
                           struct lull_arena *arena, struct lull_error *err)
{
    const char *in = lull_arena_printf(arena, "%s/loop.s", folder);
    const char *out = lull_arena_printf(arena, "%s/mca.json", folder);
    const char *messages = lull_arena_printf(arena, "%s/mca.err", folder);
    const char *words[] = {mca,
                           "--json",
                           lull_arena_printf(arena, "-mcpu=%s", cpu),
                           lull_arena_printf(arena, "-iterations=%d", ITERATIONS),
                           in,
                           NULL};
    lull_status status = incore_run(words, out, messages, arena, err);
    const char *said = status == LULL_OK ? incore_slurp(messages, arena) : NULL;
    if (said && strstr(said, "not a recognized"))
        return lull_fail(err, LULL_ERR_UNSUPPORTED, "llvm-mca does not know the processor '%s'",
                         cpu);
    return status;
}

static lull_status conclude_all(const struct lull_assembly_loop *loop,
                                const struct lull_machine *machine, const char *cpu,
                                const char *path, struct lull_arena *arena,
                                struct lull_incore *incore, struct lull_error *err)
{
    struct ports ports = {0};
    json_error_t problem;
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &problem);
    const json_t *regions = json_object_get(root, "CodeRegions");
    bool good = read_ports(root, machine, cpu, &ports, arena);
    if (good) {
        add_pressure(json_array_get(regions, 0), loop, &ports);
        conclude_ports(&ports, arena, incore);
        find_chain(regions, loop, arena, incore);
        incore->source = LULL_INCORE_MCA;
        incore->cpu = cpu;
    }
    json_decref(root);
    return good ? LULL_OK
                : lull_fail(err, LULL_ERR_UNSUPPORTED,
                            "the load ports of '%s' are not known: name them as core/load_ports in "
                            "the machine file",
                            cpu);
}

/* Runs llvm-mca on both regions, and if it refuses that, on the first one only. */
static lull_status try_mca(const struct lull_assembly_loop *loop,
                           const struct lull_machine *machine, const char *cpu, const char *mca,
                           const char *folder, struct lull_arena *arena, struct lull_incore *incore,
                           struct lull_error *err)
{
    lull_status status = LULL_ERR_FORMAT;
    for (unsigned both = 2; status == LULL_ERR_FORMAT && both-- > 0;) {
        status =
            write_loop(loop, lull_arena_printf(arena, "%s/loop.s", folder), both == 1, arena, err);
        if (status == LULL_OK)
            status = run_mca(mca, cpu, folder, arena, err);
    }
    if (status != LULL_OK)
        return status;
    return conclude_all(loop, machine, cpu, lull_arena_printf(arena, "%s/mca.json", folder), arena,
                        incore, err);
}

/* Finds the times in cycles per pass by llvm-mca. It is tried by its plain name, then by those of
 * its versions, newest first. The first one counts that knows the processor and its instructions.
 * LULL_ERR_UNSUPPORTED: there is no llvm-mca, or none knows the processor. */
static lull_status incore_mca(const struct lull_assembly_loop *loop,
                              const struct lull_machine *machine, const char *cpu, const char *mca,
                              const char *folder, struct lull_arena *arena,
                              struct lull_incore *incore, struct lull_error *err)
{
    enum { NEWEST_MCA = 30, OLDEST_MCA = 13 };
    lull_status status =
        try_mca(loop, machine, cpu, mca ? mca : "llvm-mca", folder, arena, incore, err);
    for (int version = NEWEST_MCA; !mca && status != LULL_OK && version >= OLDEST_MCA; version--) {
        struct lull_error other;
        const char *name = lull_arena_printf(arena, "llvm-mca-%d", version);
        lull_status next = try_mca(loop, machine, cpu, name, folder, arena, incore, &other);
        if (next != LULL_ERR_IO) { /* this version is there */
            status = next;
            *err = other;
        }
    }
    return status;
}

/* ==== the kernel as C source ================================================================== */

/* The kernel as a C function that can be compiled by itself. */

static const char *plain_type(const char *type)
{
    return strncmp(type, "const ", 6) == 0 ? type + 6 : type;
}

/* An array as a parameter: "double (*restrict in)[N]", "const int *restrict idx". */
static const char *parameter(const struct lull_kernel_array *array, struct lull_arena *arena)
{
    const char *text = lull_arena_printf(
        arena, "%s%s %s*restrict %s%s", array->is_const ? "const " : "", array->element,
        array->n_dimensions > 1 ? "(" : "", array->name, array->n_dimensions > 1 ? ")" : "");
    for (size_t d = 1; d < array->n_dimensions; d++)
        text = lull_arena_printf(arena, "%s[%s]", text, array->extent_text[d]);
    return text;
}

struct function_text {
    const char *head, *parameters, *arguments, *begin, *end;
    struct lull_arena *arena;
};

static void add_parameter(struct function_text *text, const char *parameter_text,
                          const char *argument)
{
    const char *comma = *text->parameters ? ", " : "";
    text->parameters =
        lull_arena_printf(text->arena, "%s%s%s", text->parameters, comma, parameter_text);
    text->arguments = lull_arena_printf(text->arena, "%s%s%s", text->arguments, comma, argument);
}

static void add_symbols(struct function_text *text, const struct lull_kernel *kernel, bool constant)
{
    size_t number = 0;
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        const char *name = kernel->symbols[s].name;
        if (kernel->symbols[s].divisor || kernel->symbols[s].is_member)
            continue;
        if (kernel->symbols[s].is_size && constant)
            text->head = lull_arena_printf(text->arena, "%s#define %s %.0f\n", text->head, name,
                                           kernel->symbols[s].value);
        else if (kernel->symbols[s].is_size)
            add_parameter(text, lull_arena_printf(text->arena, "const long %s", name),
                          lull_arena_printf(text->arena, "sizes[%zu]", number++));
    }
    /* Declares the loop variables that are not declared in their loops; declarations in loops hide
     * these. */
    for (size_t s = 0; s < kernel->n_symbols; s++) {
        bool again = kernel->symbols[s].is_size || kernel->symbols[s].is_member;
        for (size_t k = 0; k < s; k++)
            again |= !kernel->symbols[k].is_size &&
                     strcmp(kernel->symbols[k].name, kernel->symbols[s].name) == 0;
        if (!again)
            text->begin = lull_arena_printf(text->arena, "%s    long %s; (void)%s;\n", text->begin,
                                            kernel->symbols[s].name, kernel->symbols[s].name);
    }
}

static void add_arrays(struct function_text *text, const struct lull_kernel *kernel)
{
    for (size_t a = 0; a < kernel->n_arrays; a++)
        if (!kernel->arrays[a].is_member)
            add_parameter(text, parameter(&kernel->arrays[a], text->arena),
                          lull_arena_printf(text->arena, "arrays[%zu]", a));
}

static void add_scalars(struct function_text *text, const struct lull_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_scalars; i++) {
        const struct lull_kernel_scalar *scalar = &kernel->scalars[i];
        if (!scalar->type || scalar->is_member)
            continue;
        const char *type = plain_type(scalar->type);
        add_parameter(text,
                      lull_arena_printf(text->arena, "%s *restrict lull_%s", type, scalar->name),
                      lull_arena_printf(text->arena, "scalars[%zu]", i));
        text->begin = lull_arena_printf(text->arena, "%s    %s %s = *lull_%s;\n", text->begin, type,
                                        scalar->name, scalar->name);
        text->end = lull_arena_printf(text->arena, "%s    *lull_%s = %s;\n", text->end,
                                      scalar->name, scalar->name);
    }
}

/* Structures are no arguments that anybody can give: what is compiled with them is only looked at. */
static void add_objects(struct function_text *text, const struct lull_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_objects; i++) {
        const struct lull_kernel_object *object = &kernel->objects[i];
        if (object->is_pointer) {
            add_parameter(text, lull_arena_printf(text->arena, "%s %s", object->type, object->name),
                          "(void *)0");
            continue;
        }
        const char *type = plain_type(object->type);
        add_parameter(text,
                      lull_arena_printf(text->arena, "%s *restrict lull_%s", type, object->name),
                      "(void *)0");
        text->begin = lull_arena_printf(text->arena, "%s    %s %s = *lull_%s;\n", text->begin, type,
                                        object->name, object->name);
        text->end = lull_arena_printf(text->arena, "%s    *lull_%s = %s;\n", text->end,
                                      object->name, object->name);
    }
}

static const char *absolute(const char *path, struct lull_arena *arena)
{
    char *real = realpath(path, NULL);
    const char *copy = lull_arena_strdup(arena, real ? real : path);
    free(real);
    return copy;
}

/* Without this a compiler would make a call of memcpy of a loop that copies, for which clang has an option, and
 * would exchange the loops of a nest, so that another one is innermost. */
static const char keep_loops[] =
    "#if defined __GNUC__ && !defined __clang__\n"
    "#pragma GCC optimize \"no-tree-loop-distribute-patterns\", \"no-loop-interchange\"\n"
    "#endif\n";

/* C source with one function,
 *     void lull_kernel(const long *sizes, void *const *arrays, void *const *scalars);
 * that runs the loop nest once. Sizes are in the order of the kernel's symbols that are sizes,
 * arrays and scalars in the order of the kernel. With constant sizes, those of a kernel by itself
 * are macros, and `sizes` is not read. */
static const char *incore_c_source(const struct lull_kernel *kernel, bool constant_sizes,
                                   struct lull_arena *arena)
{
    struct function_text text = {"#include <math.h>\n", "", "", "", "", arena};
    if (kernel->is_file)
        text.head = lull_arena_printf(arena, "%s#define main lull_unused_main\n#include \"%s\"\n",
                                      kernel->macros, absolute(kernel->path, arena));
    else
        text.head = lull_arena_printf(arena, "%s%s", text.head, kernel->macros);
    for (size_t i = 0; i < kernel->n_calls && !kernel->is_file; i++)
        text.head = lull_arena_printf(arena, "%sdouble %s();\n", text.head, kernel->calls[i].name);
    /* Sizes of a source file are variables in it; those of a kernel by itself are macros. */
    add_symbols(&text, kernel, constant_sizes && !kernel->is_file);
    add_arrays(&text, kernel);
    add_scalars(&text, kernel);
    add_objects(&text, kernel);
    return lull_arena_printf(arena,
                             "%s%s__attribute__((noinline)) void lull_loop(%s)\n{\n%s    %s\n"
                             "#line %u \"%s\"\n%s\n%s}\n"
                             "void lull_kernel(const long *sizes, void *const *arrays,\n"
                             "                 void *const *scalars)\n{\n"
                             "    (void)sizes, (void)arrays, (void)scalars;\n"
                             "    lull_loop(%s);\n}\n",
                             text.head, keep_loops, text.parameters, text.begin, kernel->preamble,
                             kernel->code_line, kernel->path, kernel->code, text.end,
                             text.arguments);
}

/* ==== the in-core times ======================================================================= */

static void incore_note(struct lull_incore *incore, struct lull_arena *arena, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

static void incore_note(struct lull_incore *incore, struct lull_arena *arena, const char *format,
                        ...)
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

/* ---- compiler -------------------------------------------------------------------------------- */

static const char *architecture(const struct lull_machine *machine, bool here)
{
    if (here)
        return "native";
    if (machine->core.llvm_cpu)
        return machine->core.llvm_cpu;
    return lull_machine_has_isa(machine, "avx512f") ? "x86-64-v4"
           : lull_machine_has_isa(machine, "avx2")  ? "x86-64-v3"
                                                    : "x86-64";
}

/* The flags of the compiler, with NULL at the end. */
static const char *const *flags_for(const struct lull_kernel *kernel,
                                    const struct lull_machine *machine,
                                    const struct lull_incore_options *options,
                                    struct lull_arena *arena)
{
    size_t count = 0, n_more = 0;
    if (options->flags)
        return options->flags;
    while (options->more_flags && options->more_flags[n_more])
        n_more++;
    const char **flags = lull_arena_zero(arena, n_more + 5, sizeof *flags);
    flags[count++] = "-O3";
    flags[count++] = "-funroll-loops";
    flags[count++] = lull_arena_printf(arena, "-march=%s", architecture(machine, options->here));
    if (kernel->reduces)
        flags[count++] = "-ffast-math"; /* lets the compiler add up in vectors */
    for (size_t i = 0; i < n_more; i++)
        flags[count++] = options->more_flags[i];
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

/* Compiles the kernel. `more` tells the compiler what to make, with NULL at the end. Libraries
 * stand behind the source, because a linker may take from them only what was asked for before. */
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
    lull_status status = write_text(source, incore_c_source(kernel, constant_sizes, arena), err);
    if (status == LULL_OK)
        status = incore_run(words, NULL, lull_arena_printf(arena, "%s/cc.err", folder), arena, err);
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

/* ---- the loop -------------------------------------------------------------------------------- */

/* The bytes that an iteration of the body stores, or without `stores` loads; each element counts
 * once. */
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

static double iterations_per_pass(const struct lull_kernel *kernel, double loaded, double stored)
{
    double stores = bytes_per_iteration(kernel, true), loads = bytes_per_iteration(kernel, false);
    if (stores > 0 && stored > 0)
        return stored / stores;
    return loads > 0 && loaded > 0 ? loaded / loads : 1;
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
            incore_note(incore, arena,
                        "A sum is vectorised with -ffast-math only, with which it was "
                        "compiled; --cflags chooses other flags.");
        return;
    }
    incore->vector_bits = 8 * kernel->precision;
    incore_note(incore, arena, "The compiler did not vectorise the loop%s.",
                kernel->reduces ? ": it sums up, which needs -ffast-math" : "");
}

/* ---- processors ------------------------------------------------------------------------------ */

/* What llvm-mca may call the processor, with NULL at the end: the name in the machine file, or
 * those of the nearest ones of the vendor with the same instructions, newest first. */
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
        return lull_machine_has_isa(machine, "avx512f") ? amd512 : amd;
    if (strcmp(machine->cpu.vendor, "GenuineIntel") != 0)
        return none;
    return lull_machine_has_isa(machine, "avx512f") ? intel512
           : lull_machine_has_isa(machine, "avx2")  ? intel2
                                                    : intel;
}

static void analyse(const struct lull_assembly_loop *loop, const struct lull_machine *machine,
                    const struct lull_incore_options *options, const char *folder,
                    struct lull_arena *arena, struct lull_incore *incore)
{
    const char *const *cpus = processors(machine, arena);
    struct lull_error why = {"the machine file does not name the processor (core/llvm_cpu)"};
    for (size_t i = 0; !options->estimate && cpus[i]; i++) {
        if (incore_mca(loop, machine, cpus[i], options->mca, folder, arena, incore, &why) !=
            LULL_OK)
            continue;
        if (!machine->core.llvm_cpu)
            incore_note(incore, arena,
                        "The processor is taken for %s, the nearest that llvm-mca knows: the "
                        "machine file does not name it (core/llvm_cpu).",
                        cpus[i]);
        return;
    }
    lull_incore_estimate(loop, machine, arena, incore);
    incore_note(incore, arena, "In-core times are a rough estimate from counted instructions: %s.",
                options->estimate ? "--estimate asked for it" : why.text);
}

/* Scales cycles per pass to cycles per unit of work. */
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

/* Finds the lines in which the body stands, as the compiler counts them; all lines if it is the
 * only innermost loop. */
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
                                  struct lull_incore_code *code, struct lull_arena *arena,
                                  struct lull_incore *incore, struct lull_error *err)
{
    /* -g1 notes the lines, and does not change the code. */
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
    /* If sizes are so small that no loop is left, it is compiled again for any sizes. */
    for (unsigned try = 0; try < 2 && !found; try++) {
        if (!code->assembly[try]) {
            status = compile(kernel, machine, options, try == 0,
                             lines.last ? with_lines : assembly_only, path, folder, arena, err);
            if (status != LULL_OK)
                return status;
            code->assembly[try] = incore_slurp(path, code->arena);
        }
        assembly = code->assembly[try];
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
    incore->per_pass = iterations_per_pass(kernel, loop.loaded, loop.stored);
    note_vectors(kernel, &loop, options, arena, incore);
    analyse(&loop, machine, options, folder, arena, incore);
    if (unrolled) { /* no pass follows another one */
        incore->chain = NAN;
        incore_note(incore, arena, "The compiler left no loop: its instructions count.");
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
                             struct lull_incore_code *code, struct lull_arena *arena,
                             struct lull_incore *ret_incore, struct lull_error *err)
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
    status = find_in_folder(folder, kernel, machine, options, unit, code, arena, &incore, err);
    lull_remove_tree(folder, NULL);
    incore.t_ol += cycles_of_calls(kernel, unit);
    if (status == LULL_OK)
        *ret_incore = incore;
    return status;
}

/* ==== machine code ============================================================================ */

const char *lull_incore_busiest_port(const struct lull_incore *incore, struct lull_arena *arena)
{
    const struct lull_incore_port *busiest = NULL;
    for (size_t i = 0; i < incore->n_ports; i++)
        if (!incore->ports[i].loads && (!busiest || incore->ports[i].cycles > busiest->cycles))
            busiest = &incore->ports[i];
    return busiest ? lull_arena_printf(arena, "port %s", busiest->name) : "instructions";
}

/* Writes code as numbers, as llvm-mc takes it. */
static lull_status write_code(const char *path, const uint8_t *code, size_t size,
                              struct lull_error *err)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return lull_fail_errno(err, "%s: cannot write", path);
    for (size_t i = 0; i < size; i++)
        fprintf(file, "0x%02x%c", code[i], i % 16 == 15 ? '\n' : ' ');
    fputc('\n', file);
    return fclose(file) == 0 ? LULL_OK : lull_fail_errno(err, "%s: cannot write", path);
}

/* The instructions as text. llvm-mc is tried by its plain name, then by those of its versions, newest first: an
 * old one does not know new instructions. */
static lull_status disassemble(const uint8_t *code, size_t size, const char *folder,
                               struct lull_arena *arena, const char **ret_text,
                               struct lull_error *err)
{
    enum { NEWEST_MC = 30, OLDEST_MC = 13 };
    const char *in = lull_arena_printf(arena, "%s/code.hex", folder);
    const char *out = lull_arena_printf(arena, "%s/code.s", folder);
    const char *messages = lull_arena_printf(arena, "%s/mc.err", folder);
    lull_status status = write_code(in, code, size, err);
    if (status != LULL_OK)
        return status;
    bool met = false;
    for (int version = NEWEST_MC + 1; version >= OLDEST_MC; version--) {
        const char *words[] = {
            version > NEWEST_MC ? "llvm-mc" : lull_arena_printf(arena, "llvm-mc-%d", version),
            "--disassemble", "-triple=x86_64", in, NULL};
        status = incore_run(words, out, messages, arena, NULL);
        const char *said = status == LULL_OK ? incore_slurp(messages, arena) : NULL;
        *ret_text = status == LULL_OK ? incore_slurp(out, arena) : NULL;
        if (*ret_text && said && !*said)
            return LULL_OK;
        met |= status != LULL_ERR_IO;
    }
    if (met)
        return lull_fail(err, LULL_ERR_FORMAT, "llvm-mc does not understand its code");
    return lull_fail(err, LULL_ERR_UNSUPPORTED, "llvm-mc, which reads machine code, is not there");
}

static void count_calculations(const struct lull_assembly_loop *loop,
                               struct lull_incore_binary *binary)
{
    binary->lanes = 1;
    for (size_t i = 0; i < loop->count; i++) {
        unsigned bytes, bits;
        if (!lull_assembly_calculates(&loop->items[i], &bytes, &bits))
            continue;
        binary->scalar += bits == 0;
        binary->packed += bits > 0;
        if (binary->element_bytes < bytes)
            binary->element_bytes = bytes;
        if (bits / 8 / bytes > binary->lanes)
            binary->lanes = bits / 8 / bytes;
    }
}

lull_status lull_incore_of_code(const uint8_t *code, size_t size, bool whole,
                                const struct lull_machine *machine,
                                const struct lull_incore_options *options, struct lull_arena *arena,
                                struct lull_incore_binary *ret_binary, struct lull_error *err)
{
    struct lull_incore_binary binary = {.incore = {.per_pass = 1, .chain = NAN, .alone = NAN}};
    struct lull_incore *incore = &binary.incore;
    const char *folder, *text;
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    status = disassemble(code, size, folder, arena, &text, err);
    if (status == LULL_OK) {
        const struct lull_assembly_loop loop = lull_assembly_read(text, arena);
        count_calculations(&loop, &binary);
        binary.loaded = loop.loaded;
        binary.stored = loop.stored;
        binary.n_instructions = loop.count;
        incore->assembly = loop.text;
        incore->vector_bits = 8 * binary.element_bytes * binary.lanes;
        analyse(&loop, machine, options, folder, arena, incore);
        if (!whole)
            incore->chain = NAN;
    }
    lull_remove_tree(folder, NULL);
    if (status != LULL_OK)
        return status;
    const double ports = fmax(incore->t_ol, incore->t_nol);
    const bool by_chain = incore->chain > ports; /* false where it is not known */
    binary.cycles = by_chain ? incore->chain : ports;
    binary.limit = by_chain                       ? "dependency chain"
                   : incore->t_nol > incore->t_ol ? "loads from L1"
                                                  : lull_incore_busiest_port(incore, arena);
    *ret_binary = binary;
    return LULL_OK;
}

bool lull_incore_of_body(const struct lull_kernel *kernel, const struct lull_incore_binary *binary,
                         double line_bytes, struct lull_arena *arena,
                         struct lull_incore *ret_incore)
{
    struct lull_incore incore = binary->incore;
    incore.per_pass = iterations_per_pass(kernel, binary->loaded, binary->stored);
    if (!(incore.per_pass >= 1) || incore.per_pass != floor(incore.per_pass))
        return false;
    incore.ports = lull_arena_zero(arena, incore.n_ports + 1, sizeof *incore.ports);
    if (incore.n_ports > 0)
        memcpy(incore.ports, binary->incore.ports, incore.n_ports * sizeof *incore.ports);
    scale_cycles(&incore, lull_kernel_unit(kernel, line_bytes) / incore.per_pass);
    *ret_incore = incore;
    return true;
}
