"""Functions of Python in the stacks of samples: of an interpreter that writes down what it makes stubs for
(python -X perf, 3.12 and newer), which functions called each other is that of the program, and lines are those where the
source defines them, as long as it is what was executed. Without -X perf it is said how functions are known. Without such an
interpreter it is skipped by name.

    python_perf.py --lull LULL
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import perf_maps

PROGRAM = """
import os, time
def hot(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
class Grid:
    def step(self, end):
        while time.process_time() < end:
            hot(2000)
def solve(seconds):
    Grid().step(time.process_time() + seconds)
print(os.getpid(), flush=True)
solve(1.0)
"""
EXPECTED = ["Grid.step", "hot"]  # as far as the stack that is copied reaches


def is_in_order(path):
    """Whether the expected functions stand in a path one behind the other, with others between them."""
    at = iter(path)
    return all(any(frame == name for frame in at) for name in EXPECTED)


def document(lull, run, level):
    return json.loads(subprocess.run([lull, "metrics", run, "--by", level, "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)


def share_of(lull, run, level, row):
    """The share of the useful time that a function, or a line, has."""
    rows = next(table["rows"] for name, table in document(lull, run, level)["tables"].items() if name.startswith(level + "s:"))
    return sum(found["values"][2] for found in rows if found["id"] == row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    settings = parser.parse_args()
    python = perf_maps.find()
    if not python:
        print("skipped: " + perf_maps.ABSENT)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        program, run, out = (os.path.join(folder, name) for name in ("heat.py", "run", "paths"))
        with open(program, "w", encoding="ascii") as file:
            file.write(PROGRAM)
        done = subprocess.run([settings.lull, "record", "--sample", "500", "--sample-stack", "-o", run, "--", python, "-X",
                               "perf", program], capture_output=True, text=True, env=launch.environment(), timeout=900)
        if "no samples" in done.stderr:
            print("skipped: " + done.stderr.strip().splitlines()[0])
            return 77
        done.check_returncode()
        perf_maps.remove_map(done.stdout.split()[0])  # what was written there is in the run
        plain = run + ".plain"
        subprocess.run([settings.lull, "record", "--sample", "500", "-o", plain, "--", python, program], check=True,
                       capture_output=True, env=launch.environment(), timeout=900)
        notes = [document(settings.lull, one, "function")["notes"] for one in (run, plain)]
        told = ["start Python, 3.12 or newer, with -X perf" in str(note) for note in notes]
        line = "heat.py:%d" % (PROGRAM[:PROGRAM.index("def hot")].count("\n") + 1)
        there = share_of(settings.lull, run, "line", line)
        # of a source that has gone, or has changed since, nobody knows the lines
        os.utime(program)
        changed = share_of(settings.lull, run, "line", line)
        os.remove(program)
        gone = share_of(settings.lull, run, "line", line)
        subprocess.run([settings.lull, "convert", "--to", "folded", run, out], check=True, capture_output=True)
        share = share_of(settings.lull, run, "function", "hot (heat.py)")
        total = innermost = whole = 0
        with open(out, encoding="utf-8") as file:
            for line in file:
                path, ns = line.rstrip("\n").rsplit(" ", 1)
                frames = path.split(";")
                total += int(ns)
                if "hot" in frames:
                    innermost += int(ns)
                    whole += int(ns) * is_in_order(frames)
    if told != [False, True]:
        print("how functions of Python are known is said with and without -X perf: %s" % told)
        return 1
    print("%s: of %.3f s %.3f in functions of the program, with all that called them %.3f; by function %.3f, by line %.3f" %
          (python, total / 1e9, innermost / 1e9, whole / 1e9, share, there))
    # nearly all of the second is spent there
    return 0 if innermost > 0.5 * total and whole > 0.5 * total and share > 0.5 and (there, changed, gone) == (share, 0, 0) else 1


sys.exit(main())
