/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples: each says in which code a thread of the program was. They are taken at equal intervals of
 * the processor time that the thread spends in the program. Names of functions and lines are found
 * when the run is read.
 *
 * LULL_RECORD_SAMPLE says how: "RATE" or "RATE:BYTES", so many samples a second of processor time,
 * and so many bytes of file at most for the samples of a thread (unset: 16 KiB); or "off", none. In front of the rate
 * may stand the name of a source and a colon: "timer:100" takes samples by signals (timer_samples.c),
 * "fake:100" makes them up (fake_samples.c). If the variable is unset, there are 100 samples a second;
 * a profile has none then, and where the system refuses samples, the recorder says nothing of it. With
 * LULL_RECORD_SAMPLE_STACK a sample also has the begin of the thread's stack, and the file has 256 KiB
 * for the samples of a thread.
 *
 * How they are taken is the affair of a source (source.h). By perf_event, which is the usual one, the
 * system's kernel puts addresses into a ring in memory, without a signal, and without waking anybody.
 * What a sample costs the thread is an interrupt of the kernel's clock.
 *
 * Who empties the ring. The thread itself, when it leaves a call or region 50 ms or more after the
 * last time (rec_cores_read), and when it ends. For threads that compute for long, the recorder's own
 * thread does so, when a ring may be half full: every 0.85 s at 100 Hz (thread/pause.h). That thread
 * is there only in programs with several threads, so that a program with one stays one: its ring is
 * larger, and holds 109 s at 100 Hz; what comes then is lost, and counted. The thread that ends the
 * process does so for all threads that still run. Whoever does it takes the thread's sampler by an atomic flag.
 * Nobody waits for that flag but a thread at its end. Samples do not go onto the thread's tape, but
 * into a part of the file for themselves (struct lull_tape_samples_header), so that the helper can
 * write them, that they need not come in the order of events, and that they are there also where
 * events are not: in a profile, behind the size budget, before a ring.
 *
 * How many. A thread has room for a fixed number of samples, 678 in 16 KiB. When they are full, one
 * of each two neighbours goes, the other one gets the weight of both, and the interval doubles. So a
 * job of 10^5 threads writes 16 KiB for each that ran for longer than seven seconds at 100 Hz, and
 * less for others; the room grows from one page on, and a thread without samples has none. In memory
 * a thread has the ring (8 KiB, the first one 260 KiB) and these pages. Rings are locked memory, of
 * which a user has 516 KiB for each processor, and RLIMIT_MEMLOCK: threads for which there is none
 * are not sampled, and say so in the file.
 *
 * Descriptors. The ring's mapping keeps the kernel's event alive, so its descriptor is closed at
 * once: programs that close all descriptors, or may open few, meet none of ours. The interval can
 * therefore not be changed; to double it, a new ring takes the place of the old one.
 *
 * A stack. Words of it that point neither to code nor into the stack are not kept, so that nothing else
 * of the program's memory comes into the file. Its frames are found when the run is read.
 *
 * Which file an address lies in is looked up when the ring is emptied (site/code.h): code of a
 * library that was unloaded before that is unknown.
 *
 * When a thread ends, its ring is emptied and unmapped, which ends the event. A forked child does not
 * inherit the ring (the kernel does not copy such mappings), and never touches it, because nothing
 * is recorded there. A child of vfork shares it with its parent, which does not run meanwhile. When
 * another program is executed, the kernel drops the mapping and with it the event. A program that is
 * killed loses what its rings still held: up to 50 ms of a thread that enters the recorder often, up
 * to about a second of one that does not, and all of a single thread that never does. */
#ifndef LULL_RECORD_SAMPLE_SAMPLE_H
#define LULL_RECORD_SAMPLE_SAMPLE_H

#include "record/core.h"

#include <time.h>

/* Reads LULL_RECORD_SAMPLE from the environment. */
void rec_sample_prepare(void);
/* Once definitions can be written. Says in one line why there are no samples where the user has
 * asked for some and there can be none. */
void rec_sample_start(void);

/* The calling thread lives in this location from now on (begin), or ends (end). */
void rec_sample_begin(struct rec_thread *self);
void rec_sample_end(struct rec_thread *self);
/* Keeps what the kernel has put into the ring of the calling thread, which has stepped aside. */
void rec_sample_keep(struct rec_thread *self);

/* From rec_sample_hold to rec_sample_release, which may be nested, no sample disturbs the calling
 * thread. */
void rec_sample_hold(void);
void rec_sample_release(void);

/* Recording ends: keeps the samples of all threads, which get none from here on. */
void rec_sample_stop(void);

/* The moment (CLOCK_MONOTONIC) when the recorder's own thread is to call rec_sample_turn next, for
 * the rings of threads that do not come themselves. False: never. */
bool rec_sample_next_turn(struct timespec *ret_when);
void rec_sample_turn(void);

#endif
