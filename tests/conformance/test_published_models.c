/* Published numbers of node-level models: the CG solver, the walk-through of ECM, and the
 * intensities of sparse matrices. */
#include "base/arena.h"
#include "model/ecm.h"
#include "model/solver/solver.h"
#include "model/spmv/spmv.h"
#include "support/test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static json_t *published;

static void check_near(const char *what, double got, double want, double within)
{
    fail_if(!(fabs(got - want) <= within), "%s: %.10g, expected %.10g", what, got, want);
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    fail_if(!json_is_number(value), "no number '%s'", name);
    return json_number_value(value);
}

static void check_kernel(const json_t *row, const struct lull_solver_kernel_time *got)
{
    static const char *const links[] = {"T_L1L2", "T_L2L3", "T_L3Mem"};
    const json_t *computed = json_object_get(row, "computed");
    const json_t *shown = json_object_get(row, "published");
    for (size_t i = 0; i < 3; i++)
        check_near(links[i], got->ecm.links[i].cycles, number(computed, links[i]), 0.005);
    check_near("T_ECM", got->cycles, number(computed, "T_ECM"), 0.005);
    check_near("T_ECM", got->cycles, number(shown, "T_ECM"), 0.1);
    check_near("limit", got->limit, number(shown, "domain_limit"), 0.1);
    check_near("n_s", got->saturation, number(shown, "n_s"), 0);
    check_near("T_OL", got->ecm.t_ol, number(row, "T_OL"), 0);
    check_near("T_nOL", got->ecm.t_nol, number(row, "T_nOL"), 0);
}

static void test_cg(void **state)
{
    (void)state;
    const json_t *cg = json_object_get(published, "cg"), *rows = json_object_get(cg, "kernels");
    const char *tests = getenv("LULL_TESTS_DIR");
    struct lull_arena *arena = lull_arena_create(NULL);
    struct lull_machine *machine;
    struct lull_solver solver;
    struct lull_solver_prediction got;
    struct lull_error err = {""};
    const struct lull_solver_options options = {.compiler = "gcc", .barrier = NAN};
    const char *file = lull_arena_printf(arena, "%s/../data/haswell-e5-2695v3-cod-cg.json", tests);
    const char *text = lull_arena_printf(arena, "%s/../data/solvers/cg.lua", tests);
    fail_if(lull_machine_read(file, arena, &machine, &err) != LULL_OK ||
                lull_solver_read(text, machine, NULL, 0, arena, &solver, &err) != LULL_OK ||
                lull_solver_predict(&solver, machine, &options, arena, &got, &err) != LULL_OK,
            "%s", err.text);
    assert_int_equal(solver.n_kernels, json_array_size(rows));
    for (size_t i = 0; i < solver.n_kernels; i++)
        check_kernel(json_array_get(rows, i), &got.kernels[i]);
    check_near("sum", got.cycles, number(json_object_get(cg, "computed_totals"), "sum_T_ECM"),
               0.005);
    check_near("limit", got.limit,
               number(json_object_get(cg, "computed_totals"), "sum_domain_limit"), 0.005);
    lull_arena_destroy(arena);
}

static void test_walk_through(void **state)
{
    (void)state;
    const json_t *walk = json_object_get(published, "walkthrough");
    const json_t *tuple = json_object_get(walk, "tuple"), *want = json_object_get(walk, "expected");
    static const char *const names[] = {"T_L1", "T_L2", "T_L3", "T_Mem"};
    struct lull_ecm ecm = {.t_ol = json_number_value(json_array_get(tuple, 0)),
                           .t_nol = json_number_value(json_array_get(tuple, 1)),
                           .n_links = 3};
    for (size_t i = 0; i < 3; i++)
        ecm.links[i].cycles = json_number_value(json_array_get(tuple, i + 2));
    for (size_t i = 0; i < 4; i++)
        check_near(names[i], lull_ecm_time(&ecm, i), number(want, names[i]), 1e-9);
    check_near("n_s", lull_ecm_saturation(lull_ecm_time(&ecm, 3), ecm.links[2].cycles),
               number(want, "n_s"), 0);
}

static struct lull_spmv_shape shape_of(double rows, double nonzeros)
{
    return (struct lull_spmv_shape){.rows = rows,
                                    .columns = rows,
                                    .nonzeros = nonzeros,
                                    .value_bytes = 8,
                                    .flops = 2,
                                    .stored = nonzeros};
}

static void test_matrices(void **state)
{
    (void)state;
    const json_t *matrices = json_object_get(json_object_get(published, "spmv"), "matrices");
    assert_int_equal(json_array_size(matrices), 18);
    for (size_t i = 0; i < json_array_size(matrices); i++) {
        const json_t *row = json_array_get(matrices, i);
        double nonzeros = number(row, "Nnz"), per_row = number(row, "Nnzr_published");
        check_near("N_nzr", nonzeros / number(row, "N"), per_row, 0.006);
        struct lull_spmv_shape shape = shape_of(nonzeros / per_row, nonzeros);
        double alpha = lull_spmv_alpha_once(&shape);
        check_near("alpha", alpha, number(row, "alpha_min"), 1e-5);
        check_near("bytes", lull_spmv_bytes(&shape, alpha), number(row, "bytes_per_nz"), 1e-4);
        check_near("intensity", lull_spmv_intensity(&shape, alpha),
                   number(row, "intensity_F_per_B"), 1e-5);
    }
}

static void test_measured_alpha(void **state)
{
    (void)state;
    const json_t *spmv = json_object_get(published, "spmv");
    const json_t *kkt = json_object_get(spmv, "kkt_power");
    double nonzeros = number(kkt, "Nnz");
    struct lull_spmv_shape shape = shape_of(nonzeros / number(kkt, "Nnzr"), nonzeros);
    double alpha = lull_spmv_alpha(&shape, number(kkt, "Vmeas_B"));
    check_near("alpha", alpha, number(kkt, "alpha_published"), 0.005);
    check_near("alpha", alpha, number(kkt, "alpha_computed"), 1e-4);
    check_near("loads", alpha * number(kkt, "Nnzr"), number(kkt, "alpha_Nnzr_published"), 0.05);
    check_near("ratio",
               lull_spmv_intensity(&shape, lull_spmv_alpha_once(&shape)) /
                   lull_spmv_intensity(&shape, alpha),
               number(kkt, "ratio_published"), 0.005);
    const json_t *pwtk = json_object_get(spmv, "pwtk");
    shape = shape_of(1e6, 1e6 * number(pwtk, "Nnzr"));
    check_near("pwtk", lull_spmv_bytes(&shape, lull_spmv_alpha_once(&shape)),
               number(pwtk, "bytes_per_nz"), 1e-3);
}

TEST_GROUP(test_published_models)
{
    char path[1200];
    const char *folder = getenv("LULL_CONFORMANCE_DIR"), *tests = getenv("LULL_TESTS_DIR");
    if (folder)
        snprintf(path, sizeof path, "%s/../golden/published-models.json", folder);
    else
        snprintf(path, sizeof path, "%s/../../shared/golden/published-models.json",
                 tests ? tests : ".");
    struct stat info;
    if (stat(path, &info) != 0) {
        printf("skipped: no published models at %s\n", path);
        return 77;
    }
    published = json_load_file(path, 0, NULL);
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_cg),
        cmocka_unit_test(test_walk_through),
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_measured_alpha),
    };
    int failed = run_cases(all, NULL, NULL);
    json_decref(published);
    return failed;
}
