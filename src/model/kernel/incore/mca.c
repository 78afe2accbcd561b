/* llvm-mca: how long each port is busy with the loop. */
#include "model/kernel/incore/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ITERATIONS = 200, MOST_PORTS = 96, MOST_GROUPS = 16 };

/* Ports that load, by the processor's name for llvm-mca, where the machine file does not say. A
 * group is all units whose names begin so. */
static const struct {
    const char *cpu, *ports[4];
} known_ports[] = {{"sandybridge", {"SBPort23"}},        {"ivybridge", {"SBPort23"}},
                   {"haswell", {"HWPort2", "HWPort3"}},  {"broadwell", {"BWPort2", "BWPort3"}},
                   {"skylake", {"SKLPort2", "SKLPort3"}}, {"skylake-avx512", {"SKXPort2", "SKXPort3"}},
                   {"cascadelake", {"SKXPort2", "SKXPort3"}}, {"icelake-server", {"ICXPort2", "ICXPort3"}},
                   {"sapphirerapids", {"SPRPort02", "SPRPort03", "SPRPort11"}},
                   {"znver1", {"ZnAGU"}},                {"znver2", {"Zn2AGU"}},
                   {"znver3", {"Zn3FPP45"}},             {"znver4", {"Zn4FP45"}},
                   {"znver5", {"Zn4FP45"}}};

struct ports {
    const char *names[MOST_PORTS]; /* of resources, without their number within a group */
    double busy[MOST_PORTS], loading[MOST_PORTS]; /* per pass: by all, by loads */
    bool loads[MOST_PORTS];
    size_t count;
};

static const char *const *load_groups(const struct lull_machine *machine, const char *cpu,
                                      size_t *ret_count)
{
    *ret_count = 0;
    if (machine->core.n_load_ports && machine->core.llvm_cpu &&
        strcmp(machine->core.llvm_cpu, cpu) == 0) {
        *ret_count = machine->core.n_load_ports;
        return machine->core.load_ports;
    }
    for (size_t i = 0; i < sizeof known_ports / sizeof *known_ports; i++)
        if (strcmp(known_ports[i].cpu, cpu) == 0) {
            while (*ret_count < 4 && known_ports[i].ports[*ret_count])
                ++*ret_count;
            return known_ports[i].ports;
        }
    return NULL;
}

/* "Zn3FPP45.\1" as "Zn3FPP45": LLVM 14 writes the unit as a byte behind a dot. */
static const char *port_name(const char *name, struct lull_arena *arena)
{
    return lull_arena_strndup(arena, name, strcspn(name, "."));
}

static bool read_ports(const json_t *root, const char *const *groups, size_t n_groups,
                       struct ports *ports, struct lull_arena *arena)
{
    const json_t *names = json_object_get(json_object_get(root, "TargetInfo"), "Resources");
    bool found = false;
    ports->count = json_array_size(names);
    if (ports->count == 0 || ports->count > MOST_PORTS)
        return false;
    for (size_t i = 0; i < ports->count; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        ports->names[i] = port_name(name ? name : "", arena);
        for (size_t g = 0; g < n_groups; g++)
            ports->loads[i] |= strcmp(ports->names[i], groups[g]) == 0;
        found |= ports->loads[i];
    }
    return found;
}

static void add_pressure(const json_t *region, const struct lull_assembly_loop *loop,
                         struct ports *ports)
{
    const json_t *list = json_object_get(json_object_get(region, "ResourcePressureView"),
                                         "ResourcePressureInfo");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        size_t instruction =
            (size_t)json_integer_value(json_object_get(entry, "InstructionIndex"));
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
static void conclude(const struct ports *ports, struct lull_arena *arena,
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

/* Latencies come from the second region, where operands in memory are registers: what is loaded does
 * not depend on the pass before. */
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
    incore->chain =
        json_array_size(list) == loop->count ? lull_assembly_chain(loop, latency, arena) : NAN;
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

/* By its plain name, or by those of versions, the newest first. */
static lull_status run_mca(const char *mca, const char *cpu, const char *folder,
                           struct lull_arena *arena, struct lull_error *err)
{
    const char *in = lull_arena_printf(arena, "%s/loop.s", folder);
    const char *out = lull_arena_printf(arena, "%s/mca.json", folder);
    const char *messages = lull_arena_printf(arena, "%s/mca.err", folder);
    lull_status status = LULL_ERR_IO;
    for (int version = 24; status == LULL_ERR_IO && version >= 13; version--) {
        const char *name = mca           ? mca
                           : version < 24 ? lull_arena_printf(arena, "llvm-mca-%d", version)
                                          : "llvm-mca";
        const char *words[] = {name,
                               "--json",
                               lull_arena_printf(arena, "-mcpu=%s", cpu),
                               lull_arena_printf(arena, "-iterations=%d", ITERATIONS),
                               in,
                               NULL};
        status = lull_incore_run(words, out, messages, arena, err);
        if (status == LULL_OK && strstr(lull_incore_slurp(messages, arena), "not a recognized"))
            status = lull_fail(err, LULL_ERR_IO, "llvm-mca does not know the processor '%s'", cpu);
        if (mca)
            break;
    }
    return status;
}

lull_status lull_incore_mca(const struct lull_assembly_loop *loop,
                            const struct lull_machine *machine, const char *cpu, const char *mca,
                            const char *folder, struct lull_arena *arena,
                            struct lull_incore *incore, struct lull_error *err)
{
    struct ports ports = {0};
    json_error_t problem;
    size_t n_groups;
    const char *const *groups = load_groups(machine, cpu, &n_groups);
    if (!groups)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "the load ports of '%s' are not known: name them as load_ports in the "
                         "machine file",
                         cpu);
    lull_status status = LULL_ERR_FORMAT;
    for (unsigned both = 2; status == LULL_ERR_FORMAT && both-- > 0;) {
        const char *path = lull_arena_printf(arena, "%s/loop.s", folder);
        status = write_loop(loop, path, both == 1, arena, err);
        if (status == LULL_OK)
            status = run_mca(mca, cpu, folder, arena, err);
    }
    if (status != LULL_OK)
        return LULL_ERR_UNSUPPORTED;
    json_t *root = json_load_file(lull_arena_printf(arena, "%s/mca.json", folder),
                                  JSON_ALLOW_NUL, &problem);
    const json_t *regions = json_object_get(root, "CodeRegions");
    if (!read_ports(root, groups, n_groups, &ports, arena)) {
        json_decref(root);
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "llvm-mca has no port '%s' for '%s': see load_ports in the machine file",
                         groups[0], cpu);
    }
    add_pressure(json_array_get(regions, 0), loop, &ports);
    conclude(&ports, arena, incore);
    find_chain(regions, loop, arena, incore);
    incore->source = LULL_INCORE_MCA;
    json_decref(root);
    return LULL_OK;
}
