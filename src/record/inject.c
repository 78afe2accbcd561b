/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/inject.h"

#include "base/sorted.h"
#include "record/core.h"
#include "record/keep.h"
#include "record/node.h"
#include "record/omp/team.h"
#include "record/report.h"
#include "record/site/map.h"
#include "record/store/definitions.h"
#include "record/store/file.h"
#include "tape/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ==== moments of sending ====================================================================== */

/* Places for messages under way from one process, places for its parts in collective operations,
 * and how far from its own place a moment may lie. */
enum { MESSAGES = 1 << 16, COLLECTIVES = 1 << 12, NEAR = 64 };

/* A place of the table that is being written. */
#define WRITING UINT64_C(1)
#define SIZE \
    (sizeof(struct lull_tape_moments) + (MESSAGES + COLLECTIVES) * sizeof(struct lull_tape_moment))

static struct {
    struct lull_tape_moments *file; /* NULL: there is none */
    struct rec_file on_disk;
    uint32_t process;
} own_moments;

static pthread_mutex_t moments_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rec_map others; /* process number + 1 -> its file, or &no_process */
static char no_process;

/* ---- files ----------------------------------------------------------------------------------- */

static void path_of_moments(char *path, uint32_t process)
{
    const char *end = strrchr(rec_process.folder, '/');
    snprintf(path, REC_PATH, "%.*s/" LULL_TAPE_INJECT_NAME "/%u." LULL_TAPE_INJECT_MOMENTS,
             (int)(end ? end - rec_process.folder : 0), rec_process.folder, process);
}

bool rec_moments_begin(uint32_t process)
{
    static char path[REC_PATH];
    path_of_moments(path, process);
    if (!rec_file_create(&own_moments.on_disk, path))
        return false;
    void *file = MAP_FAILED;
    if (rec_file_extend(&own_moments.on_disk, 0, SIZE))
        file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, own_moments.on_disk.fd, 0);
    rec_file_close(&own_moments.on_disk);
    if (file == MAP_FAILED) {
        unlink(path);
        return false;
    }
    own_moments.file = file;
    own_moments.process = process;
    own_moments.file->version = LULL_TAPE_VERSION;
    own_moments.file->byte_order = LULL_TAPE_BYTE_ORDER;
    own_moments.file->node = rec_node_key();
    own_moments.file->messages = MESSAGES;
    own_moments.file->collectives = COLLECTIVES;
    memcpy(own_moments.file->magic, LULL_TAPE_MOMENTS_MAGIC, sizeof own_moments.file->magic);
    return true;
}

/* Removes the name of the file. Processes that have mapped the file keep it. */
void rec_moments_end(void)
{
    static char path[REC_PATH];
    if (!own_moments.file)
        return;
    path_of_moments(path, own_moments.process);
    unlink(path);
}

static struct lull_tape_moments *map_other(uint32_t process)
{
    static char path[REC_PATH]; /* with the lock held */
    struct stat info;
    void *file = MAP_FAILED;
    path_of_moments(path, process);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && info.st_size == (off_t)SIZE)
        file = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return NULL;
    const struct lull_tape_moments *header = file;
    if (memcmp(header->magic, LULL_TAPE_MOMENTS_MAGIC, sizeof header->magic) == 0 &&
        header->version == LULL_TAPE_VERSION && header->node == rec_node_key() &&
        header->messages == MESSAGES && header->collectives == COLLECTIVES)
        return file;
    munmap(file, SIZE);
    return NULL;
}

/* The file of a process; NULL: it has none whose times could be compared with our clock. A process
 * makes its file before it sends a message, so that one look is enough. */
static struct lull_tape_moments *file_of(uint32_t process)
{
    if (!own_moments.file || process == own_moments.process)
        return own_moments.file;
    void *found = (void *)rec_map_get(&others, (uintptr_t)process + 1);
    if (REC_UNLIKELY(!found)) { /* the thread steps aside: a pending cancellation would come in
                                   open(), with the lock held */
        const struct rec_aside aside = rec_step_aside();
        pthread_mutex_lock(&moments_lock);
        found = (void *)rec_map_get(&others, (uintptr_t)process + 1);
        if (!found) {
            found = map_other(process);
            rec_map_put(&others, (uintptr_t)process + 1, (uintptr_t)(found ? found : &no_process));
        }
        pthread_mutex_unlock(&moments_lock);
        rec_step_back(&aside);
    }
    return found == &no_process ? NULL : found;
}

