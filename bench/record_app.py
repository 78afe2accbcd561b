"""What recording costs a whole program: examples/heat.c alone and under lull record in turn, from
its start to its end, and what an MPI call takes on disk."""
import os
import random
import re
import shutil
import statistics
import subprocess
import time

from record_mpi import ENVIRONMENT

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "heat.c")
SHAPES = ((2, 1), (1, 2))
PAIRS = 15           # at least: each takes two runs
ITERATIONS = "600"   # about a second


def interval(values, draws=10000):
    """95 % confidence interval of the median, by bootstrap."""
    source = random.Random(1)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(draws))
    return medians[draws // 40], medians[-draws // 40]


def seconds(command, threads):
    begin = time.monotonic()
    done = subprocess.run(command, env=dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads)), check=True,
                          capture_output=True, text=True)
    return time.monotonic() - begin, done.stderr


def bytes_per_call(run, said):
    """Of rank 0, which has one thread and records nothing but MPI calls."""
    events = re.search(r"(\d+) events", said)
    size = os.path.getsize(os.path.join(run, "0", "0.0.tape")) - 4096
    return size / int(events.group(1)) if events else float("nan")


def one_shape(bench, family, program, ranks, threads):
    name = "%s heat, %d rank%s x %d" % (family, ranks, "s"[:ranks - 1], threads)
    run = bench.path("heat.lull")
    launch = ["mpiexec.%s" % family, "-n", str(ranks)]
    record = [os.path.join(os.path.abspath(bench.build), "lull"), "record", "--force", "-o", run]
    added, alone, said = [], [], ""
    for pair in range(max(bench.runs, PAIRS) + 1):
        shutil.rmtree(run, ignore_errors=True)
        # the first one warms up; who comes first changes from pair to pair
        order = [launch, launch + record] if pair % 2 else [launch + record, launch]
        taken = {}
        for command in order:
            taken[len(command)], errors = seconds(command + [program, ITERATIONS], threads)
            said = errors or said
        without, recorded = taken[len(launch)], taken[len(launch + record)]
        if pair > 0:
            alone.append(without)
            added.append(100 * (recorded / without - 1))
    bench.add(name + ": added by recording",
              "%.1f %% (%.1f .. %.1f)" % ((statistics.median(added),) + interval(added)), "< 2 %",
              "95 %% interval of %d pairs, alone %.1f s" % (len(added), statistics.median(alone)))
    if threads == 1:
        bench.add(name + ": on disk per MPI call", "%.1f bytes" % bytes_per_call(run, said),
                  "<= 32 bytes")


def rows(bench):
    for family in ("openmpi", "mpich"):
        compiler = "mpicc.%s" % family
        recorder = os.path.join(bench.build, "liblull-record-%s.so" % family)
        if not bench.wanted("heat") or not shutil.which(compiler) or not os.path.exists(recorder):
            continue
        for ranks, threads in SHAPES:
            program = os.path.abspath(bench.path("heat.%s.%d" % (family, threads)))
            subprocess.run([compiler, "-O2", "-w", SOURCE, "-o", program, "-lm"]
                           + (["-fopenmp"] if threads > 1 else []), check=True)
            one_shape(bench, family, program, ranks, threads)
