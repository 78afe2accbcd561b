#include "support/model_text.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

static struct lull_program_model open_model(const char *path, struct lull_arena *arena)
{
    struct lull_program_model model;
    struct lull_error err = {""};
    fail_if(lull_program_model_open(path, arena, &model, &err) != LULL_OK, "%s", err.text);
    return model;
}

struct lull_program_model model_of_text(const char *text, struct lull_arena *arena)
{
    char path[] = "/tmp/lull-model-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    struct lull_program_model model = open_model(path, arena);
    remove(path);
    return model;
}

struct lull_program_model model_shipped(const char *name, struct lull_arena *arena)
{
    const char *tests = getenv("LULL_TESTS_DIR");
    assert_non_null(tests);
    return open_model(lull_arena_printf(arena, "%s/../data/models/%s", tests, name), arena);
}

void model_set(struct lull_program_model *model, const char *setting)
{
    struct lull_error err = {""};
    fail_if(lull_model_set(model, setting, LULL_PARAMETER_SET, &err) != LULL_OK, "%s", err.text);
}
