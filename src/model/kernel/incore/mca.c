/* llvm-mca: how long each port is busy with the loop. */
#include "model/kernel/incore/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ITERATIONS = 200, MOST_PORTS = 96, MOST_GROUPS = 16 };

/* Ports that load, by the processor's name for llvm-mca, where the machine file does not say. All
 * resources with one of these names belong to the group; versions of LLVM name some differently. */
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
    const char *names[MOST_PORTS]; /* of resources, without their number within a group */
    double busy[MOST_PORTS], loading[MOST_PORTS]; /* per pass: by all, by loads */
    bool loads[MOST_PORTS];
    size_t count;
};

/* Whether a resource is one of those that load; `any`: whether that is known at all. */
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

/* "Zn3FPP45.\1" as "Zn3FPP45": LLVM 14 writes the unit as a byte behind a dot. */
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
            continue; /* the last one is the sum */
        ports->busy[port] += usage;
        if (loop->items[instruction].load)
            ports->loading[port] += usage;
    }
}

/* Resources of one name are units of a group, and share its work. On a load port the stores'
 * addresses do not count, because loads come first and there are others for them. */
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

/* Latencies come from the second region, where operands in memory are registers: what is loaded
 * does not depend on the pass before. Where llvm-mca refuses that region they are usual ones. */
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
                                                         : lull_incore_estimate_chain(loop, arena);
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
    lull_status status = lull_incore_run(words, out, messages, arena, err);
    const char *said = status == LULL_OK ? lull_incore_slurp(messages, arena) : NULL;
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

/* With the second region, and where llvm-mca does not like that, without. */
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

/* By its plain name, then by those of versions, the newest first: the first that knows processor
 * and instructions. */
lull_status lull_incore_mca(const struct lull_assembly_loop *loop,
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
        if (next != LULL_ERR_IO) { /* it is there */
            status = next;
            *err = other;
        }
    }
    return status;
}
