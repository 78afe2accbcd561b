/* Waits for locks, and locks that nobody has to wait for. A wait counts when the waiting thread
 * sleeps, which the one that lets it go on sees in /proc.
 *
 *     locks mutex | condition | semaphore | readwrite | c | limits | few    known waits
 *     locks odd         results, errno and cancellation are what they are without a recorder
 *     locks fork        a forked child waits, which is not recorded
 *     locks none        as mutex, where no wait is long enough to be recorded
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 12, FREE = 1000, HOLD_US = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t readwrite = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static mtx_t c_lock;
static cnd_t c_condition;
static int ready; /* with the lock held */
static atomic_int asking, waiter;
static long least_ns; /* for which threads slept, by the program's own clock */

#define CHECK(what)                                           \
    do {                                                      \
        if (!(what)) {                                        \
            printf("line %d: not so: %s\n", __LINE__, #what); \
            exit(3);                                          \
        }                                                     \
    } while (0)

/* In static constructors nothing may go wrong, either. */
__attribute__((constructor)) static void before_main(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static char state_of(int thread)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int file = open(path, O_RDONLY);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    close(file);
    const char *behind = got > 0 ? strrchr(text, ')') : NULL;
    return behind ? behind[2] : '?';
}

/* The other thread has said that it asks, and sleeps since: a while later it may go on. */
static void until_it_waits(void)
{
    while (!atomic_load(&asking))
        sched_yield();
    while (state_of(atomic_load(&waiter)) != 'S')
        sched_yield();
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    usleep(HOLD_US);
    clock_gettime(CLOCK_MONOTONIC, &end);
    least_ns += (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
    atomic_store(&asking, 0);
}

static void ask(void)
{
    errno = 77;
    atomic_store(&asking, 1);
}

static void answered(int result)
{
    CHECK(result == 0 && errno == 77);
}

static struct timespec in_1000_s(clockid_t clock)
{
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_sec += 1000;
    return until;
}

/* ---- one side of each kind of wait: the other one is below ----------------------------------- */

struct kind {
    const char *name;
    void (*wait)(void); /* in the other thread */
    void (*hold)(void), (*let_go)(void);
};

static void wait_mutex(void)
{
    ask();
    answered(pthread_mutex_lock(&lock));
    pthread_mutex_unlock(&lock);
}

static void wait_mutex_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    ask();
    answered(pthread_mutex_timedlock(&lock, &until));
    pthread_mutex_unlock(&lock);
}

static void wait_mutex_clock(void)
{
    struct timespec until = in_1000_s(CLOCK_MONOTONIC);
    ask();
    answered(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &until));
    pthread_mutex_unlock(&lock);
}

static void hold_mutex(void)
{
    pthread_mutex_lock(&lock);
}

static void let_mutex_go(void)
{
    pthread_mutex_unlock(&lock);
}

/* Nobody wakes it in vain: then it would wait twice. */
static void wait_condition(void)
{
    pthread_mutex_lock(&lock);
    ask();
    answered(pthread_cond_wait(&condition, &lock));
    CHECK(ready);
    ready = 0;
    pthread_mutex_unlock(&lock);
}

static void wait_condition_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    pthread_mutex_lock(&lock);
    ask();
    answered(pthread_cond_timedwait(&condition, &lock, &until));
    ready = 0;
    pthread_mutex_unlock(&lock);
}

static void wait_condition_clock(void)
{
    struct timespec until = in_1000_s(CLOCK_MONOTONIC);
    pthread_mutex_lock(&lock);
    ask();
    answered(pthread_cond_clockwait(&condition, &lock, CLOCK_MONOTONIC, &until));
    ready = 0;
    pthread_mutex_unlock(&lock);
}

static void hold_nothing(void)
{
}

/* The lock is held for no longer than a try: whoever has waited would have to wait for it again. */
static void signal_condition(void)
{
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_signal(&condition);
}

static void wait_semaphore(void)
{
    ask();
    answered(sem_wait(&semaphore));
}

static void wait_semaphore_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    ask();
    answered(sem_timedwait(&semaphore, &until));
}

static void post_semaphore(void)
{
    sem_post(&semaphore);
}

static void wait_to_read(void)
{
    ask();
    answered(pthread_rwlock_rdlock(&readwrite));
    pthread_rwlock_unlock(&readwrite);
}

static void wait_to_write(void)
{
    ask();
    answered(pthread_rwlock_wrlock(&readwrite));
    pthread_rwlock_unlock(&readwrite);
}

static void wait_to_read_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    ask();
    answered(pthread_rwlock_timedrdlock(&readwrite, &until));
    pthread_rwlock_unlock(&readwrite);
}

static void wait_to_write_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    ask();
    answered(pthread_rwlock_timedwrlock(&readwrite, &until));
    pthread_rwlock_unlock(&readwrite);
}

