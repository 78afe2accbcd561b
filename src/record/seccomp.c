/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that restrict the system calls that they may make (seccomp(2)). The system may kill such
 * a program for a call that the recorder makes. So recording ends before the program installs a
 * filter of system calls by prctl, or by syscall, which libseccomp uses. From then on the
 * recorder's functions hand every call on to the function behind them and call the system no more.
 * The thread that watches time and signals is ended as well, because a filter for all threads would
 * hold for it, too. A filter that is installed without these two functions is not seen. */
#include "record/life_cycle.h"
#include "record/next.h"
#include "record/report.h"
#include "record/thread/pause.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUNCTIONS(X) X(prctl) X(syscall)
enum { FUNCTIONS(REC_NEXT_INDEX) N_NEXT };
static const char *const next_names[N_NEXT] = {FUNCTIONS(REC_NEXT_NAME)};
static rec_function next[N_NEXT];

__attribute__((constructor)) static void find_next(void)
{
    rec_next_find(next, next_names, N_NEXT);
}

/* Ends the recording of all threads, even where the filter is for the calling thread alone: all
 * threads record into one file. */
static void end_recording(void)
{
    if (rec_process.on)
        rec_report_say("the program restricts its system calls (seccomp): recording ends here, and "
                       "what was recorded before is kept");
    rec_stop();
    rec_window_unwatch();
    rec_process.sealed = true;
    rec_self_or_null = &rec_nobody;
}

/* Whether the call installs a filter. With a null pointer for the filter a program only asks
 * whether the system has filters. */
static bool is_by_prctl(long option, long mode, long filter)
{
    return option == PR_SET_SECCOMP &&
           (mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != 0));
}

static bool is_by_seccomp(long operation, long filter)
{
    return operation == SECCOMP_SET_MODE_STRICT ||
           (operation == SECCOMP_SET_MODE_FILTER && filter != 0);
}

/* In C these two have names of their own, because the C library declares prctl and syscall with
 * "..." for their parameters. */
REC_EXPORT int prctl_in_front(int option, long a, long b, long c, long d) __asm__("prctl");
REC_EXPORT long syscall_in_front(long number, long a, long b, long c, long d, long e,
                                 long f) __asm__("syscall");

int prctl_in_front(int option, long a, long b, long c, long d)
{
    if (REC_UNLIKELY(is_by_prctl(option, a, b)))
        end_recording();
    return REC_NEXT(prctl)(option, a, b, c, d);
}

/* The last act of this function is a jump, which leaves nothing of it on the stack: by syscall a
 * program may make a child that shares the stack of its parent. */
long syscall_in_front(long number, long a, long b, long c, long d, long e, long f)
{
    if (REC_UNLIKELY((number == SYS_seccomp && is_by_seccomp(a, c)) ||
                     (number == SYS_prctl && is_by_prctl(a, b, c))))
        end_recording();
    return REC_NEXT(syscall)(number, a, b, c, d, e, f);
}
