#!/usr/bin/env python3
"""Records examples/image.c on 1, 2, 4 and 6 processes, cut into strips and into blocks, and compares the
numbers of messages, bytes and collective calls with those that data/models/image.lua predicts: exactly.
The times of all terms must have been found in the runs; with --clock, the share that a made-up counter
says is looked at instead, as far as clocks go. Models derived from the first three runs, and from those of
examples/heat.c, must say the numbers of the fourth, and how many cores there were; and those of a plate and processes that never ran,
from runs of two smaller plates.

usage: model.py --lull PROGRAM --recorder FILE --family openmpi|mpich [--clock]
exit status 77: not possible
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch

ITERATIONS, SIZE, EVERY = 25, 45, 10  # 45 rows are no multiple of 2 or 4
PROCESSES = (1, 2, 4, 6)
EXACT = ("messages", "bytes", "collective calls")


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **more)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def record(options, program, processes, name, arguments, folder, counters="processor-time"):
    where = os.path.join(folder, "%s-%d" % (name, processes))
    run(["mpiexec." + options.family, "-n", str(processes), "env", "LULL_RECORD_DIR=" + where,
         *launch.preload(options.recorder), program] + [str(a) for a in arguments],
        env=launch.environment(OMP_NUM_THREADS="1", LULL_RECORD_COUNTERS=counters),
        cwd=folder)
    return where


def differences(options, model, where, *settings, terms=()):
    text = run([options.lull, "model", "program", model, "--against", where, "--format", "json"]
               + ["--set=" + setting for setting in settings])
    rows = json.loads(text)["tables"]["against"]["rows"]
    found = {row["label"]: row["values"] for row in rows}
    for what in EXACT:
        predicted, measured = found[what][:2]
        if predicted != measured:
            yield "%s: %s: %s: predicted %s, measured %s" % (model, where, what, predicted, measured)
    for term in terms:
        if not found[term][1] or found[term][1] <= 0:
            yield "%s: no time was found for term %s" % (where, term)


def cores_said_wrongly(model, most_processes):
    """Runs on more processes than cores make the number of cores that of the model; 0: enough."""
    there = len(os.sched_getaffinity(0))
    expected = there if most_processes > there else 0
    found = re.search(r'name = "cores", unit = "1", default = (\d+)', open(model).read())
    if not found or int(found.group(1)) != expected:
        yield "%s: cores are %s, expected %d" % (model, found and found.group(1), expected)


def time_taken_wrongly(options, program, model, folder):
    """A made-up counter says that a process had its core for a quarter of the time: what a term is
    said to compute must be a quarter of the time in its region."""
    where = record(options, program, 2, "quarter", (ITERATIONS, SIZE, 1, EVERY), folder,
                   "fake:processor-time=0.25")
    tables = json.loads(run([options.lull, "metrics", "--by", "region", "--format", "json", where]))
    regions = [table for name, table in tables["tables"].items() if name.startswith("regions:")][0]
    column = [c["id"] for c in regions["columns"]].index("inclusive")
    inside = {row["id"]: row["values"][column] for row in regions["rows"]}
    text = run([options.lull, "model", "program", model, "--against", where, "--format", "json"])
    terms = {row["label"]: row["values"] for row in
             json.loads(text)["tables"]["against"]["rows"]}
    for name in ("update", "delta"):
        share = terms[name][1] * 2 / inside[name]  # of two processes
        if abs(share - 0.25) > 0.0025:  # the clock is calibrated to 1e-3
            yield "%s: a share %g of its region is computation, expected 0.25" % (name, share)


def derived_differences(options, runs, shape):
    """What a model that is derived from all runs but the last says wrongly of the last."""
    model = runs[0] + ".lua"
    run([options.lull, "model", "program", "--derive", "-o", model] + runs[:-1])
    if "-- Messages: %s.\n" % shape not in open(model).read():
        yield "%s: is not a %s" % (model, shape)
    yield from cores_said_wrongly(model, PROCESSES[-2])
    yield from differences(options, model, runs[-1])


def sized_differences(options, runs, shape):
    """The same, of a model whose law of the size is found, too; runs are pairs of folder and size."""
    model = runs[0][0] + "-sized.lua"
    named = ["%s,rows=%d" % run for run in runs]
    run([options.lull, "model", "program", "--derive", "-o", model] + named[:-1])
    if "-- Messages: %s.\n" % shape not in open(model).read():
        yield "%s: is not a %s" % (model, shape)
    yield from differences(options, model, named[-1])


def compile_example(options, name, folder):
    program = os.path.join(folder, name)
    run(["mpicc." + options.family, "-O1", "-w", "-fopenmp", "-I" + os.path.join(ROOT, "include"),
         os.path.join(ROOT, "examples", name + ".c"), "-o", program, "-lm", "-ldl",
         *launch.PATIENT])
    return program


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--recorder", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--clock", action="store_true")
    options = parser.parse_args()
    for needed in ("mpicc." + options.family, "mpiexec." + options.family):
        if not shutil.which(needed):
            print("skipped: %s was not found" % needed)
            return 77
    wrong = []
    with tempfile.TemporaryDirectory(prefix="lull-model-") as folder:
        program = compile_example(options, "image", folder)
        model = os.path.join(ROOT, "data", "models", "image.lua")
        if options.clock:
            print("\n".join(wrong := [*time_taken_wrongly(options, program, model, folder)]))
            return 1 if wrong else 0
        for dimensions, shape in ((1, "ring"), (2, "2-D grid, periodic")):
            runs = [record(options, program, processes, "image-%d" % dimensions,
                           (ITERATIONS, SIZE, dimensions, EVERY), folder)
                    for processes in PROCESSES]
            for where in runs:
                wrong += differences(options, model, where, "decomposition=%d-D" % dimensions,
                                     "L=%d" % SIZE, "iterations=%d" % ITERATIONS, "D=%d" % EVERY,
                                     terms=("halo", "update", "delta", "reduction"))
            wrong += derived_differences(options, runs, shape)
        program = compile_example(options, "heat", folder)
        runs = [record(options, program, processes, "heat", (ITERATIONS, SIZE), folder)
                for processes in PROCESSES]
        wrong += derived_differences(options, runs, "chain")
        larger = [(record(options, program, processes, "plate", (ITERATIONS, 2 * SIZE), folder),
                   2 * SIZE) for processes in PROCESSES[:3]]
        last = record(options, program, PROCESSES[3], "last", (ITERATIONS, 3 * SIZE), folder)
        wrong += sized_differences(options, [(where, SIZE) for where in runs[:3]] + larger +
                                   [(last, 3 * SIZE)], "chain")
    for line in wrong:
        print(line)
    print("16 runs, %d differences" % len(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
