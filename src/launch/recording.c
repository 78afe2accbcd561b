/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/recording.h"

#include "base/starters.h"
#include "base/text.h"
#include "filter/filter.h"
#include "launch/executable.h"
#include "lull_features.h"
#include "tape/inject.h"
#include "tape/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== what the user types ===================================================================== */

enum {
    MOST_NAME = 255,          /* of a region that iterations refer to, bytes */
    MOST_LABEL = 64,          /* bytes of the key of a label */
    MOST_CALLERS = 32,        /* that the recorder follows */
    MOST_SAMPLE_RATE = 10000, /* per second; of these and of MOST_SAMPLE_BYTES the recorder has the
                                 same limits (record/sample/sample.c) */
    MOST_SAMPLE_BYTES = 1 << 30
};
#define LEAST_SAMPLE_RATE 0.01

/* "100000:1us" becomes "100000:1000", calls and ns. */
static lull_status read_throttle(const char *text, struct lull_arena *arena,
                                 const char **ret_throttle, struct lull_error *err)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    uint64_t calls;
    int64_t ns;
    *ret_throttle = text;
    if (!text || strcmp(text, "none") == 0)
        return LULL_OK;
    if (!colon || lull_parse_u64(text, (size_t)(colon - text), &calls) != LULL_OK || calls == 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--throttle: expected CALLS:TIME such as 100000:1us, or none, got '%s'",
                         text);
    if (lull_parse_time(colon + 1, 1, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--throttle");
    *ret_throttle = lull_arena_printf(arena, "%llu:%lld", (unsigned long long)calls, (long long)ns);
    return LULL_OK;
}

static lull_status read_time(const char *option, const char *text, struct lull_arena *arena,
                             const char **ret_ns, struct lull_error *err)
{
    const double ns_per_second = 1e9;
    int64_t ns;
    if (!text)
        return LULL_OK;
    if (lull_parse_time(text, ns_per_second, &ns, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--%s", option);
    if (ns < 0)
        return lull_fail(err, LULL_ERR_RANGE, "--%s: %s lies in the past", option, text);
    *ret_ns = lull_arena_printf(arena, "%lld", (long long)ns);
    return LULL_OK;
}

static lull_status read_duration(const char *text, struct lull_arena *arena, const char **ret_ns,
                                 struct lull_error *err)
{
    lull_status status = read_time("duration", text, arena, ret_ns, err);
    if (status == LULL_OK && text && strcmp(*ret_ns, "0") == 0)
        return lull_fail(err, LULL_ERR_RANGE, "--duration: nothing would be recorded in %s", text);
    return status;
}

/* "3:10", or "solve:3:10". */
static lull_status read_iterations(const char *text, const char **ret_iterations,
                                   struct lull_error *err)
{
    const char *last = text ? strrchr(text, ':') : NULL, *first = last;
    uint64_t from, to;
    if (!text)
        return LULL_OK;
    while (first && first > text && first[-1] != ':')
        first--;
    if (!last || lull_parse_u64(first, (size_t)(last - first), &from) != LULL_OK ||
        lull_parse_u64(last + 1, strlen(last + 1), &to) != LULL_OK || to > INT32_MAX ||
        strlen(text) > MOST_NAME)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--iterations: expected FIRST:LAST or NAME:FIRST:LAST such as 10:19, got "
                         "'%s'",
                         text);
    if (from > to || (first > text && from == 0))
        return lull_fail(err, LULL_ERR_RANGE, "--iterations: %s holds none", text);
    *ret_iterations = text;
    return LULL_OK;
}

/* "last:64MiB" */
static lull_status read_kept(const char *text, struct lull_recording_wish *wish,
                             struct lull_error *err)
{
    static const char last[] = "last:";
    if (wish->profile)
        return lull_fail(err, LULL_ERR_RANGE, "--keep: a profile has no events");
    if (strncmp(text, last, strlen(last)) != 0)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--keep: expected last:SIZE such as last:64MiB, got '%s'", text);
    if (lull_parse_size(text + strlen(last), &wish->bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--keep");
    if (wish->bytes < LULL_TAPE_CHUNK)
        return lull_fail(err, LULL_ERR_RANGE, "--keep: expected 64KiB at least, got '%s'", text);
    wish->last = true;
    return LULL_OK;
}

static lull_status read_bytes(const struct lull_recording_texts *texts,
                              struct lull_recording_wish *wish, struct lull_error *err)
{
    wish->has_bytes = texts->max_size || texts->keep;
    if (texts->max_size && texts->keep)
        return lull_fail(err, LULL_ERR_RANGE,
                         "--keep and --max-size exclude each other: events are the first or the "
                         "last ones");
    if (texts->keep)
        return read_kept(texts->keep, wish, err);
    if (texts->max_size && lull_parse_size(texts->max_size, &wish->bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--max-size");
    return LULL_OK;
}

/* "off", "100", or "100:1MiB", and in front perhaps "timer:"; tests may have "fake:" there
 * (record/sample/sample.h). Returns the length of such a word. */
static size_t length_of_source(const char *text)
{
    static const char *const sources[] = {"timer:", "fake:"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strncmp(text, sources[i], strlen(sources[i])) == 0)
            return strlen(sources[i]);
    return 0;
}

static lull_status read_sampling(const char *text, struct lull_arena *arena,
                                 const char **ret_sample, struct lull_error *err)
{
    double rate;
    uint64_t bytes = 0;
    *ret_sample = text;
    if (!text || strcmp(text, "off") == 0)
        return LULL_OK;
    const size_t source = length_of_source(text);
    const char *begin = text + source, *colon = strchr(begin, ':');
    const char *number = colon ? lull_arena_strndup(arena, begin, (size_t)(colon - begin)) : begin;
    if (lull_parse_real(number, &rate) != LULL_OK || !(rate >= LEAST_SAMPLE_RATE) ||
        rate > MOST_SAMPLE_RATE)
        return lull_fail(
            err, LULL_ERR_RANGE,
            "--sample: expected off, or samples per second of processor time, %g to %d, "
            "such as 100, got '%s'",
            LEAST_SAMPLE_RATE, MOST_SAMPLE_RATE, text);
    if (colon && lull_parse_size(colon + 1, &bytes, err) != LULL_OK)
        return lull_fail_prefix(err, LULL_ERR_RANGE, "--sample");
    if (colon && (bytes < LULL_TAPE_PAGE || bytes > MOST_SAMPLE_BYTES))
        return lull_fail(err, LULL_ERR_RANGE,
                         "--sample: expected 4KiB to 1GiB for the samples of a thread, got '%s'",
                         colon + 1);
    *ret_sample = lull_arena_printf(arena, "%.*s%s", (int)source, text, number);
    if (colon)
        *ret_sample = lull_arena_printf(arena, "%s:%llu", *ret_sample, (unsigned long long)bytes);
    return LULL_OK;
}

static lull_status check_label(const char *text, struct lull_error *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const size_t length = strspn(text, allowed);
    if (length == 0 || length > MOST_LABEL || text[length] != '=' || !text[length + 1])
        return lull_fail(err, LULL_ERR_RANGE,
                         "--label: expected KEY=VALUE such as input=n512, with a KEY of letters, "
                         "digits, '_', '.' and '-', got '%s'",
                         text);
    return LULL_OK;
}

/* The filter is read here to be checked; the recorder reads it again. */
static lull_status read_filter(const char *path, struct lull_arena *arena, const char **ret_filter,
                               struct lull_error *err)
{
    const struct lull_filter *filter;
    if (!path)
        return LULL_OK;
    if (!LULL_HAVE_LIBDW)
        return lull_fail(err, LULL_ERR_UNSUPPORTED,
                         "--filter: lull was built without libdw (lull info)");
    lull_status status = lull_filter_read(path, arena, &filter, err);
    if (status != LULL_OK)
        return status;
    char *whole = realpath(path, NULL);
    *ret_filter = whole ? lull_arena_strdup(arena, whole) : path;
    free(whole);
    return LULL_OK;
}

static lull_status read_words(const struct lull_recording_texts *texts,
                              struct lull_recording_wish *wish, struct lull_error *err)
{
    static const char *const families[] = {"openmpi", "mpich", "none", NULL};
    static const enum lull_mpi_family family_of[] = {LULL_MPI_NONE, LULL_MPI_OPENMPI,
                                                     LULL_MPI_MPICH, LULL_MPI_NONE};
    static const char *const states[] = {"on", "off", NULL};
    static const char *const devices[] = {"full", "summary", "off", NULL};
    static const char *const stores[] = {"node", "process", NULL};
    static const enum lull_recording_store store_of[] = {LULL_STORE_CHOSEN, LULL_STORE_NODE,
                                                         LULL_STORE_PROCESS};
    uint64_t callers;
    unsigned family, state, store, device;
    lull_status status =
        lull_option_number("callpath", texts->callpath, 1, MOST_CALLERS, &callers, err);
    if (status == LULL_OK)
        status = lull_option_word("mpi", texts->mpi, families, &family, err);
    if (status == LULL_OK)
        status = lull_option_word("signals", texts->signals, states, &state, err);
    if (status == LULL_OK)
        status = lull_option_word("store", texts->store, stores, &store, err);
    if (status == LULL_OK)
        status = lull_option_word("device", texts->device, devices, &device, err);
    if (status != LULL_OK)
        return status;
    wish->store = store_of[store];
    wish->callpath = texts->callpath;
    wish->signals = texts->signals;
    wish->device = texts->device;
    wish->mpi_named = family > 0;
    wish->mpi = family_of[family];
    return LULL_OK;
}

lull_status lull_recording_wish_read(const struct lull_recording_texts *texts,
                                     struct lull_arena *arena, struct lull_recording_wish *wish,
                                     struct lull_error *err)
{
    lull_status status = read_words(texts, wish, err);
    if (status == LULL_OK)
        status = read_bytes(texts, wish, err);
    if (status == LULL_OK)
        status = read_throttle(texts->throttle, arena, &wish->throttle, err);
    if (status == LULL_OK)
        status = read_time("start-after", texts->start_after, arena, &wish->start, err);
    if (status == LULL_OK)
        status = read_duration(texts->duration, arena, &wish->duration, err);
    wish->waits = texts->waits;
    if (status == LULL_OK && texts->waits && strcmp(texts->waits, "none") != 0)
        status = read_time("waits", texts->waits, arena, &wish->waits, err);
    if (status == LULL_OK)
        status = read_iterations(texts->iterations, &wish->iterations, err);
    if (status == LULL_OK)
        status = read_sampling(texts->sample, arena, &wish->sample, err);
    if (status == LULL_OK && wish->sample_stack && wish->sample && strcmp(wish->sample, "off") == 0)
        status =
            lull_fail(err, LULL_ERR_RANGE, "--sample-stack: there are no samples: --sample off");
    wish->labels = texts->labels;
    for (char *const *label = texts->labels; status == LULL_OK && label && *label; label++)
        status = check_label(*label, err);
    return status == LULL_OK ? read_filter(texts->filter, arena, &wish->filter, err) : status;
}

/* ==== injection =============================================================================== */

/* Amounts of noise that a process draws for its computations; after so many they repeat: 512
 * KiB. */
enum { DRAWS = 65536 };

struct injection {
    bool has_network;
    double latency, ns_per_byte;
    uint64_t seed;
    const struct lull_tape_delay *delays;
    uint32_t n_delays;
    const int64_t *draws; /* noise of this process: tape/inject.h */
    uint32_t n_draws;
    double per;
    const struct lull_tape_detour *detours;
    uint32_t n_detours;
    int64_t period, phase;
    const char *iterations; /* a function whose calls begin iterations; NULL: the program marks
                               them */
    const char *text;       /* what the user wrote */
};

/* ---- as numbers ------------------------------------------------------------------------------ */

static void take_delays(const struct lull_disturbance *disturbance, struct injection *injection,
                        struct lull_arena *arena)
{
    struct lull_tape_delay *delays =
        lull_arena_zero(arena, disturbance->n_delays + (size_t)1, sizeof *delays);
    for (uint32_t i = 0; i < disturbance->n_delays; i++) {
        const struct lull_delay *delay = &disturbance->delays[i];
        delays[i] =
            (struct lull_tape_delay){delay->rank, delay->at_iteration, delay->when, delay->length};
    }
    injection->delays = delays;
    injection->n_delays = disturbance->n_delays;
}

static void take_noise(const struct lull_disturbance *disturbance, uint32_t rank,
                       struct injection *injection, struct lull_arena *arena)
{
    struct lull_noise_numbers noise;
    if (!lull_disturbance_noise(disturbance, rank, DRAWS, &noise))
        return;
    const uint32_t n = (uint32_t)noise.detours.count;
    struct lull_tape_detour *detours = lull_arena_zero(arena, n + (size_t)1, sizeof *detours);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_recorded_detour *detour = &noise.detours.detours[i];
        detours[i] = (struct lull_tape_detour){detour->begin, detour->length, detour->before};
    }
    injection->draws = noise.draws;
    injection->n_draws = noise.n_draws;
    injection->per = noise.per;
    injection->detours = detours;
    injection->n_detours = n;
    injection->period = noise.detours.duration;
    injection->phase = noise.phase;
}

/* ---- the file -------------------------------------------------------------------------------- */

static lull_status refuse(const char *path, struct lull_error *err)
{
    return lull_fail(err, LULL_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
}

static bool put(FILE *file, const void *what, size_t size, size_t count)
{
    return count == 0 || fwrite(what, size, count, file) == count;
}

static bool put_all(FILE *file, const struct injection *injection, uint32_t rank)
{
    const char *name = injection->iterations ? injection->iterations : "";
    struct lull_tape_inject header = {.version = LULL_TAPE_VERSION,
                                      .byte_order = LULL_TAPE_BYTE_ORDER,
                                      .rank = rank,
                                      .latency = injection->has_network ? injection->latency : -1,
                                      .ns_per_byte =
                                          injection->has_network ? injection->ns_per_byte : 0,
                                      .n_delays = injection->n_delays,
                                      .n_draws = injection->n_draws,
                                      .n_detours = injection->n_detours,
                                      .name_size = (uint32_t)strlen(name) + 1,
                                      .text_size = (uint32_t)strlen(injection->text) + 1,
                                      .per = injection->per,
                                      .period = injection->period,
                                      .phase = injection->phase,
                                      .seed = injection->seed};
    memcpy(header.magic, LULL_TAPE_INJECT_MAGIC, sizeof header.magic);
    header.size = (uint32_t)(sizeof header + header.n_delays * sizeof *injection->delays +
                             header.n_draws * sizeof *injection->draws +
                             header.n_detours * sizeof *injection->detours + header.name_size +
                             header.text_size);
    return put(file, &header, sizeof header, 1) &&
           put(file, injection->delays, sizeof *injection->delays, header.n_delays) &&
           put(file, injection->draws, sizeof *injection->draws, header.n_draws) &&
           put(file, injection->detours, sizeof *injection->detours, header.n_detours) &&
           put(file, name, 1, header.name_size) && put(file, injection->text, 1, header.text_size);
}

lull_status lull_injection_write(const struct lull_disturbance *disturbance,
                                 const struct lull_recording *recording, struct lull_arena *arena,
                                 struct lull_error *err)
{
    unsetenv("LULL_RECORD_INJECT");
    if (!disturbance || !recording->library)
        return LULL_OK;
    struct injection injection = {.has_network = disturbance->has_network,
                                  .latency = disturbance->latency,
                                  .ns_per_byte =
                                      disturbance->has_network ? 1e9 / disturbance->bandwidth : 0,
                                  .seed = disturbance->seed,
                                  .iterations = disturbance->iterations,
                                  .text = disturbance->text};
    take_delays(disturbance, &injection, arena);
    take_noise(disturbance, recording->job.rank, &injection, arena);
    const char *folder = lull_arena_printf(arena, "%s/" LULL_TAPE_INJECT_NAME, recording->run);
    const char *path =
        lull_arena_printf(arena, "%s/%u." LULL_TAPE_INJECT_SETTINGS, folder, recording->job.rank);
    const char *fresh = lull_arena_printf(arena, "%s.%ld", path, (long)getpid());
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return refuse(folder, err);
    FILE *file = fopen(fresh, "wbe");
    if (!file)
        return refuse(fresh, err);
    bool good = put_all(file, &injection, recording->job.rank);
    good &= fclose(file) == 0;
    if (!good || rename(fresh, path) != 0) {
        lull_status status = refuse(fresh, err);
        unlink(fresh);
        return status;
    }
    setenv("LULL_RECORD_INJECT", path, 1);
    return LULL_OK;
}

/* ==== recording =============================================================================== */

/* ---- the recorder ---------------------------------------------------------------------------- */

static const char *find_library(const char *name, struct lull_arena *arena)
{
    char resolved[PATH_MAX];
    for (const char *const *folder = lull_own_folders(arena); *folder; folder++) {
        const char *path = lull_arena_printf(arena, "%s/%s", *folder, name);
        if (access(path, R_OK) == 0 && realpath(path, resolved))
            return lull_arena_strdup(arena, resolved);
    }
    return NULL;
}

static enum lull_mpi_family family_of(const struct lull_recording *recording,
                                      const struct lull_recording_wish *wish)
{
    const struct lull_executable *executable = &recording->executable;
    if (wish->mpi_named)
        return wish->mpi;
    if (executable->mpi != LULL_MPI_NONE)
        return executable->mpi;
    /* An interpreter or a shell will most likely load the launcher's MPI later. */
    return executable->interprets && recording->job.parallel ? recording->job.family
                                                             : LULL_MPI_NONE;
}

/* What keeps a recorder out; NULL if nothing does. */
static const char *obstacle(const struct lull_executable *executable)
{
    if (!executable->elf)
        return "is no program of this machine that could be looked into";
    if (executable->privileged)
        return "runs with the rights of its owner (setuid), where no recorder is let in";
    if (executable->static_mpi)
        return "has MPI linked into it: link it with the shared library of MPI to record it";
    if (!executable->dynamic)
        return "is linked statically, so that nothing can be recorded";
    return NULL;
}

/* The recorder for programs with OpenSHMEM, where there is one. */
static const char *find_for_shmem(const struct lull_executable *executable,
                                  enum lull_mpi_family family, struct lull_arena *arena)
{
    return executable->openshmem && family == LULL_MPI_OPENMPI
               ? find_library("liblull-record-openmpi-shmem.so", arena)
               : NULL;
}

/* The dynamic linker divides LD_PRELOAD at blanks and colons, LD_LIBRARY_PATH at colons and
 * semicolons. */
static bool is_nameable(const char *library)
{
    return !strchr(library, ':') && !(strchr(library, ' ') && strchr(library, ';'));
}

/* Sets `library`, or the warning that there is none. */
static void find_recorder(struct lull_recording *recording, const struct lull_recording_wish *wish,
                          struct lull_arena *arena)
{
    const struct lull_executable *executable = &recording->executable;
    if (obstacle(executable)) {
        recording->warning = lull_arena_printf(arena, "'%s' %s; it runs without recording",
                                               executable->name, obstacle(executable));
        return;
    }
    enum lull_mpi_family family = family_of(recording, wish);
    const char *name = family == LULL_MPI_NONE ? "liblull-record.so"
                                               : lull_arena_printf(arena, "liblull-record-%s.so",
                                                                   lull_mpi_family_name(family));
    recording->library = find_for_shmem(executable, family, arena);
    if (!recording->library)
        recording->library = find_library(name, arena);
    if (!recording->library)
        recording->warning = lull_arena_printf(
            arena, "%s: not found beside lull%s; '%s' runs without recording", name,
            family == LULL_MPI_NONE ? "" : " (built without that MPI)", executable->name);
    else if (!is_nameable(recording->library)) {
        recording->warning = lull_arena_printf(arena,
                                               "%s: the dynamic linker takes no such path (':' or "
                                               "';' in it); '%s' runs without recording",
                                               recording->library, executable->name);
        recording->library = NULL;
    }
}

/* A warning where less may be recorded than the user expects; NULL: none. */
static const char *advice(const struct lull_recording *recording,
                          const struct lull_recording_wish *wish, struct lull_arena *arena)
{
    const struct lull_executable *executable = &recording->executable;
    if (executable->shell && !wish->follow)
        return lull_arena_printf(
            arena,
            "'%s' is run by a shell: of what it starts, programs with MPI or OpenMP are recorded,"
            " and Python and its like (--follow: all)",
            executable->name);
    if (recording->job.parallel && family_of(recording, wish) == LULL_MPI_NONE &&
        !wish->mpi_named && !executable->interprets)
        return lull_arena_printf(arena,
                                 "'%s' needs no MPI library that is known: its MPI calls, if any, "
                                 "will not be seen (see --mpi)",
                                 executable->name);
    return NULL;
}

/* Whether processes record into the file of their node: not where the processes of a job have no
 * numbers before they begin, because processes on two nodes could then have the same number. */
static bool stores_by_node(const struct lull_recording *recording,
                           const struct lull_recording_wish *wish)
{
    enum { MANY = 32 };
    const struct lull_job *job = &recording->job;
    const bool wanted = wish->store == LULL_STORE_NODE ||
                        (wish->store == LULL_STORE_CHOSEN && job->node_size >= MANY);
    return wanted && (job->parallel || !job->siblings);
}

/* ---- environment ----------------------------------------------------------------------------- */

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void set_flag(const char *name, bool on)
{
    set(name, on ? "1" : NULL);
}

/* Puts a text in front of a list in the environment, unless it is there. */
static void put_first(const char *name, const char *text, struct lull_arena *arena)
{
    const char *list = getenv(name);
    if (!list || !strstr(list, text))
        set(name,
            lull_arena_printf(arena, "%s%s%s", text, list && *list ? ":" : "", list ? list : ""));
}

/* A library in a folder with blanks in its name is found by its own name and the folder. */
static void preload(const char *library, struct lull_arena *arena)
{
    const char *slash = strrchr(library, '/');
    const bool blank = strchr(library, ' ') != NULL;
    if (blank)
        put_first("LD_LIBRARY_PATH", lull_arena_strndup(arena, library, (size_t)(slash - library)),
                  arena);
    put_first("LD_PRELOAD", blank ? slash + 1 : library, arena);
}

/* Behind a shell, the recorder seeks the program. */
static const char *follow_mode(const struct lull_recording *recording,
                               const struct lull_recording_wish *wish)
{
    if (wish->follow)
        return "1";
    return recording->executable.shell ? "program" : NULL;
}

static void set_environment(const struct lull_recording *recording,
                            const struct lull_recording_wish *wish, struct lull_arena *arena)
{
    set("LULL_RECORD_DIR", recording->run);
    set("LULL_RECORD_BYTES",
        wish->has_bytes ? lull_arena_printf(arena, "%llu", (unsigned long long)wish->bytes) : NULL);
    set_flag("LULL_RECORD_LAST", wish->last);
    set_flag("LULL_RECORD_PROFILE", wish->profile);
    set_flag("LULL_RECORD_FILES", wish->files);
    set_flag("LULL_RECORD_REGION_MEMORY", wish->region_memory);
    set("LULL_RECORD_STORE", stores_by_node(recording, wish) ? "node" : NULL);
    set("LULL_RECORD_COUNTERS", wish->counters);
    set("LULL_RECORD_FOLLOW", follow_mode(recording, wish));
    set("LULL_RECORD_CALLPATH", wish->callpath);
    set("LULL_RECORD_FILTER", wish->filter);
    set("LULL_RECORD_THROTTLE", wish->throttle);
    set("LULL_RECORD_START", wish->start);
    set("LULL_RECORD_DURATION", wish->duration);
    set("LULL_RECORD_SIGNALS", wish->signals);
    set("LULL_RECORD_ITERATIONS", wish->iterations);
    set("LULL_RECORD_WAITS", wish->waits);
    set("LULL_RECORD_SAMPLE", wish->sample);
    set("LULL_RECORD_DEVICE", wish->device);
    set_flag("LULL_RECORD_SAMPLE_STACK", wish->sample_stack);
    if (recording->job.tell_rank)
        set("LULL_RECORD_PROCESS", lull_arena_printf(arena, "%u", recording->job.rank));
    put_first("ASAN_OPTIONS", LULL_ASAN_ORDER, arena);
    preload(recording->library, arena);
}

/* ---- all together ---------------------------------------------------------------------------- */

static enum lull_target_found claim_target(struct lull_recording *recording,
                                           const struct lull_recording_wish *wish,
                                           const struct lull_about *about, struct lull_arena *arena,
                                           struct lull_error *err)
{
    const struct lull_target_options how = {.replace = wish->replace,
                                            .number = !wish->output,
                                            .about = about,
                                            .by_node = stores_by_node(recording, wish)};
    const char *target = wish->output
                             ? wish->output
                             : lull_target_default(&recording->executable,
                                                   lull_executable_title(&recording->executable,
                                                                         wish->command, arena),
                                                   &recording->job, arena);
    return lull_target_claim(target, &recording->job, &how, arena, &recording->run, err);
}

/* The recorder reads LULL_CLOCK itself (record/clock.h), but cannot refuse what it does not know. */
static lull_status check_clock(struct lull_error *err)
{
    const char *clock = getenv("LULL_CLOCK");
    if (!clock || !*clock || strcmp(clock, "tsc") == 0 || strcmp(clock, "system") == 0)
        return LULL_OK;
    return lull_fail(err, LULL_ERR_RANGE, "LULL_CLOCK: expected tsc or system, got '%s'", clock);
}

/* As lull_recording_prepare, but every rank has the warning. */
static lull_status prepare(const struct lull_recording_wish *wish, struct lull_arena *arena,
                           struct lull_recording *recording, struct lull_error *err)
{
    struct lull_error refused;
    struct lull_about about;
    if (check_clock(err) != LULL_OK)
        return LULL_ERR_RANGE;
    lull_executable_inspect(wish->command[0], arena, &recording->executable);
    lull_job_describe(&recording->executable, arena, &recording->job);
    if (!recording->executable.path)
        return LULL_OK; /* a program that is not found: exec's message says it best */
    find_recorder(recording, wish, arena);
    if (!recording->library)
        return LULL_OK;
    lull_about_collect(&recording->executable, wish->command, wish->labels, arena, &about);
    switch (claim_target(recording, wish, &about, arena, &refused)) {
    case LULL_TARGET_EXISTS:
        return lull_fail(err, LULL_ERR_RANGE, "%s", refused.text);
    case LULL_TARGET_FAILED:
        recording->library = NULL;
        recording->warning = lull_arena_printf(arena, "%s; '%s' runs without recording",
                                               refused.text, recording->executable.name);
        return LULL_OK;
    default:
        recording->warning = advice(recording, wish, arena);
        set_environment(recording, wish, arena);
        set("LULL_RECORD_ABOUT", lull_about_differing(&about, recording->run, arena));
        return LULL_OK;
    }
}

lull_status lull_recording_prepare(const struct lull_recording_wish *wish, struct lull_arena *arena,
                                   struct lull_recording *ret_recording, struct lull_error *err)
{
    *ret_recording = (struct lull_recording){.library = NULL};
    lull_status status = prepare(wish, arena, ret_recording, err);
    if (ret_recording->job.rank != 0)
        ret_recording->warning = NULL;
    return status;
}
