"""How well models meet runs that they have not seen, of processes that share the cores of this machine:
computations of the image program on 4 ranks by data/models/image.lua, calibrated on 1 and 2; and its
runtime, and that of heat, on 8 ranks by models derived from 1, 2 and 4. Computations are compared in
processor time. What else the machine does at the same time is in the runtimes."""
import json
import os
import statistics
import subprocess

from record_mpi import ENVIRONMENT

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
IMAGE = os.path.join(ROOT, "data", "models", "image.lua")
# Iterations, pixels or cells along an edge; of the image also its dimensions and the iterations
# between two looks at the change.
RUNTIME, TERMS = (200, 1000), (400, 400, 1, 10)
RANKS = (1, 2, 4, 8)


def compiled(bench, name):
    program = os.path.abspath(bench.path(name))
    subprocess.run(["mpicc.openmpi", "-O2", "-w", "-fopenmp", "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "examples", name + ".c"), "-o", program, "-lm", "-ldl"],
                   check=True)
    return program


def record(bench, program, ranks, repetition, sizes):
    run = os.path.abspath("%s-%d-%d-%d" % (program, sizes[1], ranks, repetition))
    subprocess.run(["mpiexec.openmpi", "-n", str(ranks)] +
                   bench.lull("record", "--counters", "processor-time", "-o", run, program,
                              *(str(size) for size in sizes)),
                   env=dict(ENVIRONMENT, OMP_NUM_THREADS="1"), check=True, capture_output=True)
    return run


def against(bench, model, runs, *options):
    """Predicted and measured seconds of each run and its terms, by label."""
    text = subprocess.run(bench.lull("model", "program", model, "--against", ",".join(runs),
                                     "--format", "json", *options),
                          check=True, capture_output=True, text=True).stdout
    return [(row["label"], row["values"]) for row in json.loads(text)["tables"]["against"]["rows"]]


def quote(bench, name, errors, target):
    bench.add(name, "%+.1f %% (%+.1f .. %+.1f)" % (statistics.median(errors), min(errors), max(errors)),
              target, "%d of %d within 10 %%" % (sum(abs(e) <= 10 for e in errors), len(errors)))


def computations(bench, runs):
    errors = {"update": [], "delta": []}
    for one, two, four in zip(runs[1], runs[2], runs[4]):
        rows = against(bench, IMAGE, [four], "--calibrate", one + "," + two, "--set",
                       "decomposition=1-D", "--set", "L=%d" % TERMS[1], "--set",
                       "iterations=%d" % TERMS[0], "--set", "D=%d" % TERMS[3])
        for label, values in rows:
            if label in errors:
                errors[label].append(100 * (values[0] / values[1] - 1))
    for term, found in errors.items():
        quote(bench, "predicted: image's %s on 4 ranks, from 1 and 2" % term, found, "within 10 %")


def runtime(bench, name, runs):
    model = bench.path(name + ".lua")
    subprocess.run(bench.lull("model", "program", "--derive", "-o", model,
                              *(run for ranks in RANKS[:-1] for run in runs[ranks])),
                   check=True, capture_output=True)
    rows = [values for label, values in against(bench, model, runs[RANKS[-1]])
            if label.endswith("(8 processes)")]
    measured = statistics.median(values[1] for values in rows)
    low, high = rows[0][3:5]  # none of a single run on 4 ranks
    interval = "not known" if low is None else "%.0f .. %.0f ms, %d of %d runs in it" % (
        1e3 * low, 1e3 * high, sum(low <= values[1] <= high for values in rows), len(rows))
    bench.add("predicted: %s's runtime on 8 ranks, from 1, 2 and 4" % name,
              "%+.1f %%" % (100 * (rows[0][0] / measured - 1)), "within 10 %",
              "%.0f ms, interval %s; measured %.0f (%.0f .. %.0f)" %
              (1e3 * rows[0][0], interval, 1e3 * measured, 1e3 * min(v[1] for v in rows),
               1e3 * max(v[1] for v in rows)))


def recorded(bench, program, numbers, sizes):
    runs = {ranks: [] for ranks in numbers}
    for repetition in range(bench.runs):
        for ranks in numbers:
            runs[ranks].append(record(bench, program, ranks, repetition, sizes))
    return runs


def rows(bench):
    if bench.wanted("predicted: image's terms"):
        computations(bench, recorded(bench, compiled(bench, "image"), RANKS[:-1], TERMS))
    for name in ("image", "heat"):
        if bench.wanted("predicted: %s's runtime" % name):
            runtime(bench, name, recorded(bench, compiled(bench, name), RANKS, RUNTIME))
