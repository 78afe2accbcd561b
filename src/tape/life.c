/* SPDX-License-Identifier: BSD-3-Clause */
#include "tape/life.h"

#include "tape/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads the beginning of a file, as a text; false: there is nothing to read. */
static bool read_text(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, text, size - 1) : -1;
    text[length > 0 ? length : 0] = '\0';
    if (file >= 0)
        close(file);
    return length > 0;
}

uint64_t lull_tape_node_key(void)
{
    char text[64];
    return read_text("/proc/sys/kernel/random/boot_id", text, sizeof text)
               ? lull_tape_checksum(1, text, strlen(text)) | 1
               : 0;
}

static uint64_t own_space(void)
{
    struct stat info;
    return stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
}

/* What /proc/PID/stat says of a process. */
struct stat_line {
    char state;
    uint64_t threads, start;
};

/* Its name stands in brackets and may hold anything, so fields count from the last bracket: the state
 * is the third field of all, the number of threads the 20th, the begin the 22nd. */
static bool take_stat(const char *text, struct stat_line *ret_line)
{
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    *ret_line = (struct stat_line){.state = at[2]};
    at += 2;
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
        if (field + 1 == 20)
            ret_line->threads = strtoull(at, NULL, 10);
    }
    char *end;
    ret_line->start = strtoull(at, &end, 10);
    return end > at;
}

bool lull_tape_own_life(struct lull_tape_life *ret_life)
{
    char text[1024];
    struct stat_line line;
    *ret_life = (struct lull_tape_life){
        .node = lull_tape_node_key(), .space = own_space(), .pid = (uint64_t)getpid()};
    const bool good = read_text("/proc/self/stat", text, sizeof text) && take_stat(text, &line) &&
                      ret_life->node != 0 && ret_life->space != 0;
    if (good)
        ret_life->start = line.start;
    else
        *ret_life = (struct lull_tape_life){0};
    return good;
}

static bool read_stat(const struct lull_tape_life *life, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)life->pid);
    return read_text(path, text, size);
}

/* What /proc says. A zombie runs no more, unless it is only the first thread that has ended. Where
 * /proc shows nothing of a process that can be sent signals, it hides the processes of other users. */
static enum lull_tape_living look_in_proc(const struct lull_tape_life *life)
{
    char text[1024];
    struct stat_line line;
    if (!read_stat(life, text, sizeof text))
        return kill((pid_t)life->pid, 0) != 0 && errno == ESRCH ? LULL_TAPE_OVER
                                                                : LULL_TAPE_ELSEWHERE;
    if (!take_stat(text, &line))
        return LULL_TAPE_ELSEWHERE;
    const bool gone = line.state == 'X' || (line.state == 'Z' && line.threads < 2);
    return gone || line.start != life->start ? LULL_TAPE_OVER : LULL_TAPE_ALIVE;
}

/* What does not change while this process lives is asked for once: a run may have thousands of
 * processes. */
static uint64_t asked_once(uint64_t *known, uint64_t (*ask)(void))
{
    uint64_t value = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (value == 0) {
        value = ask();
        __atomic_store_n(known, value, __ATOMIC_RELAXED);
    }
    return value;
}

bool lull_tape_is_of_node(const struct lull_tape_life *life)
{
    static uint64_t node;
    return life->pid > 0 && life->pid <= INT32_MAX &&
           life->node == asked_once(&node, lull_tape_node_key);
}

static bool is_here(const struct lull_tape_life *life)
{
    static uint64_t space;
    return lull_tape_is_of_node(life) && life->space == asked_once(&space, own_space);
}

bool lull_tape_is_stopped(const struct lull_tape_life *life)
{
    char text[1024];
    struct stat_line line;
    return is_here(life) && read_stat(life, text, sizeof text) && take_stat(text, &line) &&
           line.start == life->start && (line.state == 'T' || line.state == 't');
}

/* The descriptor is opened first and /proc is asked afterwards: if the number has gone to another
 * process meanwhile, that one began later, so that its begin tells. */
void lull_tape_watch_begin(struct lull_tape_watch *watch, const struct lull_tape_life *life)
{
    *watch = (struct lull_tape_watch){*life, -1, LULL_TAPE_ELSEWHERE};
    if (!is_here(life))
        return;
#ifdef SYS_pidfd_open
    watch->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)life->pid, 0);
#endif
    watch->living = look_in_proc(life);
    if (watch->living != LULL_TAPE_ALIVE)
        lull_tape_watch_end(watch);
}

enum lull_tape_living lull_tape_watch_look(struct lull_tape_watch *watch)
{
    struct pollfd ended = {.fd = watch->pidfd, .events = POLLIN};
    if (watch->living != LULL_TAPE_ALIVE)
        return watch->living;
    if (watch->pidfd < 0)
        watch->living = look_in_proc(&watch->life);
    else if (poll(&ended, 1, 0) > 0)
        watch->living = LULL_TAPE_OVER;
    if (watch->living != LULL_TAPE_ALIVE)
        lull_tape_watch_end(watch);
    return watch->living;
}

void lull_tape_watch_end(struct lull_tape_watch *watch)
{
    if (watch->pidfd >= 0)
        close(watch->pidfd);
    watch->pidfd = -1;
}
