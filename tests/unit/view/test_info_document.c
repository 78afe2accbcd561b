/* The document of lull info. */
#include "view/info_document.h"

#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    const struct lull_document *document = lull_info_run(trace, &census, "run", trace->arena);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    lull_renderer_find("csv")->render(document, &(struct lull_render_options){0}, out);
    fclose(out);
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
        cmocka_unit_test(test_communicators_of_one_name),
    };
    return run_cases(tests, NULL, NULL);
}
