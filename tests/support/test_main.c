/* The main of a program of test groups. */
#include "support/test.h"
#include "support/test_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each group in a process of its own: a group may leave anything behind in the one that it runs in.
 */
static int run_apart(const struct test_group *group)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(test_run_group(group));
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_all(void)
{
    unsigned failed = 0, skipped = 0;
    for (size_t g = 0; g < test_n_groups; g++) {
        int status = run_apart(&test_groups[g]);
        skipped += status == TEST_SKIPPED;
        if (status == 0 || status == TEST_SKIPPED)
            continue;
        failed++;
        printf("failed: %s\n", test_groups[g].name);
    }
    printf("%zu groups passed, %u failed, %u skipped\n", test_n_groups - failed - skipped, failed,
           skipped);
    return failed > 0;
}

static const struct test_group *group_called(const char *name)
{
    for (size_t g = 0; g < test_n_groups; g++)
        if (strcmp(test_groups[g].name, name) == 0)
            return &test_groups[g];
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t g = 0; g < test_n_groups; g++)
            puts(test_groups[g].name);
        return 0;
    }
    if (argc != 1 && !(argc == 3 && strcmp(argv[1], "--only") == 0)) {
        fprintf(stderr, "usage: %s [--list | --only GROUP | --only CASE]\n", argv[0]);
        return 2;
    }
    const struct test_group *group = argc == 3 ? group_called(argv[2]) : NULL;
    if (group)
        return test_run_group(group);
    test_choose_case(argc == 3 ? argv[2] : NULL);
    return run_all();
}
