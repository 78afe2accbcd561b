#include "study/history/confirm.h"

#include "base/file.h"

#include <stdlib.h>
#include <sys/wait.h>

static lull_status make_run(const char *command, const char *path, struct lull_arena *arena,
                            struct lull_error *err)
{
    if (setenv("LULL_RUN", path, 1) != 0)
        return lull_fail_errno(err, "cannot set LULL_RUN");
    const int status = system(lull_arena_printf(arena, "{ %s\n} 1>&2", command));
    if (status == -1)
        return lull_fail_errno(err, "cannot run '%s'", command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return lull_fail(err, LULL_ERR_IO, "'%s' failed", command);
    return LULL_OK;
}

lull_status lull_confirm_run(const char *command, uint32_t count,
                             const struct lull_runs_options *options,
                             const struct lull_history_about *about, struct lull_notices *notices,
                             struct lull_arena *arena, struct lull_history_entry **ret_entries,
                             uint32_t *ret_count, struct lull_error *err)
{
    const char *folder, **paths = lull_arena_zero(arena, count + 1, sizeof(*paths));
    lull_status status = lull_make_temporary_folder(arena, &folder, err);
    if (status != LULL_OK)
        return status;
    for (uint32_t i = 0; status == LULL_OK && i < count; i++) {
        paths[i] = lull_arena_printf(arena, "%s/again-%u.lull", folder, i + 1);
        status = make_run(command, paths[i], arena, err);
    }
    if (status == LULL_OK)
        status = lull_history_measure(paths, count, options, about, notices, arena, ret_entries,
                                      ret_count, err);
    lull_remove_tree(folder, NULL);
    return status;
}
