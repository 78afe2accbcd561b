/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/helper_program.h"

#include "base/array.h"
#include "bench/timing.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== reading ================================================================================= */

struct reader {
    const char *kind;
    struct lull_arena *arena;
    struct lull_helper_output output;
    size_t capacity;
    bool begun, ended;
};

static const char *text_of(const struct reader *reader, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    size_t length = text ? strlen(text) : 0;
    while (length && text[length - 1] == ' ') /* versions of clang have one */
        length--;
    return text ? lull_arena_strndup(reader->arena, text, length) : NULL;
}

/* Reads a whole number from 0 to `most`; missing: 0. */
static bool whole(const json_t *object, const char *key, uint64_t most, uint64_t *ret_value)
{
    const json_t *value = json_object_get(object, key);
    *ret_value = 0;
    if (!value)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most)
        return false;
    *ret_value = (uint64_t)json_integer_value(value);
    return true;
}

static lull_status read_header(struct reader *reader, const json_t *line, struct lull_error *err)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));
    uint64_t ranks, nodes;
    if (json_integer_value(json_object_get(line, "lull_bench")) != 1 || !kind ||
        strcmp(kind, reader->kind) != 0)
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"lull_bench\":1,\"kind\":\"%s\"",
                         reader->kind);
    if (!whole(line, "ranks", UINT32_MAX, &ranks) || !whole(line, "nodes", UINT32_MAX, &nodes))
        return lull_fail(err, LULL_ERR_FORMAT, "expected numbers of ranks and nodes");
    reader->output.ranks = (uint32_t)ranks;
    reader->output.nodes = (uint32_t)nodes;
    reader->output.library = text_of(reader, line, "library");
    json_t *levels = json_object_get(line, "levels");
    reader->output.levels =
        lull_arena_zero(reader->arena, json_object_size(levels) + 1, sizeof *reader->output.levels);
    const char *name;
    json_t *about;
    json_object_foreach(levels, name, about)
    {
        const char *text = json_string_value(about);
        reader->output.levels[reader->output.n_levels++] =
            (struct lull_helper_level){lull_arena_strdup(reader->arena, name),
                                       lull_arena_strdup(reader->arena, text ? text : "")};
    }
    reader->begun = true;
    return LULL_OK;
}

static lull_status read_samples(const struct reader *reader, const json_t *array,
                                struct lull_helper_record *record, struct lull_error *err)
{
    if (!json_is_array(array))
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"samples\", an array");
    record->n_samples = json_array_size(array);
    record->samples =
        lull_arena_alloc(reader->arena, (record->n_samples + 1) * sizeof *record->samples);
    for (size_t i = 0; i < record->n_samples; i++) {
        const json_t *value = json_array_get(array, i);
        record->samples[i] = json_number_value(value);
        if (!json_is_number(value) || !(record->samples[i] >= 0 && record->samples[i] < 1e6))
            return lull_fail(err, LULL_ERR_FORMAT, "sample %zu: expected seconds from 0", i);
    }
    return LULL_OK;
}

static lull_status read_record(struct reader *reader, const json_t *line, struct lull_error *err)
{
    struct lull_helper_record record = {.what = text_of(reader, line, "what"),
                                        .level = text_of(reader, line, "level"),
                                        .detail = text_of(reader, line, "detail"),
                                        .value = NAN};
    uint64_t ranks;
    const json_t *value = json_object_get(line, "value");
    if (!record.what)
        return lull_fail(err, LULL_ERR_FORMAT, "expected \"what\"");
    if (!whole(line, "bytes", UINT64_C(1) << 40, &record.bytes) ||
        !whole(line, "ranks", UINT32_MAX, &ranks) ||
        !whole(line, "repetitions", INT64_MAX, &record.repetitions) ||
        !whole(line, "interrupted", INT64_MAX, &record.interrupted))
        return lull_fail(err, LULL_ERR_FORMAT,
                         "bytes, ranks, repetitions, interrupted: expected whole numbers");
    record.ranks = (uint32_t)ranks;
    if (value)
        record.value = json_number_value(value);
    if (value && (!json_is_number(value) || !(record.value > 0)))
        return lull_fail(err, LULL_ERR_FORMAT, "value: expected more than 0");
    lull_status status = read_samples(reader, json_object_get(line, "samples"), &record, err);
    if (status != LULL_OK)
        return status;
    struct lull_helper_output *output = &reader->output;
    output->records = lull_arena_grow(reader->arena, output->records, &reader->capacity,
                                      output->n_records + 1, sizeof *output->records);
    output->records[output->n_records++] = record;
    return LULL_OK;
}

