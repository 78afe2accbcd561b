/* Names of functions in regions and in the places that they are called from. */
#include "support/memory_trace.h"
#include "support/test.h"

#include <stddef.h>
#include <stdint.h>

static void check_site(struct lull_trace *trace, const char *site, const char *expected)
{
    trace->regions[0].site = site;
    lull_trace_demangle(trace);
    assert_string_equal(trace->regions[0].site, expected);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const regions[] = {"__heat_MOD_step", "MPI_Send", "_Z1fi", NULL};
    struct lull_trace *trace = memory_trace_simple(1, 1, 1000, regions);
    lull_trace_demangle(trace);
    assert_string_equal(trace->regions[0].name, "heat::step");
    assert_string_equal(trace->regions[1].name, "MPI_Send");
    if (lull_trace_demangles_cpp())
        assert_string_equal(trace->regions[2].name, "f(int)");
    check_site(trace, "", "");
    check_site(trace, "main (heat_2d.c:7)", "main (heat_2d.c:7)");
    check_site(trace, "__a_MOD_b (a+0x14f8)", "a::b (a+0x14f8)");
    check_site(trace, "__a_MOD_b (a.f:1) < main (m_.c:7) < __c_MOD_d (c.f:2) < e",
               "a::b (a.f:1) < main (m_.c:7) < c::d (c.f:2) < e");
    check_site(trace, "__a_MOD_b (a.f:1) < __a_MOD_b (a.f:9)", "a::b (a.f:1) < a::b (a.f:9)");
    lull_trace_close(trace);
}

TEST_GROUP(test_demangle)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
    return run_cases(tests, NULL, NULL);
}
