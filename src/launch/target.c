/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/target.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/fnv.h"
#include "base/starters.h"
#include "base/text.h"
#include "tape/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ==== processes =============================================================================== */

struct proc {
    int parent;
    char name[32];  /* the program's name, cut to 15 bytes */
    char start[32]; /* clock ticks since boot: with its number it names the process for good */
};

static bool proc_look(int pid, struct proc *ret_process)
{
    char path[64], line[1024];
    struct proc process = {.parent = 0};
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *in = fopen(path, "re");
    bool good = in && fgets(line, sizeof line, in);
    if (in)
        fclose(in);
    char *name = good ? strchr(line, '(') : NULL, *field = name ? strrchr(name, ')') : NULL;
    if (!field)
        return false;
    snprintf(process.name, sizeof process.name, "%.*s", (int)(field - name - 1), name + 1);
    for (int i = 2; field && i < 22; i++) { /* field 2 is the name, 4 the parent, 22 the start */
        field = strchr(field + 1, ' ');
        if (i == 3 && field)
            process.parent = (int)strtol(field, NULL, 10);
    }
    good = field && sscanf(field, "%31s", process.start) == 1;
    *ret_process = process;
    return good;
}

/* Whether the process still lives, and is not another one with its number. */
static bool proc_lives(int pid, const char *start)
{
    struct proc process;
    return proc_look(pid, &process) && strcmp(process.start, start) == 0;
}

/* ==== node ==================================================================================== */

#define NODE_FOLDER "/dev/shm"
#define MAGIC       "LULLNODE"
#define LIMIT_NS    INT64_C(10000000000)

enum { VERSION = 1, WORDS = 64, MOST_RANKS = WORDS * 64, PATH_SIZE = PATH_MAX + 256 };

enum state { MAKING, TOLD, FAILED };

/* The file in shared memory. It is written as a whole before it gets its name, so that all of it
 * has memory. */
struct lull_node_shared {
    char magic[8];
    uint32_t version, state; /* state: atomic, stored behind `path` */
    uint32_t joined, first;  /* `joined` is atomic: how many have come; `first`: number of the
                                process that tells */
    char start[32];          /* when that process started, as the system writes it */
    uint64_t ranks[WORDS];   /* atomic; bit by bit, who has come */
    char path[PATH_MAX];
};

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *text)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return lull_fnv(lull_fnv(LULL_FNV_BEGIN, host, strlen(host)), text, strlen(text));
}

static void prefix_of(char *prefix, size_t size)
{
    snprintf(prefix, size, "lull-%u-", (unsigned)geteuid());
}

/* Maps such a file; NULL: it is none of this user and version. */
static struct lull_node_shared *map(int fd)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 077) != 0 || info.st_size != (off_t)sizeof(struct lull_node_shared))
        return NULL;
    struct lull_node_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        return NULL;
    if (memcmp(shared->magic, MAGIC, sizeof shared->magic) == 0 && shared->version == VERSION &&
        memchr(shared->start, '\0', sizeof shared->start))
        return shared;
    munmap(shared, sizeof *shared);
    return NULL;
}

static struct lull_node_shared *open_shared(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct lull_node_shared *shared = map(fd);
    close(fd);
    return shared;
}

static bool first_lives(const struct lull_node_shared *shared)
{
    return proc_lives((int)shared->first, shared->start);
}

/* Removes the files of jobs that are over and whose other processes never came. */
static void clean(const char *folder)
{
    char prefix[64], path[PATH_SIZE];
    prefix_of(prefix, sizeof prefix);
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct lull_node_shared *shared = open_shared(path);
        if (shared && !first_lives(shared))
            unlink(path);
        if (shared)
            munmap(shared, sizeof *shared);
    }
    closedir(entries);
}

