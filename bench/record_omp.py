"""What a recorder adds to OpenMP constructs: record_omp.c, built by gcc and by clang because their
runtimes differ, alone and under lull in turn."""
import os
import re
import shutil
import statistics
import subprocess

from record_mpi import spread

CLOCK = "clock, 1 thread"


def measure(command, environment):
    """construct -> median ns per visit"""
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return {name.strip(): float(median)
            for name, median in re.findall(r"^(.*?) +min .* median +(\S+)", out, re.M)}


def rows(bench):
    recorder = os.path.join(os.path.abspath(bench.build), "liblull-record.so")
    run = bench.path("recorded")
    for compiler in ("gcc", "clang"):
        program = os.path.join(bench.build, "bench", "bench_record_omp." + compiler)
        if not bench.wanted("OpenMP") or not os.path.exists(program):
            continue
        for threads in (1, 2):
            alone, recorded = [], []
            for _ in range(bench.runs):
                alone.append(measure([program, str(threads)], os.environ))
                shutil.rmtree(run, ignore_errors=True)
                recorded.append(measure([program, str(threads)],
                                        dict(os.environ, LULL_RECORD_DIR=run, LULL_RECORD_QUIET="1",
                                             LD_PRELOAD=recorder, OMP_TOOL_LIBRARIES=recorder)))
            clock = statistics.median(run[CLOCK] for run in alone + recorded)
            for name in alone[0]:
                if name == CLOCK or threads > 1 and "1 thread" in name:
                    continue
                added = [(b[name] - a[name]) / threads for a, b in zip(alone, recorded)]
                bench.add("OpenMP %s %s, %d thread%s: added per thread"
                          % (compiler, name.replace(", 1 thread", ""), threads, "s"[:threads - 1]),
                          spread(added, "%.0f") + " ns",
                          "<= %.0f ns" % (clock + 20) if name == "parallel" else "",
                          "two readings of the clock: %.0f ns, alone %.0f ns"
                          % (clock, statistics.median(a[name] for a in alone)))