static void hold_to_write(void)
{
    pthread_rwlock_wrlock(&readwrite);
}

static void hold_to_read(void)
{
    pthread_rwlock_rdlock(&readwrite);
}

static void let_readwrite_go(void)
{
    pthread_rwlock_unlock(&readwrite);
}

static void wait_c(void)
{
    ask();
    answered(mtx_lock(&c_lock) == thrd_success ? 0 : 1);
    mtx_unlock(&c_lock);
}

static void wait_c_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    ask();
    answered(mtx_timedlock(&c_lock, &until) == thrd_success ? 0 : 1);
    mtx_unlock(&c_lock);
}

static void hold_c(void)
{
    mtx_lock(&c_lock);
}

static void let_c_go(void)
{
    mtx_unlock(&c_lock);
}

static void wait_c_condition(void)
{
    mtx_lock(&c_lock);
    ask();
    answered(cnd_wait(&c_condition, &c_lock) == thrd_success ? 0 : 1);
    mtx_unlock(&c_lock);
}

static void wait_c_condition_timed(void)
{
    struct timespec until = in_1000_s(CLOCK_REALTIME);
    mtx_lock(&c_lock);
    ask();
    answered(cnd_timedwait(&c_condition, &c_lock, &until) == thrd_success ? 0 : 1);
    mtx_unlock(&c_lock);
}

static void signal_c_condition(void)
{
    mtx_lock(&c_lock);
    mtx_unlock(&c_lock);
    cnd_signal(&c_condition);
}

static const struct kind mutex[] = {{"pthread_mutex_lock", wait_mutex, hold_mutex, let_mutex_go},
                                    {0}};
static const struct kind conditions[] = {
    {"pthread_cond_wait", wait_condition, hold_nothing, signal_condition},
    {"pthread_cond_timedwait", wait_condition_timed, hold_nothing, signal_condition},
    {"pthread_cond_clockwait", wait_condition_clock, hold_nothing, signal_condition},
    {0}};
static const struct kind semaphores[] = {
    {"sem_wait", wait_semaphore, hold_nothing, post_semaphore},
    {"sem_timedwait", wait_semaphore_timed, hold_nothing, post_semaphore},
    {0}};
static const struct kind readwrites[] = {
    {"pthread_rwlock_rdlock", wait_to_read, hold_to_write, let_readwrite_go},
    {"pthread_rwlock_wrlock", wait_to_write, hold_to_read, let_readwrite_go},
    {"pthread_rwlock_timedrdlock", wait_to_read_timed, hold_to_write, let_readwrite_go},
    {"pthread_rwlock_timedwrlock", wait_to_write_timed, hold_to_read, let_readwrite_go},
    {0}};
static const struct kind of_c[] = {
    {"mtx_lock", wait_c, hold_c, let_c_go},
    {"mtx_timedlock", wait_c_timed, hold_c, let_c_go},
    {"cnd_wait", wait_c_condition, hold_nothing, signal_c_condition},
    {"cnd_timedwait", wait_c_condition_timed, hold_nothing, signal_c_condition},
    {0}};
static const struct kind limits[] = {
    {"pthread_mutex_timedlock", wait_mutex_timed, hold_mutex, let_mutex_go},
    {"pthread_mutex_clocklock", wait_mutex_clock, hold_mutex, let_mutex_go},
    {0}};

static pthread_barrier_t turn;

static void *other_side(void *context)
{
    const struct kind *kind = context;
    atomic_store(&waiter, (int)syscall(SYS_gettid));
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&turn);
        kind->wait();
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void run(const struct kind *kind)
{
    pthread_t thread;
    least_ns = 0;
    CHECK(pthread_create(&thread, NULL, other_side, (void *)(size_t)kind) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        kind->hold();
        pthread_barrier_wait(&turn);
        until_it_waits();
        kind->let_go();
        pthread_barrier_wait(&turn);
    }
    pthread_join(thread, NULL);
}

static void run_all(const struct kind *kinds, const char *recorded)
{
    for (; kinds->name; kinds++) {
        run(kinds);
        printf("expect %d %s\n", strcmp(recorded, "none") == 0 ? 0 : ROUNDS, kinds->name);
        if (strcmp(recorded, "none") != 0)
            printf("lasts %ld %s\n", least_ns, kinds->name);
    }
}

/* Nobody waits for these. */
static void take_free_locks(void)
{
    for (int i = 0; i < FREE; i++) {
        errno = 77;
        CHECK(pthread_mutex_lock(&lock) == 0 && pthread_mutex_unlock(&lock) == 0);
        CHECK(pthread_rwlock_rdlock(&readwrite) == 0 && pthread_rwlock_unlock(&readwrite) == 0);
        CHECK(pthread_rwlock_wrlock(&readwrite) == 0 && pthread_rwlock_unlock(&readwrite) == 0);
        CHECK(sem_post(&semaphore) == 0 && sem_wait(&semaphore) == 0);
        CHECK(mtx_lock(&c_lock) == thrd_success && mtx_unlock(&c_lock) == thrd_success);
        CHECK(errno == 77);
    }
}

