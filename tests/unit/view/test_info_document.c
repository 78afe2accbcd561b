/* The document of lull info. */
#include "view/info_document.h"

#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *csv_of(const struct lull_document *document)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lull_renderer_find("csv")->render(document, &(struct lull_render_options){0}, out);
    fclose(out);
    return text;
}

/* Process 2 is an application of its own. One application alone has no table. */
static void test_applications(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", NULL};
    for (uint32_t n = 1; n <= 2; n++) {
        struct lull_trace *trace = memory_trace_simple(3, 1, 100, regions);
        struct lull_census census = {0};
        trace->n_applications = n;
        trace->processes[2].application = n - 1;
        trace->processes[2].name = "spawn 1 rank 0";
        char *text = csv_of(lull_info_run(trace, &census, NULL, "run", trace->arena));
        if (n == 1)
            assert_null(strstr(text, "application_list"));
        else
            assert_non_null(strstr(text, "application_list,1,1,2,rank 0\n"
                                         "application_list,2,2,1,spawn 1 rank 0\n"));
        free(text);
        lull_trace_close(trace);
    }
}

/* As many MPI_COMM_SELF as there are processes are one row, with their number. */
static void test_communicators_of_one_name(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", NULL};
    struct lull_trace *trace = memory_trace_simple(3, 1, 100, regions);
    static const char *const names[] = {
        "MPI_COMM_WORLD", "MPI_COMM_SELF", "MPI_COMM_SELF", "MPI_COMM_SELF", "", ""};
    static const uint32_t sizes[] = {3, 1, 1, 1, 2, 2};
    trace->n_comms = 6;
    trace->comms = lull_arena_zero(trace->arena, trace->n_comms, sizeof *trace->comms);
    for (uint32_t i = 0; i < trace->n_comms; i++)
        trace->comms[i] = (struct lull_comm){.name = names[i],
                                             .size = sizes[i],
                                             .parent = LULL_NONE,
                                             .remote = LULL_NONE,
                                             .paradigm = LULL_PARADIGM_MPI};
    struct lull_census census = {0};
    char *text = csv_of(lull_info_run(trace, &census, NULL, "run", trace->arena));
    assert_non_null(strstr(text, "communicators,0,MPI_COMM_WORLD,3,1\n"
                                 "communicators,1,MPI_COMM_SELF,1,3\n"
                                 "communicators,4,\"(no name, number 4)\",2,1\n"
                                 "communicators,5,\"(no name, number 5)\",2,1\n"));
    free(text);
    lull_trace_close(trace);
}

TEST_GROUP(test_info_document)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_applications),
        cmocka_unit_test(test_communicators_of_one_name),
    };
    return run_cases(tests, NULL, NULL);
}