/* A file that is complete when it has its name; NULL: somebody has made it, or it cannot be. */
static struct lull_node_shared *create_shared(const char *folder, const char *path, uint32_t rank)
{
    struct proc own;
    struct lull_node_shared fresh = {
        .version = VERSION, .state = MAKING, .joined = 1, .first = (uint32_t)getpid()};
    char temporary[PATH_SIZE], prefix[64];
    prefix_of(prefix, sizeof prefix);
    snprintf(temporary, sizeof temporary, "%s/%sXXXXXX", folder, prefix);
    if (!proc_look((int)getpid(), &own))
        return NULL;
    memcpy(fresh.magic, MAGIC, sizeof fresh.magic);
    memcpy(fresh.start, own.start, sizeof fresh.start);
    fresh.ranks[rank / 64] = UINT64_C(1) << rank % 64;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct lull_node_shared *shared = NULL;
    if (write(fd, &fresh, sizeof fresh) == (ssize_t)sizeof fresh && link(temporary, path) == 0)
        shared = map(fd);
    unlink(temporary);
    close(fd);
    return shared;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static const char *wait_for_first(const struct lull_node_shared *shared, struct lull_arena *arena)
{
    const int64_t begin = lull_clock_read(CLOCK_MONOTONIC);
    for (;;) {
        const uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
        if (state != MAKING && state != TOLD)
            return NULL;
        if (!first_lives(shared)) /* also where it has told, because that may have been another
                                     job */
            return NULL;
        if (state == TOLD)
            return memchr(shared->path, '\0', sizeof shared->path)
                       ? lull_arena_strdup(arena, shared->path)
                       : NULL;
        if (lull_clock_read(CLOCK_MONOTONIC) - begin > LIMIT_NS)
            return NULL;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Asks for what was told. A process that has been here before asks for another program of the same
 * job. */
static const char *ask(struct lull_node_shared *shared, const char *path, uint32_t rank,
                       uint32_t size, struct lull_arena *arena)
{
    const uint64_t bit = UINT64_C(1) << rank % 64;
    if (__atomic_fetch_or(&shared->ranks[rank / 64], bit, __ATOMIC_ACQ_REL) & bit)
        return NULL;
    const bool last = __atomic_add_fetch(&shared->joined, 1, __ATOMIC_ACQ_REL) == size;
    const char *told = wait_for_first(shared, arena);
    if (last || !first_lives(shared))
        unlink(path);
    return told;
}

const char *lull_node_join(const char *folder, const char *what, uint32_t rank, uint32_t size,
                           struct lull_arena *arena, struct lull_launch_node *ret_node)
{
    char path[PATH_SIZE], prefix[64];
    ret_node->shared = NULL;
    if (size < 2 || rank >= size || size > MOST_RANKS || strlen(folder) >= PATH_MAX)
        return NULL;
    prefix_of(prefix, sizeof prefix);
    snprintf(path, sizeof path, "%s/%s%016llx", folder, prefix, (unsigned long long)hash_of(what));
    struct lull_node_shared *shared = open_shared(path);
    if (!shared) {
        clean(folder);
        ret_node->shared = create_shared(folder, path, rank);
        shared = ret_node->shared ? NULL : open_shared(path);
    }
    if (!shared)
        return NULL;
    const char *told = ask(shared, path, rank, size, arena);
    munmap(shared, sizeof *shared);
    return told;
}

void lull_node_tell(struct lull_launch_node *node, const char *path)
{
    struct lull_node_shared *shared = node->shared;
    if (!shared)
        return;
    const bool fits = path && strlen(path) < sizeof shared->path;
    if (fits)
        memcpy(shared->path, path, strlen(path) + 1);
    __atomic_store_n(&shared->state, fits ? TOLD : FAILED, __ATOMIC_RELEASE);
    munmap(shared, sizeof *shared);
    node->shared = NULL;
}

/* ==== jobs and folders ======================================================================== */

#define JOB_NAME "job" /* file in the run's folder that holds the key of its job */

enum { MOST_NUMBERS = 10000, MOST_THREADS = 1 << 20, MOST_ANCESTORS = 8 };

/* ---- the job --------------------------------------------------------------------------------- */

/* Variables that launchers of MPI programs set. The first line whose rank is set tells; of its sizes
 * and keys the first that is set. Sources: flux-core src/shell/task.c; Slurm's plugin
 * mpi/cray_shasta and libpals for PALS; mpispawn.c of MVAPICH for mpirun_rsh; Open MPI's comm_method
 * hook for jsrun (JSM). */
static const struct {
    const char *rank, *sizes[2], *keys[3];
    enum lull_mpi_family family; /* LULL_MPI_NONE: the launcher starts programs of any */
    bool tell;                   /* the recorder does not read this rank by itself */
} job_variables[] = {
    /* clang-format off */
    {"OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, {"PMIX_NAMESPACE"}, LULL_MPI_OPENMPI, false},
    {"PMI_RANK", {"PMI_SIZE"}, {"PMI_JOBID", "PALS_APID", "FLUX_JOB_ID"}, LULL_MPI_MPICH, false},
    {"JSM_NAMESPACE_RANK", {"JSM_NAMESPACE_SIZE"}, {"PMIX_NAMESPACE", "LSB_JOBID"}, LULL_MPI_NONE, true},
    {"PMIX_RANK", {"SLURM_NTASKS", "FLUX_JOB_SIZE"}, {"PMIX_NAMESPACE"}, LULL_MPI_OPENMPI, false},
    {"MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, {"MPIRUN_ID"}, LULL_MPI_MPICH, true},
    {"FLUX_TASK_RANK", {"FLUX_JOB_SIZE"}, {"FLUX_JOB_ID"}, LULL_MPI_NONE, true},
    {"PALS_RANKID", {"PMI_SIZE"}, {"PALS_APID"}, LULL_MPI_NONE, true},
    {"SLURM_PROCID", {"SLURM_NTASKS"}, {"SLURM_JOB_ID"}, LULL_MPI_NONE, false},
    {"MPI_LOCALRANKID", {"MPI_LOCALNRANKS"}, {NULL}, LULL_MPI_MPICH, false},
    /* clang-format on */
};

enum {
    MOST_SIZES = sizeof job_variables->sizes / sizeof *job_variables->sizes,
    MOST_KEYS = sizeof job_variables->keys / sizeof *job_variables->keys
};

static bool read_number(const char *name, uint32_t *ret_value)
{
    const char *text = name ? getenv(name) : NULL;
    uint64_t value;
    if (!text || lull_parse_u64(text, strlen(text), &value) != LULL_OK || value >= UINT32_MAX)
        return false;
    *ret_value = (uint32_t)value;
    return true;
}

/* The value of an option on the command line of a process; NULL if it is not there. */
static const char *option_of(int pid, const char *option, struct lull_arena *arena)
{
    char path[64], words[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *in = fopen(path, "re");
    size_t size = in ? fread(words, 1, sizeof words - 1, in) : 0, length = strlen(option) + 1;
    if (in)
        fclose(in);
    words[size] = '\0';
    for (size_t at = 0; at < size; at += strlen(words + at) + 1)
        if (strcmp(words + at, option) == 0 && at + length < size)
            return lull_arena_strdup(arena, words + at + length);
    return NULL;
}

/* ---- the key --------------------------------------------------------------------------------- */

/* The launcher of MPICH starts a proxy on each node, with the address of the launcher as an option,
 * which is the same for all processes of the job and for no others. The proxy may have started us
 * through other programs. NULL: it is another launcher. */
static const char *hydra_key(struct lull_arena *arena)
{
    struct proc process = {.parent = (int)getppid()};
    const char *key = NULL;
    for (int i = 0; !key && i < MOST_ANCESTORS && process.parent > 1; i++) {
        key = option_of(process.parent, "--control-port", arena);
        if (!key && !proc_look(process.parent, &process))
            break;
    }
    return key;
}

static const char *parent_key(struct lull_arena *arena)
{
    struct proc parent = {.start = ""};
    char host[256] = "";
    proc_look((int)getppid(), &parent);
    gethostname(host, sizeof host - 1);
    return lull_arena_printf(arena, "%s/%d/%s", host, (int)getppid(), parent.start);
}

/* The key with what tells two jobs of the same key apart: the step of a batch job; and for Open
 * MPI, whose number of a job comes back when the number of a process does, as in a fresh
 * container. */
static const char *known_key(const char *key, bool sized, uint32_t size, struct lull_arena *arena)
{
    const char *step = getenv("SLURM_STEP_ID"),
               *transport = getenv("OMPI_MCA_orte_precondition_transports");
    return lull_arena_printf(arena, "%s/%s/%s/%u", key, step ? step : "",
                             transport ? transport : "", sized ? size : 0);
}

/* How many processes of the job are on this node, and which of them this one is; only few launchers
 * say it. */
static void find_place(struct lull_job *job)
{
    static const char *const names[][2] = {
        {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
        {"PMI_LOCAL_RANK", "PMI_LOCAL_SIZE"},
        {"JSM_NAMESPACE_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_SIZE"},
        {"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (read_number(names[i][0], &job->node_rank) && read_number(names[i][1], &job->node_size))
            return;
    job->node_rank = job->node_size = 0;
}

static bool is_shell(int pid)
{
    static const char *const shells[] = {LULL_SHELLS};
    struct proc process;
    if (!proc_look(pid, &process))
        return true;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(process.name, shells[i]) == 0)
            return true;
    return false;
}

/* What the launcher of this line calls the job. The proxy of MPICH's own launcher says more than the
 * batch system in which that launcher runs. */
static const char *key_of_launcher(size_t line, struct lull_arena *arena)
{
    const char *key = NULL;
    for (size_t i = 0; !key && i < MOST_KEYS; i++) {
        const char *name = job_variables[line].keys[i];
        key = name ? getenv(name) : NULL;
        if (!key && i == 0 && job_variables[line].family == LULL_MPI_MPICH)
            key = hydra_key(arena);
    }
    return key;
}

void lull_job_describe(const struct lull_executable *executable, struct lull_arena *arena,
                       struct lull_job *ret_job)
{
    struct lull_job *job = ret_job;
    *job = (struct lull_job){.size = 1};
    for (size_t i = 0; i < sizeof job_variables / sizeof *job_variables; i++) {
        if (!read_number(job_variables[i].rank, &job->rank))
            continue;
        bool sized = false;
        for (size_t s = 0; !sized && s < MOST_SIZES; s++)
            sized = read_number(job_variables[i].sizes[s], &job->size) && job->size > job->rank;
        if (!sized)
            job->size = job->rank + 1;
        job->parallel = true;
        job->family = job_variables[i].family;
        job->tell_rank = job_variables[i].tell;
        const char *key = key_of_launcher(i, arena);
        job->key = key ? known_key(key, sized, job->size, arena) : parent_key(arena);
        find_place(job);
        return;
    }
    job->siblings = executable->mpi != LULL_MPI_NONE && !is_shell((int)getppid());
    job->key = job->siblings ? parent_key(arena)
                             : lull_arena_printf(arena, "%s/%d", parent_key(arena), (int)getpid());
}

/* ---- its name -------------------------------------------------------------------------------- */

static uint32_t threads_of(const struct lull_executable *executable)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long threads = text ? strtol(text, NULL, 10) : 0;
    if (!executable->openmp)
        return 1;
    if (threads > 0 && threads < MOST_THREADS)
        return (uint32_t)threads;
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

const char *lull_target_default(const struct lull_executable *executable, const char *title,
                                const struct lull_job *job, struct lull_arena *arena)
{
    return lull_arena_printf(arena, "%s.%ux%u.lull", title, job->size, threads_of(executable));
}

/* ---- making it ------------------------------------------------------------------------------- */

static bool write_text(const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "we");
    if (!out)
        return false;
    bool good = fputs(text, out) >= 0;
    return fclose(out) == 0 && good;
}

/* Where the launcher tells no rank, the file has, behind the key, a line PID START for each
 * process. A run is theirs if one of these processes still lives, because the launcher may start
 * others when they have ended. */
static bool one_lives(const char *lines)
{
    char start[32];
    int pid, length;
    for (; sscanf(lines, "%d %31s%n", &pid, start, &length) == 2; lines += length)
        if (proc_lives(pid, start))
            return true;
    return false;
}

static void add_sibling(const char *file)
{
    struct proc own;
    FILE *out = proc_look((int)getpid(), &own) ? fopen(file, "ae") : NULL;
    if (!out)
        return;
    fprintf(out, "\n%d %s", (int)getpid(), own.start);
    fclose(out);
}

/* Whether the run at `path` was begun by this job, and this process is not in it yet: the same
 * launcher may start a second program. Some processes may begin long after others. */
static bool is_ours(const char *path, const struct lull_job *job)
{
    char file[PATH_MAX], text[65536] = "";
    size_t got, length = strlen(job->key);
    snprintf(file, sizeof file, "%s/" JOB_NAME, path);
    if (lull_read_head(file, text, sizeof text - 1, &got, NULL) != LULL_OK ||
        strncmp(text, job->key, length) != 0)
        return false;
    if (job->siblings) {
        bool ours = one_lives(text + length);
        if (ours)
            add_sibling(file);
        return ours;
    }
    snprintf(file, sizeof file, "%s/%u/%u.tape", path, job->rank / LULL_TAPE_GROUP, job->rank);
    return text[length] == '\0' && access(file, F_OK) != 0 &&
           !lull_tape_containers_have(path, job->rank);
}

static bool is_run(const char *path)
{
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s/" LULL_TAPE_ANCHOR_NAME, path);
    return access(file, F_OK) == 0;
}

/* Whether there is room for what the first process of a run writes at least: without it nothing would
 * be recorded, and the folder would stay. A process that may not write so much finds out by itself. */
static bool has_room(const char *folder)
{
    enum { LEAST = 96 << 10 };
    char path[PATH_MAX];
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < LEAST)
        return true;
    snprintf(path, sizeof path, "%s/room", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    const int failed = posix_fallocate(fd, 0, LEAST);
    close(fd);
    unlink(path);
    errno = failed;
    return failed != ENOSPC && failed != EDQUOT;
}

/* Makes a folder that is complete before it gets its name, so that nobody sees half of it. */
static enum lull_target_found make_run_folder(const char *path, const struct lull_job *job,
                                              const struct lull_about *about,
                                              struct lull_arena *arena, struct lull_error *err)
{
    char *temporary = lull_arena_printf(arena, "%s.XXXXXX", path);
    if (!mkdtemp(temporary)) {
        lull_fail_errno(err, "%s: cannot create", path);
        return LULL_TARGET_FAILED;
    }
    mode_t mask = umask(0);
    umask(mask);
    bool good = chmod(temporary, 0777 & ~mask) == 0 &&
                write_text(temporary, LULL_TAPE_ANCHOR_NAME, LULL_TAPE_ANCHOR) &&
                write_text(temporary, JOB_NAME, job->key);
    if (good && job->siblings)
        add_sibling(lull_arena_printf(arena, "%s/" JOB_NAME, temporary));
    if (good && about)
        lull_about_write(about, temporary, arena);
    good = good && has_room(temporary);
    if (good && rename(temporary, path) == 0)
        return LULL_TARGET_MADE;
    bool taken = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
    lull_fail_errno(err, "%s: cannot create", path);
    lull_remove_tree(temporary, NULL);
    return taken ? LULL_TARGET_EXISTS : LULL_TARGET_FAILED;
}

/* With the parent folder locked. */
static enum lull_target_found claim(const char *path, const struct lull_job *job,
                                    const struct lull_about *about, bool replace,
                                    struct lull_arena *arena, struct lull_error *err)
{
    if (is_ours(path, job))
        return LULL_TARGET_MADE;
    if (is_run(path)) {
        if (!replace) {
            lull_fail(err, LULL_ERR_IO, "%s: a run is there (--force replaces it)", path);
            return LULL_TARGET_EXISTS;
        }
        if (lull_remove_tree(path, err) != LULL_OK)
            return LULL_TARGET_FAILED;
    }
    enum lull_target_found found = make_run_folder(path, job, about, arena, err);
    if (found == LULL_TARGET_EXISTS)
        lull_fail(err, LULL_ERR_IO, "%s: is there and is no run, so it is not replaced", path);
    return found;
}

static lull_status make_parents(const char *path, struct lull_arena *arena, struct lull_error *err)
{
    char *part = lull_arena_strdup(arena, path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return lull_fail_errno(err, "%s: cannot create", part);
        *slash = '/';
    }
    return LULL_OK;
}

static const char *absolute(const char *path, struct lull_arena *arena)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (*path == '/' || !getcwd(folder, sizeof folder))
        return lull_arena_strndup(arena, path, length);
    return lull_arena_printf(arena, "%s/%.*s", folder, (int)length, path);
}

/* "x.lull" and 2 is "x-2.lull". */
static const char *numbered(const char *path, unsigned number, struct lull_arena *arena)
{
    static const char extension[] = ".lull";
    size_t length = strlen(path), cut = sizeof extension - 1;
    if (length <= cut || strcmp(path + length - cut, extension) != 0)
        return lull_arena_printf(arena, "%s-%u", path, number);
    return lull_arena_printf(arena, "%.*s-%u%s", (int)(length - cut), path, number, extension);
}

/* As every process can do it by itself. */
static enum lull_target_found claim_by_files(const char *path, const struct lull_job *job,
                                             const struct lull_target_options *options,
                                             struct lull_arena *arena, const char **ret_path,
                                             struct lull_error *err)
{
    if (make_parents(path, arena, err) != LULL_OK)
        return LULL_TARGET_FAILED;
    const char *slash = strrchr(path, '/');
    const char *parent =
        slash > path ? lull_arena_strndup(arena, path, (size_t)(slash - path)) : "/";
    int lock = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0) /* where locks do not work, the names still are taken one by one */
        flock(lock, LOCK_EX);
    const char *name = path;
    enum lull_target_found found = claim(name, job, options->about, options->replace, arena, err);
    for (unsigned n = 2; found == LULL_TARGET_EXISTS && options->number && n < MOST_NUMBERS; n++) {
        name = numbered(path, n, arena);
        found = claim(name, job, options->about, false, arena, err);
    }
    if (lock >= 0)
        close(lock);
    if (found == LULL_TARGET_MADE)
        *ret_path = name;
    return found;
}

/* Makes the file of the node here, so that only one process of the node asks the file system for
 * it. Where it cannot be had, the recorder of each process finds that out. */
static void make_container(const char *run)
{
    char path[PATH_MAX];
    const int fd = lull_tape_container_open(run, path, sizeof path);
    if (fd >= 0)
        close(fd);
}

enum lull_target_found lull_target_claim(const char *path, const struct lull_job *job,
                                         const struct lull_target_options *options,
                                         struct lull_arena *arena, const char **ret_path,
                                         struct lull_error *err)
{
    struct lull_launch_node node;
    path = absolute(path, arena);
    if (strlen(path) + 64 > PATH_MAX) {
        lull_fail(err, LULL_ERR_RANGE, "%s: the name is too long", path);
        return LULL_TARGET_FAILED;
    }
    const char *what =
        lull_arena_printf(arena, "%s %d%d %s", job->key, options->replace, options->number, path);
    const char *told =
        lull_node_join(NODE_FOLDER, what, job->node_rank, job->node_size, arena, &node);
    if (told) {
        *ret_path = told;
        return LULL_TARGET_MADE;
    }
    enum lull_target_found found = claim_by_files(path, job, options, arena, ret_path, err);
    if (found == LULL_TARGET_MADE && options->by_node)
        make_container(*ret_path);
    lull_node_tell(&node, found == LULL_TARGET_MADE ? *ret_path : NULL);
    return found;
}
