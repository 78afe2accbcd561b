/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples by a timer of each thread's processor time, whose signal notes where the thread is
 * (timer_create(2), SIGEV_THREAD_ID). It needs no leave of the system's, but a signal can harm: it is
 * taken by a thread that waits for all signals, and needs room on the stack of whoever computes, also
 * of a small one that the program has made itself. So this source is for those who ask for it.
 *
 * What is done against harm. The signal is one of real time for which the program has no handler, and
 * where the program gives it one of its own later, the timers end. SA_RESTART lets calls of the system
 * go on, and SA_ONSTACK obeys the program's sigaltstack. The signal is held back while the program forks,
 * because older kernels begin fork again and again while signals come, and in MPI_Init and
 * MPI_Finalize, so that also threads that these make are without it. Linux on x86-64 sends it from 5.9 on
 * when the thread returns into the program, so that no call is interrupted.
 *
 * A timer goes off at a tick of the system's clock, 100 to 1000 times a second. */
#include "record/sample/source.h"

#include "base/clock.h"
#include "record/report.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct timer_sample {
    uintptr_t address;
    int64_t ns;
    int64_t weight; /* ns that it stands for */
};

/* The handler writes samples and moves `head`; who empties it moves `tail`. */
struct timer_ring {
    uint64_t head, tail, lost; /* atomic */
    uint64_t room;             /* samples */
    int64_t interval;          /* ns */
    pid_t thread;
    int timer; /* the system's number of the timer */
    struct timer_sample samples[];
};

enum { LARGE_TIMER_RING = 64 * REC_PAGE };

static int timer_signal; /* 0: there is none yet */
static pthread_mutex_t timer_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the signal ------------------------------------------------------------------------------ */

static uintptr_t address_of(const void *context)
{
    const ucontext_t *where = context;
#if defined __x86_64__
    return (uintptr_t)where->uc_mcontext.gregs[REG_RIP];
#elif defined __aarch64__
    return (uintptr_t)where->uc_mcontext.pc;
#else
    (void)where;
    return 0;
#endif
}

static void note_place(int signal, siginfo_t *info, void *context)
{
    struct timer_ring *ring = info->si_value.sival_ptr;
    (void)signal;
    if (info->si_code != SI_TIMER || !ring)
        return;
    const uint64_t head = ring->head;
    const int64_t intervals = 1 + (int64_t)info->si_overrun;
    if (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= ring->room) {
        __atomic_fetch_add(&ring->lost, (uint64_t)intervals, __ATOMIC_RELAXED);
        return;
    }
    ring->samples[head % ring->room] =
        (struct timer_sample){address_of(context), lull_clock_read(CLOCK_MONOTONIC),
                              intervals * __atomic_load_n(&ring->interval, __ATOMIC_RELAXED)};
    __atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
}

static bool has_our_handler(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_flags & SA_SIGINFO &&
           action.sa_sigaction == note_place;
}

/* A signal of real time for which nobody has a handler. Those at both ends of their range are
 * asked for most. */