/* ---- messages -------------------------------------------------------------------------------- */

static struct lull_tape_moment *messages_of(struct lull_tape_moments *file)
{
    return (struct lull_tape_moment *)(void *)(file + 1);
}

static struct lull_tape_moment *place_of_moment(struct lull_tape_moments *file, uint64_t key,
                                                unsigned distance)
{
    return &messages_of(file)[(key + distance) & (MESSAGES - 1)];
}

static bool claim_moment(struct lull_tape_moment *place, uint64_t before)
{
    return __atomic_compare_exchange_n(&place->key, &before, WRITING, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* Takes a free place near the key's own, or else the place of the oldest message there, and marks
 * it as WRITING. NULL: another thread has just taken that place. */
static struct lull_tape_moment *find_room(uint64_t key)
{
    struct lull_tape_moment *oldest = NULL;
    uint64_t oldest_key = 0;
    for (unsigned i = 0; i < NEAR; i++) {
        struct lull_tape_moment *place = place_of_moment(own_moments.file, key, i);
        uint64_t there = __atomic_load_n(&place->key, __ATOMIC_ACQUIRE);
        if (there == 0 && claim_moment(place, 0))
            return place;
        if (there > WRITING && (!oldest || place->ns < oldest->ns)) {
            oldest = place;
            oldest_key = there;
        }
    }
    return oldest && claim_moment(oldest, oldest_key) ? oldest : NULL;
}

void rec_moment_send(uint64_t key, int64_t ns)
{
    struct lull_tape_moment *place = own_moments.file ? find_room(key) : NULL;
    if (!place)
        return;
    __atomic_store_n(&place->ns, ns, __ATOMIC_RELAXED);
    __atomic_store_n(&place->key, key, __ATOMIC_RELEASE);
}

bool rec_moment_of_message(uint32_t process, uint64_t key, bool take, int64_t *ret_ns)
{
    struct lull_tape_moments *file = file_of(process);
    for (unsigned i = 0; file && i < NEAR; i++) {
        struct lull_tape_moment *place = place_of_moment(file, key, i);
        if (__atomic_load_n(&place->key, __ATOMIC_ACQUIRE) != key)
            continue;
        const int64_t ns = __atomic_load_n(&place->ns, __ATOMIC_RELAXED);
        uint64_t mine = key;
        if (take ? !__atomic_compare_exchange_n(&place->key, &mine, 0, false, __ATOMIC_ACQ_REL,
                                                __ATOMIC_RELAXED)
                 : __atomic_load_n(&place->key, __ATOMIC_ACQUIRE) != key)
            return false; /* its sender has forgotten it just now */
        *ret_ns = ns;
        return true;
    }
    return false;
}

void rec_moment_withdraw(uint64_t key)
{
    int64_t ns;
    if (own_moments.file)
        rec_moment_of_message(own_moments.process, key, true, &ns);
}

/* ---- collective operations ------------------------------------------------------------------- */

static struct lull_tape_moment *part_of(struct lull_tape_moments *file, uint64_t key)
{
    return &messages_of(file)[MESSAGES + (key & (COLLECTIVES - 1))];
}

void rec_moment_join(uint64_t key, int64_t ns)
{
    if (!own_moments.file)
        return;
    struct lull_tape_moment *part = part_of(own_moments.file, key);
    __atomic_store_n(&part->key, WRITING, __ATOMIC_RELAXED);
    __atomic_store_n(&part->ns, ns, __ATOMIC_RELEASE); /* a reader that sees this also sees WRITING
                                                          or the key */
    __atomic_store_n(&part->key, key, __ATOMIC_RELEASE);
}

bool rec_moment_of_part(uint32_t process, uint64_t key, int64_t *ret_ns)
{
    struct lull_tape_moments *file = file_of(process);
    if (!file)
        return false;
    struct lull_tape_moment *part = part_of(file, key);
    if (__atomic_load_n(&part->key, __ATOMIC_ACQUIRE) != key)
        return false;
    const int64_t ns = __atomic_load_n(&part->ns, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&part->key, __ATOMIC_RELAXED) != key)
        return false;
    *ret_ns = ns;
    return true;
}

/* ==== the whole =============================================================================== */

struct rec_injected_network rec_injected_network;

static struct {
    const struct lull_tape_inject *settings; /* NULL: nothing is injected */
    const char *function, *text;
    uint64_t known, unknown; /* atomic: messages */
} injection;

/* ---- settings -------------------------------------------------------------------------------- */

static bool fits(const struct lull_tape_inject *settings, size_t size)
{
    if (size < sizeof *settings || memcmp(settings->magic, LULL_TAPE_INJECT_MAGIC, 8) != 0 ||
        settings->version != LULL_TAPE_VERSION || settings->byte_order != LULL_TAPE_BYTE_ORDER ||
        settings->size != size || settings->name_size == 0 || settings->text_size == 0)
        return false;
    return sizeof *settings + (uint64_t)settings->n_delays * sizeof(struct lull_tape_delay) +
               (uint64_t)settings->n_draws * sizeof(int64_t) +
               (uint64_t)settings->n_detours * sizeof(struct lull_tape_detour) +
               settings->name_size + settings->text_size ==
           size;
}

static const struct lull_tape_inject *map_settings(const char *path)
{
    struct stat info;
    void *mapping = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > 0)
        mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (mapping == MAP_FAILED)
        return NULL;
    if (fits(mapping, (size_t)info.st_size))
        return mapping;
    munmap(mapping, (size_t)info.st_size);
    return NULL;
}

