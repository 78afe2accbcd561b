#include "base/file.h"
#include "model/kernel/incore/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

char *lull_incore_slurp(const char *path, struct lull_arena *arena)
{
    struct lull_mapping mapping;
    if (lull_map_file(path, &mapping, NULL) != LULL_OK)
        return NULL;
    char *text =
        lull_arena_strndup(arena, mapping.size ? (const char *)mapping.data : "", mapping.size);
    lull_unmap(&mapping);
    return text;
}

/* The line that names an error, or the first. */
static const char *first_error(const char *path, struct lull_arena *arena)
{
    char *text = path ? lull_incore_slurp(path, arena) : NULL;
    if (!text || !*text)
        return "it says nothing";
    char *line = strstr(text, "error:");
    if (!line)
        line = text;
    while (line > text && line[-1] != '\n')
        line--;
    line[strcspn(line, "\n")] = '\0';
    size_t length = strlen(line);
    while (length > 0 && line[length - 1] == '.')
        line[--length] = '\0';
    return line;
}

static int start(const char *const *words, const char *out_path, const char *err_path,
                 pid_t *ret_process)
{
    posix_spawn_file_actions_t actions;
    union { /* posix_spawn does not change the words, but its type does not say so */
        const char *const *constant;
        char *const *plain;
    } arguments = {words};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out_path ? out_path : "/dev/null",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err_path ? err_path : "/dev/null",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int problem = posix_spawnp(ret_process, words[0], &actions, NULL, arguments.plain, environ);
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

lull_status lull_incore_run(const char *const *words, const char *out_path, const char *err_path,
                            struct lull_arena *arena, struct lull_error *err)
{
    pid_t process;
    int state;
    int problem = start(words, out_path, err_path, &process);
    if (problem != 0)
        return lull_fail(err, LULL_ERR_IO, "cannot start %s: %s", words[0], strerror(problem));
    while (waitpid(process, &state, 0) < 0)
        if (errno != EINTR)
            return lull_fail_errno(err, "%s", words[0]);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
        return lull_fail(err, LULL_ERR_IO, "cannot start %s", words[0]);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "%s fails: %s", words[0],
                         first_error(err_path, arena));
    return LULL_OK;
}
