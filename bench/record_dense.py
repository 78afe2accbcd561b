"""What a program pays that does nothing but calls which are recorded (record_dense.c): processor time alone
and recorded, in turn, and how long the recorder took for each full chunk, as its runs tell."""
import os
import shutil
import statistics
import subprocess

from record_mpi import spread

CALLS = 2000000
SHARES = (0.1, 0.5, 0.9, 0.99, 1)


def rows(bench):
    program = os.path.join(bench.build, "bench", "bench_record_dense")
    if not bench.wanted("dense") or not os.path.exists(program):
        return
    run, chunks, ratios, cost = bench.path("dense"), [], [], []
    recorded = ["env", "LULL_RECORD_QUIET=1"] + bench.lull("record", "-o", run, program, str(CALLS))
    for _ in range(4 * bench.runs):
        shutil.rmtree(run, ignore_errors=True)
        alone, with_it = bench.pair([program, str(CALLS)], recorded)
        told = subprocess.run([os.path.join(bench.build, "bench", "bench_chunks"), run], check=True,
                              capture_output=True, text=True).stdout
        chunks += sorted(int(ns) / 1e3 for ns in told.split())
        cost.append((with_it.cpu - alone.cpu) / CALLS * 1e9)
        ratios.append(with_it.cpu / alone.cpu)
    chunks.sort()
    bench.add("dense: a full chunk of the tape", "%.0f us" % statistics.median(chunks), "",
              "10, 50, 90, 99 %% and all of %d: up to " % len(chunks) + ", ".join(
                  "%.0f" % chunks[min(len(chunks) - 1, int(len(chunks) * share))] for share in SHARES) + " us")
    bench.add("dense: processor time added to a call, start and end among it", spread(cost, "%.0f") + " ns", "",
              "%s times that of the program alone" % spread(ratios, "%.1f"))