static void computation_start(const struct lull_tape_inject *settings,
                              const struct lull_tape_delay *delays, const int64_t *draws,
                              const struct lull_tape_detour *detours);
static void computation_end(void);
static void computation_begin(uint32_t rank);

static void take_settings(const struct lull_tape_inject *settings)
{
    const struct lull_tape_delay *delays = (const void *)(settings + 1);
    const int64_t *draws = (const void *)(delays + settings->n_delays);
    const struct lull_tape_detour *detours = (const void *)(draws + settings->n_draws);
    const char *texts = (const char *)(detours + settings->n_detours);
    injection.settings = settings;
    injection.function = texts;
    injection.text = texts + settings->name_size;
    computation_start(settings, delays, draws, detours);
    rec_injected_network.latency = settings->latency;
    rec_injected_network.ns_per_byte = settings->ns_per_byte;
}

void rec_inject_start(const char *path)
{
    if (!path || !*path)
        return;
    const struct lull_tape_inject *settings = map_settings(path);
    if (!settings) {
        rec_report_say("%s: cannot be read; nothing is injected", path);
        return;
    }
    take_settings(settings);
    rec_define_disturbance(settings->seed, injection.text);
    rec_process.disturbs = true;
}

const char *rec_inject_iterations(void)
{
    return injection.function && *injection.function ? injection.function : NULL;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void rec_inject_begin(uint32_t rank)
{
    const struct lull_tape_inject *settings = injection.settings;
    if (!settings)
        return;
    computation_begin(rank);
    if (settings->latency >= 0)
        rec_injected_network.on = rec_moments_begin(rec_process.first + rank);
    if (settings->latency >= 0 && !rec_injected_network.on)
        rec_report_say("no messages are held back: the folder of the run cannot be written");
}

void rec_inject_count(bool known)
{
    __atomic_fetch_add(known ? &injection.known : &injection.unknown, 1, __ATOMIC_RELAXED);
}

void rec_inject_end(void)
{
    if (!injection.settings)
        return;
    rec_define_held(__atomic_load_n(&injection.known, __ATOMIC_RELAXED),
                    __atomic_load_n(&injection.unknown, __ATOMIC_RELAXED));
    computation_end();
    rec_moments_end();
}

/* ==== holding ================================================================================= */

/* Waiting until a moment: the thread sleeps up to AWAKE_NS before the moment, and then spins. */

/* A thread that sleeps gets its core back 15 to 19 us late where the core is free, once the slack
 * of its timers (50 us by default, prctl(2)) is taken away: 10 % and median of 2000 sleeps of 200
 * us on a virtual machine with 2 processors. A thread that sleeps makes no progress in MPI, for
 * which other processes may wait, so no sleep is longer than LONGEST_SLEEP_NS. */
enum { AWAKE_NS = 60000, LONGEST_SLEEP_NS = 200000 };

int64_t rec_inject_now(void)
{
    return lull_clock_read(CLOCK_MONOTONIC);
}

static void sleep_until(int64_t until)
{
    const struct timespec moment = {until / 1000000000, until % 1000000000};
    const int slack = prctl(PR_GET_TIMERSLACK);
    if (slack > 1)
        prctl(PR_SET_TIMERSLACK, 1UL);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
    if (slack > 1)
        prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

void rec_inject_hold(int64_t until, void (*progress)(void))
{
    for (int64_t now; (now = rec_inject_now()) < until;) {
        if (until - now <= AWAKE_NS) {
            relax();
            continue;
        }
        int64_t end = until - AWAKE_NS;
        if (progress) {
            progress();
            if (end > now + LONGEST_SLEEP_NS)
                end = now + LONGEST_SLEEP_NS;
        }
        sleep_until(end);
    }
}

/* ==== longer computations ===================================================================== */

static struct {
    const struct lull_tape_inject *settings;
    const struct lull_tape_delay *delays;
    const int64_t *draws;
    const struct lull_tape_detour *detours;
    bool *over; /* [n_delays], atomic; NULL: no delays */
    bool noise;
    uint32_t rank;
    int64_t origin; /* CLOCK_MONOTONIC at the end of MPI_Init */
    uint64_t next;  /* index of the next draw of noise */
    int64_t iteration;
    int64_t marked; /* the highest iteration that the program has marked so far; -1: none */
    uint32_t noise_region, delay_region; /* 0: not defined yet */
} lengthening;

/* Used by the thread that called MPI_Init. */
static __thread struct {
    bool is_main;
    int64_t began; /* when the present or last computation began */
} own_computation __attribute__((tls_model("initial-exec")));

static void computation_start(const struct lull_tape_inject *settings,
                              const struct lull_tape_delay *delays, const int64_t *draws,
                              const struct lull_tape_detour *detours)
{
    lengthening.settings = settings;
    lengthening.delays = delays;
    lengthening.draws = draws;
    lengthening.detours = detours;
    lengthening.over = settings->n_delays > 0 ? rec_keep(settings->n_delays) : NULL;
    lengthening.noise = settings->n_draws > 0 || settings->n_detours > 0;
    lengthening.rank = rec_process.rank;
    lengthening.iteration = lengthening.marked = -1;
}

/* MPI_Init is over, and the process has that rank: the first computation of this thread begins. */
static void computation_begin(uint32_t rank)
{
    if (lengthening.noise && rank != lengthening.settings->rank) {
        lengthening.noise = false;
        rec_report_say("no noise on rank %u: it was not known before the program began which rank "
                       "it would be",
                       rank);
    }
    lengthening.rank = rank;
    lengthening.origin = own_computation.began = rec_inject_now();
    own_computation.is_main = true;
}

/* ---- how much -------------------------------------------------------------------------------- */

/* The first detour that ends behind `at`, of n in order that do not overlap; n: none. */
static uint32_t first_behind(const struct lull_tape_detour *detours, uint32_t n, int64_t at)
{
    struct lull_bisection over = {.end = n};
    while (lull_bisect(&over))
        over.in_front = detours[over.middle].begin + detours[over.middle].length <= at;
    return (uint32_t)over.begin;
}

int64_t rec_lost_to_detours(const struct lull_tape_detour *detours, uint32_t n, int64_t period,
                            int64_t at, int64_t work)
{
    int64_t lost = 0, round = 0;
    for (uint32_t next = first_behind(detours, n, at);; next++) {
        if (next == n) {
            next = 0;
            round += period;
        }
        const struct lull_tape_detour *detour = &detours[next];
        const int64_t begin = round + detour->begin;
        if (begin > at) {
            if (begin - at >= work)
                return lost;
            work -= begin - at;
            at = begin;
        }
        lost += begin + detour->length - at;
        at = begin + detour->length;
    }
}

static int64_t noise_of(int64_t began, int64_t duration)
{
    const struct lull_tape_inject *s = lengthening.settings;
    if (!lengthening.noise)
        return 0;
    if (s->n_detours > 0)
        return rec_lost_to_detours(lengthening.detours, s->n_detours, s->period,
                                   (began - lengthening.origin + s->phase) % s->period, duration);
    const int64_t amount = lengthening.draws[lengthening.next++ % s->n_draws];
    return s->per > 0 ? (int64_t)((double)amount * (double)duration / s->per + 0.5) : amount;
}

/* The sum of the delays that are due at the `time` or in the `iteration` of a computation, each of
 * which comes once. Negative: the computation has no time, or no iteration. */
static int64_t due_delays(int64_t time, int64_t iteration)
{
    int64_t sum = 0;
    for (uint32_t i = 0; lengthening.over && i < lengthening.settings->n_delays; i++) {
        const struct lull_tape_delay *delay = &lengthening.delays[i];
        if (delay->rank == lengthening.rank &&
            (delay->at_iteration ? iteration : time) >= delay->when &&
            !__atomic_exchange_n(&lengthening.over[i], true, __ATOMIC_RELAXED))
            sum += delay->length;
    }
    return sum;
}

/* ---- doing it -------------------------------------------------------------------------------- */

/* Passes `ns` of time as a region of that name. False: there is nothing to be added. */
static bool spend(int64_t ns, uint32_t *region, const char *name)
{
    const struct rec_region what = {
        .paradigm = LULL_TAPE_PARADIGM_USER, .role = LULL_TAPE_ROLE_FUNCTION, .name = name};
    struct rec_thread *self = rec_current();
    if (ns <= 0)
        return false;
    if (!rec_admits(self) || rec_define_region_once(region, &what) == 0) {
        rec_inject_hold(rec_inject_now() + ns, NULL);
        return true;
    }
    if (self->omp)
        rec_omp_unfold(self);
    rec_reserve(self, REC_MOST_SLOTS);
    rec_enter(self, *region, rec_now());
    rec_inject_hold(rec_inject_now() + ns, NULL);
    rec_reserve(self, REC_MOST_SLOTS);
    rec_leave(self, *region, rec_now());
    return true;
}

int64_t rec_inject_come(bool begins_iteration)
{
    const int64_t now = rec_inject_now(), duration = now - own_computation.began;
    if (!own_computation.is_main)
        return now;
    lengthening.iteration += begins_iteration;
    if (duration < LULL_TAPE_LEAST_COMPUTATION)
        return now;
    bool longer =
        spend(noise_of(own_computation.began, duration), &lengthening.noise_region, "noise");
    longer |= spend(due_delays(own_computation.began - lengthening.origin, lengthening.iteration),
                    &lengthening.delay_region, "delay");
    return longer ? rec_inject_now() : now;
}

void rec_inject_go(void)
{
    if (own_computation.is_main)
        own_computation.began = rec_inject_now();
}

void rec_inject_mark(uint64_t iteration)
{
    if (rec_inject_iterations() || iteration > INT64_MAX)
        return;
    if ((int64_t)iteration > __atomic_load_n(&lengthening.marked, __ATOMIC_RELAXED))
        __atomic_store_n(&lengthening.marked, (int64_t)iteration, __ATOMIC_RELAXED);
    spend(due_delays(-1, (int64_t)iteration), &lengthening.delay_region, "delay");
}

/* Says of the first delay whose iteration did not begin on this rank that it cannot have come. The
 * delay may be another rank's, which has the same iterations as a rule. */
static void computation_end(void)
{
    const char *function = rec_inject_iterations();
    const int64_t latest = function ? lengthening.iteration : lengthening.marked;
    for (uint32_t i = 0; lengthening.over && i < lengthening.settings->n_delays; i++) {
        const struct lull_tape_delay *delay = &lengthening.delays[i];
        if (!delay->at_iteration || delay->when <= latest)
            continue;
        if (latest >= 0)
            rec_report_say("the delay %u@i%lld did not come: the last iteration is %lld",
                           delay->rank, (long long)delay->when, (long long)latest);
        else if (function)
            rec_report_say("the delay %u@i%lld did not come: no iteration began, because %s was "
                           "not called",
                           delay->rank, (long long)delay->when, function);
        else
            rec_report_say("the delay %u@i%lld did not come: the program marks no iterations "
                           "(lull_iteration); with --inject iteration:call=MPI_Allreduce calls of "
                           "that function begin them",
                           delay->rank, (long long)delay->when);
        return;
    }
}
