"""What a reading of a process's memory takes, which the recorder makes ten times a second at most: with one thread and
with 64, with 16 MiB and with 1 GiB, one behind the other and with other things in the caches meanwhile, beside getrusage
in the same turns, which tells the peak alone."""
import os
import statistics
import subprocess

ROUNDS, A_SECOND = 2000, 10


def rows(bench):
    if not bench.wanted("memory: "):
        return
    program = os.path.join(os.path.abspath(bench.build), "bench", "bench_record_memory")
    for threads, mib, how in ((1, 16, ""), (1, 1024, ""), (64, 16, ""), (1, 64, "used"), (64, 64, "used")):
        rounds = ROUNDS // 5 if how else ROUNDS
        done = subprocess.run([program, str(threads), str(mib), str(rounds), how], check=True, capture_output=True,
                              text=True)
        readings, calls, visits = zip(*(map(int, line.split()) for line in done.stdout.splitlines()))
        tenths = statistics.quantiles(readings, n=20)
        median = statistics.median(readings)
        bench.add("memory: a reading, %d threads, %d MiB %s" % (threads, mib, how),
                  "%.1f us (%.1f .. %.1f)" % (median / 1e3, tenths[0] / 1e3, tenths[-1] / 1e3), "<= 30 us",
                  "median and 5 .. 95 %% of %d; getrusage %.2f us; a visit of a marked region %.1f us; %d a second: %.3f %%"
                  % (rounds, statistics.median(calls) / 1e3, statistics.median(visits) / 1e3, A_SECOND,
                     100 * A_SECOND * median / 1e9))