static bool find_timer_signal(void)
{
    enum { FROM_THE_END = 5 };
    struct sigaction action = {.sa_sigaction = note_place,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    pthread_mutex_lock(&timer_lock);
    for (int signal = SIGRTMAX - FROM_THE_END; timer_signal == 0 && signal > SIGRTMIN; signal--) {
        struct sigaction before;
        if (sigaction(signal, NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
            before.sa_handler == SIG_DFL && sigaction(signal, &action, NULL) == 0)
            timer_signal = signal;
    }
    pthread_mutex_unlock(&timer_lock);
    return timer_signal != 0;
}

static _Thread_local sigset_t held_mask;
static _Thread_local unsigned holds;

static void hold_timer_signal(void)
{
    sigset_t ours;
    if (timer_signal == 0 || holds++ > 0)
        return;
    sigemptyset(&ours);
    sigaddset(&ours, timer_signal);
    pthread_sigmask(SIG_BLOCK, &ours, &held_mask);
}

static void release_timer_signal(void)
{
    sigset_t ours;
    if (holds == 0 || --holds > 0 || sigismember(&held_mask, timer_signal))
        return;
    sigemptyset(&ours);
    sigaddset(&ours, timer_signal);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

/* ---- rings ----------------------------------------------------------------------------------- */

static struct itimerspec each_interval(int64_t interval)
{
    const struct timespec time = {interval / 1000000000, interval % 1000000000};
    return (struct itimerspec){time, time};
}

/* The clock of a thread's processor time, as the system numbers it (MAKE_THREAD_CPUCLOCK of its
 * sources). */
static clockid_t clock_of_thread(pid_t thread)
{
    enum { OF_A_THREAD = 4, BY_THE_SCHEDULER = 2 };
    return (clockid_t)(~(unsigned)thread << 3 | OF_A_THREAD | BY_THE_SCHEDULER);
}

/* The system is called by itself, because the C library's timer_create may allocate memory. */
static int start_timer(struct timer_ring *ring)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = timer_signal};
    const struct itimerspec times = each_interval(ring->interval);
    event.sigev_value.sival_ptr = ring;
    event._sigev_un._tid = ring->thread;
    if (syscall(SYS_timer_create, clock_of_thread(ring->thread), &event, &ring->timer) != 0)
        return errno;
    if (syscall(SYS_timer_settime, ring->timer, 0, &times, NULL) == 0)
        return 0;
    const int reason = errno;
    syscall(SYS_timer_delete, ring->timer);
    return reason;
}

static int begin_timer_samples(struct rec_sample_ring *ret_ring, const struct rec_sample_wish *wish)
{
    const size_t size = wish->alone ? LARGE_TIMER_RING : REC_PAGE;
    if (timer_signal == 0 && !find_timer_signal())
        return EBUSY;
    struct timer_ring *ring =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return ENOMEM;
    ring->room = (size - sizeof *ring) / sizeof *ring->samples;
    ring->thread = wish->thread;
    ring->interval = rec_sample_vary(wish->interval, wish->thread);
    const int reason = has_our_handler(timer_signal) ? start_timer(ring) : EBUSY;
    if (reason != 0)
        munmap(ring, size);
    else
        *ret_ring =
            (struct rec_sample_ring){.memory = ring, .size = size, .interval = ring->interval};
    return reason;
}

/* A signal that the program has a handler for by now is the program's. */
static void leave_to_program(struct timer_ring *ring)
{
    static bool said; /* atomic */
    if (ring->timer < 0 || has_our_handler(timer_signal))
        return;
    syscall(SYS_timer_delete, ring->timer);
    ring->timer = -1;
    if (!__atomic_test_and_set(&said, __ATOMIC_RELAXED))
        rec_report_say("samples end here: the program uses signal %d itself", timer_signal);
}

static uint64_t take_timer_samples(struct rec_sample_ring *ring, rec_sample_taker *taker,
                                   void *context)
{
    struct timer_ring *timer = ring->memory;
    const uint64_t head = __atomic_load_n(&timer->head, __ATOMIC_ACQUIRE);
    for (uint64_t at = timer->tail; at < head; at++) {
        const struct timer_sample *sample = &timer->samples[at % timer->room];
        taker(context, &(struct rec_raw_sample){
                           .address = sample->address, .ns = sample->ns, .weight = sample->weight});
    }
    __atomic_store_n(&timer->tail, head, __ATOMIC_RELEASE);
    leave_to_program(timer);
    return __atomic_exchange_n(&timer->lost, 0, __ATOMIC_RELAXED);
}

static void change_timer(struct rec_sample_ring *ring, int64_t interval)
{
    struct timer_ring *timer = ring->memory;
    const struct itimerspec times = each_interval(interval);
    if (timer->timer < 0 || syscall(SYS_timer_settime, timer->timer, 0, &times, NULL) != 0)
        return;
    __atomic_store_n(&timer->interval, interval, __ATOMIC_RELAXED);
    ring->interval = interval;
}

/* A signal of the timer may still be on its way. Where the thread ends its own ring, it takes that
 * signal; the ring of another thread stays, which is so at the end of recording only. */
static void end_timer_samples(struct rec_sample_ring *ring)
{
    static const struct timespec at_once;
    struct timer_ring *timer = ring->memory;
    sigset_t ours;
    if (!timer)
        return;
    ring->memory = NULL;
    hold_timer_signal();
    if (timer->timer >= 0)
        syscall(SYS_timer_delete, timer->timer);
    if (timer->thread == gettid()) {
        sigemptyset(&ours);
        sigaddset(&ours, timer_signal);
        sigtimedwait(&ours, NULL, &at_once);
        munmap(timer, ring->size);
    }
    release_timer_signal();
}

static int64_t timer_ring_lasts(int64_t interval, bool stack)
{
    (void)stack;
    return (int64_t)((REC_PAGE - sizeof(struct timer_ring)) / sizeof(struct timer_sample)) *
           interval;
}

static int64_t least_timer_interval(void)
{
    struct timespec tick;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0
               ? (int64_t)tick.tv_sec * 1000000000 + tick.tv_nsec
               : 0;
}

const struct rec_sample_source rec_samples_timer = {.name = "timer",
                                                    .id = LULL_TAPE_SAMPLES_TIMER,
                                                    .least = least_timer_interval,
                                                    .begin = begin_timer_samples,
                                                    .take = take_timer_samples,
                                                    .change = change_timer,
                                                    .end = end_timer_samples,
                                                    .lasts = timer_ring_lasts,
                                                    .hold = hold_timer_signal,
                                                    .release = release_timer_signal};