static lull_status read_line(struct reader *reader, const char *text, size_t length,
                             struct lull_error *err)
{
    json_error_t cause;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &cause);
    lull_status status = LULL_OK;
    const char *complaint = json_string_value(json_object_get(line, "error"));
    if (!line)
        return lull_fail(err, LULL_ERR_FORMAT, "%s", cause.text);
    if (complaint)
        status = lull_fail(err, LULL_ERR_FORMAT, "%s", complaint);
    else if (json_object_get(line, "end"))
        reader->ended = true;
    else
        status = reader->begun ? read_record(reader, line, err) : read_header(reader, line, err);
    json_decref(line);
    return status;
}

lull_status lull_helper_read(const char *text, const char *kind, struct lull_arena *arena,
                             struct lull_helper_output *ret_output, struct lull_error *err)
{
    struct reader reader = {.kind = kind, .arena = arena};
    for (size_t number = 1; *text && !reader.ended; number++) {
        size_t length = strcspn(text, "\n");
        if (*text == '{') {
            lull_status status = read_line(&reader, text, length, err);
            if (status != LULL_OK)
                return lull_fail_prefix(err, status, "output line %zu", number);
        }
        text += length + (text[length] == '\n');
    }
    if (!reader.begun)
        return lull_fail(err, LULL_ERR_FORMAT, "the helper said nothing");
    if (!reader.ended)
        return lull_fail(err, LULL_ERR_FORMAT, "the output ends before its end");
    *ret_output = reader.output;
    return LULL_OK;
}

/* ==== starting and listening ================================================================== */

extern char **environ;

enum { MOST_OUTPUT = 64 << 20, PIECE = 1 << 16 };

#define GRACE 2.0 /* s between asking a command to end and ending it */
#define LEAVE 5.0 /* s that a command has from its last line to its end */

const char *lull_launch_find(const char *program, struct lull_arena *arena)
{
    const char *path = getenv("PATH");
    if (strchr(program, '/'))
        return access(program, X_OK) == 0 ? program : NULL;
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        const char *full = lull_arena_printf(arena, "%.*s/%s", length, path, program);
        if (length && access(full, X_OK) == 0)
            return full;
        path += length + (path[length] == ':');
    }
    return NULL;
}

/* The environment of a command: the variables that are added, and the present ones except those
 * that have the name of an added one. */
static char **environment_of(const char *const *more, struct lull_arena *arena)
{
    size_t count = 0, n = 0;
    while (environ[count])
        count++;
    for (size_t i = 0; more && more[i]; i++)
        count++;
    char **all = lull_arena_alloc(arena, (count + 1) * sizeof *all);
    for (size_t i = 0; more && more[i]; i++)
        all[n++] = lull_arena_strdup(arena, more[i]);
    size_t ours = n;
    for (size_t i = 0; environ[i]; i++) {
        bool replaced = false;
        for (size_t k = 0; k < ours; k++)
            replaced |= strncmp(environ[i], all[k], strcspn(all[k], "=") + 1) == 0;
        if (!replaced)
            all[n++] = environ[i];
    }
    all[n] = NULL;
    return all;
}

/* ---- listening ------------------------------------------------------------------------------- */

struct stream {
    int fd; /* -1: at its end */
    char *text;
    size_t size, capacity;
};

/* Reads what is there; false at the end of the stream, or when it is more than any helper should
 * write. */
static bool drain(struct stream *stream)
{
    size_t need = stream->size + PIECE + 1;
    if (need > MOST_OUTPUT || !lull_array_reserve(&stream->text, &stream->capacity, need, 1))
        return false;
    ssize_t got = read(stream->fd, stream->text + stream->size, PIECE);
    if (got < 0)
        return errno == EINTR;
    stream->size += (size_t)got;
    stream->text[stream->size] = '\0';
    return got > 0;
}