/* ---- odd cases ------------------------------------------------------------------------------- */

static pthread_mutex_t robust;

static void *die_with_it(void *unused)
{
    CHECK(pthread_mutex_lock(&robust) == 0);
    return unused;
}

static void mutexes_of_other_kinds(void)
{
    pthread_mutexattr_t kind;
    pthread_t thread;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    CHECK(pthread_mutex_init(&robust, &kind) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&thread, NULL, die_with_it, NULL) == 0);
        pthread_join(thread, NULL);
        CHECK(pthread_mutex_lock(&robust) == EOWNERDEAD);
        if (i == 0)
            CHECK(pthread_mutex_consistent(&robust) == 0);
        CHECK(pthread_mutex_unlock(&robust) == 0);
    }
    CHECK(pthread_mutex_lock(&robust) == ENOTRECOVERABLE);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_STALLED);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_t checked;
    CHECK(pthread_mutex_init(&checked, &kind) == 0);
    CHECK(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
    CHECK(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == EPERM);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_NONE);
    CHECK(pthread_mutex_init(&checked, &kind) == 0);
    CHECK(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == 0);
    CHECK(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == 0);
    CHECK(pthread_mutex_unlock(&checked) == EPERM);
    CHECK(pthread_rwlock_wrlock(&readwrite) == 0);
    CHECK(pthread_rwlock_wrlock(&readwrite) == EDEADLK &&
          pthread_rwlock_rdlock(&readwrite) == EDEADLK);
    CHECK(pthread_rwlock_unlock(&readwrite) == 0);
}

/* What has passed is no reason to give up what is free; arguments are checked as they are. */
static void limits_of_time(void)
{
    const struct timespec past = {1, 0}, wrong = {1, -1};
    CHECK(pthread_mutex_timedlock(&lock, &past) == 0);
    CHECK(pthread_mutex_timedlock(&lock, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    CHECK(pthread_cond_timedwait(&condition, &lock, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_unlock(&lock) == 0);
    CHECK(pthread_mutex_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);
    errno = 0;
    CHECK(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    errno = 0;
    CHECK(sem_timedwait(&semaphore, &wrong) == -1 && errno == EINVAL);
    sem_post(&semaphore);
    CHECK(sem_timedwait(&semaphore, &past) == 0);
}

static void nothing(int signal)
{
    (void)signal;
    pthread_mutex_lock(&robust); /* cannot be had any more */
}

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
    pthread_mutex_unlock(&lock);
}

static void *to_be_cancelled(void *how)
{
    atomic_store(&waiter, (int)syscall(SYS_gettid));
    if (how) { /* what need not wait is a place to be cancelled at, too */
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        pthread_cancel(pthread_self());
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        sem_post(&semaphore);
        sem_wait(&semaphore);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, NULL);
    ask();
    pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancelled_and_interrupted(void)
{
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, to_be_cancelled, NULL) == 0);
    until_it_waits();
    pthread_cancel(thread);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED && cleaned == 1);
    CHECK(pthread_create(&thread, NULL, to_be_cancelled, "") == 0);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED && sem_trywait(&semaphore) == 0);
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGALRM, &action, NULL);
    ualarm(3000, 3000);
    errno = 0;
    CHECK(sem_wait(&semaphore) == -1 && errno == EINTR);
    ualarm(0, 0);
}

static void wait_in_child(void)
{
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run(&mutex[0]);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        const struct kind *kinds;
    } forms[] = {{"mutex", mutex},
                 {"condition", conditions},
                 {"semaphore", semaphores},
                 {"readwrite", readwrites},
                 {"c", of_c},
                 {"limits", limits},
                 {"none", mutex}};
    const char *form = argc > 1 ? argv[1] : "mutex";
    pthread_barrier_init(&turn, NULL, 2);
    sem_init(&semaphore, 0, 0);
    CHECK(mtx_init(&c_lock, mtx_plain | mtx_timed) == thrd_success);
    CHECK(cnd_init(&c_condition) == thrd_success);
    take_free_locks();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(form, forms[i].name) == 0)
            run_all(forms[i].kinds, form);
    if (strcmp(form, "odd") == 0) {
        mutexes_of_other_kinds();
        limits_of_time();
        cancelled_and_interrupted();
        printf("expect 1 pthread_cond_wait\nexpect 1 sem_wait\n");
    }
    if (strcmp(form, "fork") == 0) {
        wait_in_child();
        run_all(mutex, form);
    }
    return 0;
}
