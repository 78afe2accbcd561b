/* What a region counts as, by where it runs. */
#include "trace/classify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_host_and_device(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint8_t paradigm, role;
        uint8_t on_host, on_stream;
    } rows[] = {
        {"axpy", LULL_PARADIGM_DEVICE, LULL_ROLE_KERNEL, LULL_DEVICE, LULL_USEFUL},
        {"axpy", LULL_PARADIGM_USER, LULL_ROLE_KERNEL, LULL_ACTIVITIES, LULL_USEFUL},
        {"cudaLaunchKernel", LULL_PARADIGM_DEVICE, LULL_ROLE_FUNCTION, LULL_DEVICE, LULL_USEFUL},
        {"cudaMemcpy", LULL_PARADIGM_DEVICE, LULL_ROLE_DATA_TRANSFER, LULL_DEVICE, LULL_DEVICE},
        {"copy", LULL_PARADIGM_OTHER, LULL_ROLE_DATA_TRANSFER, LULL_ACTIVITIES, LULL_DEVICE},
        {"wait", LULL_PARADIGM_DEVICE, LULL_ROLE_BARRIER, LULL_DEVICE, LULL_DEVICE},
        {"solve", LULL_PARADIGM_USER, LULL_ROLE_FUNCTION, LULL_ACTIVITIES, LULL_ACTIVITIES},
        {"MPI_Recv", LULL_PARADIGM_MPI, LULL_ROLE_FUNCTION, LULL_MPI_P2P, LULL_MPI_P2P},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lull_region region = {
            .name = rows[i].name, .file = "", .paradigm = rows[i].paradigm, .role = rows[i].role};
        lull_classify_region(&region);
        assert_int_equal(lull_activity_on(&region, LULL_LOCATION_THREAD), rows[i].on_host);
        assert_int_equal(lull_activity_on(&region, LULL_LOCATION_DEVICE), rows[i].on_stream);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host_and_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
