/* Layer conditions of seven kernels on two machines, as Kerncraft finds them: lines per cache level
 * exactly, cycles to 0.02. */
#include "model/kernel/layers.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static char folder[4096];

static struct lull_machine *machine_of(const char *name, struct lull_arena *arena)
{
    static const char *const files[][2] = {{"HaswellEP_E5-2695v3_CoD", "haswell-e5-2695v3-cod"},
                                           {"SandyBridgeEP_E5-2680", "sandybridge-e5-2680"}};
    struct lull_machine *machine = NULL;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(files[i][0], name) == 0) {
            const char *tests = getenv("LULL_TESTS_DIR");
            const char *path = lull_arena_printf(arena, "%s/../data/%s.json", tests, files[i][1]);
            assert_int_equal(lull_machine_read(path, arena, &machine, NULL), LULL_OK);
        }
    assert_non_null(machine);
    return machine;
}

static struct lull_kernel *kernel_of(const json_t *point, struct lull_arena *arena)
{
    struct lull_kernel_size sizes[8];
    struct lull_kernel_source source = {.sizes = sizes};
    struct lull_kernel *kernel = NULL;
    struct lull_error err;
    const char *name;
    json_t *value;
    source.path = lull_arena_printf(arena, "%s/kernels/%s.c", folder,
                                    json_string_value(json_object_get(point, "kernel")));
    json_object_foreach(json_object_get(point, "constants"), name, value) sizes[source.n_sizes++] =
        (struct lull_kernel_size){.name = name, .value = json_number_value(value)};
    fail_if(lull_kernel_read(&source, arena, &kernel, &err) != LULL_OK, "%s", err.text);
    return kernel;
}

static double number_at(const json_t *point, const char *key, size_t index)
{
    return json_number_value(json_array_get(json_object_get(point, key), index));
}

static void check_point(const json_t *point)
{
    static const char *const levels[] = {"L2", "L3", "MEM"};
    struct lull_arena *arena = lull_arena_create(NULL);
    const struct lull_machine *machine =
        machine_of(json_string_value(json_object_get(point, "machine")), arena);
    struct lull_layers layers;
    struct lull_ecm ecm = {0};
    struct lull_ecm_bandwidth memory;
    assert_int_equal(lull_layers_find(kernel_of(point, arena), machine, 1, arena, &layers, NULL),
                     LULL_OK);
    assert_int_equal(layers.n_levels, 3);
    assert_int_equal(
        lull_ecm_links(machine, layers.lines, layers.n_levels, arena, &ecm, &memory, NULL),
        LULL_OK);
    for (size_t i = 0; i < 3; i++) {
        double loads = number_at(point, "loads_CL", i + 1);
        double stores = number_at(point, "stores_CL", i + 1);
        double cycles =
            json_number_value(json_object_get(json_object_get(point, "cycles_cyCL"), levels[i]));
        if (layers.lines[i].loads != loads || layers.lines[i].stores != stores ||
            !(fabs(ecm.links[i].cycles - cycles) <= 0.02)) {
            char *text = json_dumps(point, JSON_COMPACT);
            fail_msg("%s: %s: %g loads, %g stores, %g cycles", text, levels[i],
                     layers.lines[i].loads, layers.lines[i].stores, ecm.links[i].cycles);
        }
    }
    assert_string_equal(memory.kernel, json_string_value(json_object_get(point, "mem_bw_kernel")));
    lull_arena_destroy(arena);
}

static void all_points_agree(void **state)
{
    char path[4200];
    (void)state;
    snprintf(path, sizeof path, "%s/layer-conditions.json", folder);
    json_t *root = json_load_file(path, 0, NULL);
    const json_t *points = json_object_get(root, "layer_conditions");
    assert_int_equal(json_array_size(points), 62);
    for (size_t i = 0; i < json_array_size(points); i++)
        check_point(json_array_get(points, i));
    json_decref(root);
}

TEST_GROUP(test_layer_conditions)
{
    const char *traces = getenv("LULL_CONFORMANCE_DIR");
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_kernel *kernel;
    const struct lull_kernel_source none = {.path = "/"};
    struct lull_error err;
    snprintf(folder, sizeof folder, "%s/../golden", traces ? traces : "../../shared/traces");
    FILE *there = fopen(lull_arena_printf(arena, "%s/layer-conditions.json", folder), "r");
    bool reads = lull_kernel_read(&none, arena, &kernel, &err) != LULL_ERR_UNSUPPORTED;
    lull_arena_destroy(arena);
    if (there)
        fclose(there);
    if (!there || !reads) {
        printf("skipped: %s\n", there ? err.text : "no reference results");
        return 77;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_points_agree)};
    return run_cases(tests, NULL, NULL);
}