static void shut(struct stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

static bool ends_with_line(const struct stream *stream, const char *line)
{
    size_t length = strlen(line), size = stream->size;
    if (size == 0 || stream->text[size - 1] != '\n' || --size < length)
        return false;
    const char *at = stream->text + size - length;
    return memcmp(at, line, length) == 0 && (at == stream->text || at[-1] == '\n');
}

enum heard { ENDED, ALL_SAID, TOO_LATE };

/* Listens until both streams have ended, or the time is up. */
static enum heard listen_to(struct stream *streams, const struct lull_launch *launch)
{
    double deadline = lull_bench_now() + launch->seconds;
    bool said = false;
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        struct pollfd polled[2] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};
        if (!said && launch->last && ends_with_line(&streams[0], launch->last)) {
            said = true;
            deadline = fmin(deadline, lull_bench_now() + LEAVE);
        }
        double left = deadline - lull_bench_now();
        if (left <= 0)
            return said ? ALL_SAID : TOO_LATE;
        if (poll(polled, 2, (int)(1000 * left) + 1) < 0 && errno != EINTR)
            return TOO_LATE;
        for (int i = 0; i < 2; i++)
            if (streams[i].fd >= 0 && polled[i].revents && !drain(&streams[i]))
                shut(&streams[i]);
    }
    return ENDED;
}

/* Ends a command: asked to end, launchers pass the signal on to what they have started. */
static void end(pid_t child)
{
    kill(child, SIGTERM);
    for (double begin = lull_bench_now(); lull_bench_now() < begin + GRACE; usleep(10000))
        if (waitpid(child, NULL, WNOHANG) != 0)
            return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- starting -------------------------------------------------------------------------------- */

static int spawn(const struct lull_launch *launch, int out, int err_fd, struct lull_arena *arena,
                 pid_t *ret_child)
{
    posix_spawn_file_actions_t actions;
    size_t count = 0;
    while (launch->command[count])
        count++;
    char **words = lull_arena_alloc(arena, (count + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = lull_arena_strdup(arena, launch->command[i]);
    words[count] = NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_fd, STDERR_FILENO);
    int problem = posix_spawnp(ret_child, words[0], &actions, NULL, words,
                               environment_of(launch->environment, arena));
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

/* The first line with a word in it, without its newline. */
static const char *first_words(const char *text, struct lull_arena *arena)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n"), letters = 0;
        for (size_t i = 0; i < length; i++)
            letters += isalpha((unsigned char)text[i]) != 0;
        if (letters >= 3) {
            while (length && isspace((unsigned char)*text)) {
                text++;
                length--;
            }
            return lull_arena_strndup(arena, text, length < 300 ? length : 300);
        }
        text += length + (text[length] == '\n');
    }
    return NULL;
}

static lull_status judge(const struct lull_launch *launch, pid_t child, enum heard heard,
                         const char *complaint, struct lull_error *err)
{
    int status = 0;
    const char *name = launch->command[0];
    if (heard != ENDED) {
        end(child);
        return heard == ALL_SAID ? LULL_OK
                                 : lull_fail(err, LULL_ERR_IO, "%s: still running after %.0f s",
                                             name, launch->seconds);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return lull_fail_errno(err, "%s", name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return LULL_OK;
    if (complaint)
        return lull_fail(err, LULL_ERR_IO, "%s: %s", name, complaint);
    if (WIFSIGNALED(status))
        return lull_fail(err, LULL_ERR_IO, "%s: ended by signal %d", name, WTERMSIG(status));
    return lull_fail(err, LULL_ERR_IO, "%s: ended with status %d", name, WEXITSTATUS(status));
}

static lull_status run_launch(const struct lull_launch *launch, struct stream *streams,
                              struct lull_arena *arena, struct lull_error *err)
{
    int out[2], complaints[2];
    pid_t child;
    if (pipe2(out, O_CLOEXEC) != 0)
        return lull_fail_errno(err, "cannot make a pipe");
    if (pipe2(complaints, O_CLOEXEC) != 0) {
        lull_status status = lull_fail_errno(err, "cannot make a pipe");
        close(out[0]);
        close(out[1]);
        return status;
    }
    streams[0].fd = out[0];
    streams[1].fd = complaints[0];
    int problem = spawn(launch, out[1], complaints[1], arena, &child);
    close(out[1]);
    close(complaints[1]);
    if (problem)
        return lull_fail(err, LULL_ERR_IO, "cannot start '%s': %s", launch->command[0],
                         strerror(problem));
    enum heard heard = listen_to(streams, launch);
    return judge(launch, child, heard, first_words(streams[1].text, arena), err);
}

lull_status lull_launch_run(const struct lull_launch *launch, struct lull_arena *arena,
                            const char **ret_output, struct lull_error *err)
{
    struct stream streams[2] = {{.fd = -1}, {.fd = -1}};
    lull_status status = run_launch(launch, streams, arena, err);
    if (status == LULL_OK)
        *ret_output = lull_arena_strdup(arena, streams[0].text ? streams[0].text : "");
    for (int i = 0; i < 2; i++) {
        shut(&streams[i]);
        free(streams[i].text);
    }
    return status;
}
