/* Limits of memory in folders that look like systems, as the kernel's documentation of control groups
 * (cgroup-v1/memory, cgroup-v2) names their files. */
#include "base/memory_limit.h"
#include "support/folder.h"
#include "support/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GIB (UINT64_C(1) << 30)

/* Writes a file below the folder of the test, with the folders on the way. */
static void put(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s", folder_path(path));
    for (char *at = strchr(whole + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(whole, 0700);
        *at = '/';
    }
    folder_write(whole, text, strlen(text));
}

static struct lull_memory_limit find(void)
{
    return lull_memory_limit_find(folder_path("system"));
}

static void check(const struct lull_memory_limit *limit, uint64_t bytes, uint64_t left)
{
    assert_int_equal(limit->bytes, bytes);
    assert_int_equal(limit->left, left);
    assert_true((limit->group != 0) == (bytes != 0));
}

static void begin(const char *groups)
{
    folder_make();
    put("system/proc/self/cgroup", groups);
}

/* The job has 8 GiB, its step no limit of its own, the whole user 64 GiB. */
static void test_version_2(void **state)
{
    (void)state;
    begin("0::/slice/job_7/step_0\n");
    put("system/sys/fs/cgroup/slice/memory.max", "68719476736\n");
    put("system/sys/fs/cgroup/slice/job_7/memory.max", "8589934592\n");
    put("system/sys/fs/cgroup/slice/job_7/memory.current", "1073741824\n");
    put("system/sys/fs/cgroup/slice/job_7/step_0/memory.max", "max\n");
    struct lull_memory_limit limit = find();
    check(&limit, 8 * GIB, 7 * GIB);
    /* Another step of the job has the limit together with this one, another job has its own. */
    const uint64_t group = limit.group;
    put("system/proc/self/cgroup", "0::/slice/job_7/step_1\n");
    limit = find();
    check(&limit, 8 * GIB, 7 * GIB);
    assert_int_equal(limit.group, group);
    put("system/sys/fs/cgroup/slice/job_8/memory.max", "8589934592\n");
    put("system/proc/self/cgroup", "0::/slice/job_8\n");
    limit = find();
    check(&limit, 8 * GIB, 8 * GIB);
    assert_int_not_equal(limit.group, group);
    folder_remove();
}

/* What may still be taken is decided by another group than the limit: the outer one is nearly full. */
static void test_full_around(void **state)
{
    (void)state;
    begin("0::/a/b\n");
    put("system/sys/fs/cgroup/a/memory.max", "4294967296\n");
    put("system/sys/fs/cgroup/a/memory.current", "4294967295\n");
    put("system/sys/fs/cgroup/a/b/memory.max", "2147483648\n");
    put("system/sys/fs/cgroup/a/b/memory.current",
        "5368709120\n"); /* above its limit, which was lowered */
    const struct lull_memory_limit limit = find();
    check(&limit, 2 * GIB, 0);
    folder_remove();
}

/* The system's root group alone has files that a container sees. */
static void test_container(void **state)
{
    (void)state;
    begin("0::/../../elsewhere\n");
    put("system/sys/fs/cgroup/memory.max", "1073741824\n");
    const struct lull_memory_limit limit = find();
    check(&limit, GIB, GIB);
    folder_remove();
}

static void test_version_1(void **state)
{
    (void)state;
    begin("11:cpu,cpuacct:/job\n4:hugetlb,memory:/job\n1:name=systemd:/x\n0::/x\n");
    put("system/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("system/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3221225472\n");
    put("system/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
    put("system/sys/fs/cgroup/cpu/job/memory.limit_in_bytes",
        "1\n"); /* of no controller of memory */
    const struct lull_memory_limit limit = find();
    check(&limit, 3 * GIB, 2 * GIB);
    folder_remove();
}

static void test_none(void **state)
{
    (void)state;
    static const char *const groups[] = {"",     "0::/\n",     "nonsense\n",
                                         "::\n", "4:memory\n", "0::/gone\n"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        begin(groups[i]);
        put("system/sys/fs/cgroup/memory.max", i == 1 ? "0\n" : "not a number\n");
        const struct lull_memory_limit limit = find();
        check(&limit, 0, UINT64_MAX);
        folder_remove();
    }
    const struct lull_memory_limit limit = lull_memory_limit_find("/there/is/no/such/folder");
    check(&limit, 0, UINT64_MAX);
}

TEST_GROUP(test_memory_limit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2), cmocka_unit_test(test_full_around),
        cmocka_unit_test(test_container), cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_none),
    };
    return run_cases(tests, NULL, NULL);
}
