#!/usr/bin/env python3
"""Records examples/image.c on 1, 2 and 4 processes, cut into strips and into blocks, and compares the
numbers of messages, bytes and collective calls with those that data/models/image.lua predicts: exactly.
The times of all terms must have been found in the runs; how near they are is not a matter of a test
on a machine that others use.

usage: model.py --lull PROGRAM --recorder FILE --family openmpi|mpich   exit status 77: not possible
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch

ITERATIONS, SIZE, EVERY = 25, 45, 10  # 45 rows are no multiple of 2 or 4
EXACT = ("messages", "bytes", "collective calls")


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, **more)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def record(options, program, processes, dimensions, folder):
    where = os.path.join(folder, "run-%d-%d" % (processes, dimensions))
    run(["mpiexec." + options.family, "-n", str(processes), "env", "LULL_RECORD_DIR=" + where,
         "LD_PRELOAD=" + options.recorder, program, str(ITERATIONS), str(SIZE), str(dimensions),
         str(EVERY)], env=launch.environment(), cwd=folder)
    return where


def differences(options, where, dimensions):
    text = run([options.lull, "model", "program", os.path.join(ROOT, "data", "models", "image.lua"),
                "--against", where, "--set", "decomposition=%d-D" % dimensions, "--format", "json",
                "--set", "L=%d" % SIZE, "--set", "iterations=%d" % ITERATIONS,
                "--set", "D=%d" % EVERY])
    rows = json.loads(text)["tables"]["against"]["rows"]
    found = {row["label"]: row["values"] for row in rows}
    for what in EXACT:
        predicted, measured = found[what][:2]
        if predicted != measured:
            yield "%s: %s: predicted %s, measured %s" % (where, what, predicted, measured)
    for term in ("halo", "update", "delta", "reduction"):
        if not found[term][1] or found[term][1] <= 0:
            yield "%s: no time was found for term %s" % (where, term)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--recorder", required=True)
    parser.add_argument("--family", required=True)
    options = parser.parse_args()
    for needed in ("mpicc." + options.family, "mpiexec." + options.family):
        if not shutil.which(needed):
            print("skipped: %s was not found" % needed)
            return 77
    wrong = []
    with tempfile.TemporaryDirectory(prefix="lull-model-") as folder:
        program = os.path.join(folder, "image")
        run(["mpicc." + options.family, "-O1", "-w", "-I" + os.path.join(ROOT, "include"),
             os.path.join(ROOT, "examples", "image.c"), "-o", program, "-lm", "-ldl"])
        for processes in (1, 2, 4):
            for dimensions in (1, 2):
                where = record(options, program, processes, dimensions, folder)
                wrong += differences(options, where, dimensions)
    for line in wrong:
        print(line)
    print("6 runs, %d differences" % len(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
