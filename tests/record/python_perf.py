"""Functions of Python in the stacks of samples: of an interpreter that writes down what it makes stubs for
(python -X perf, 3.12 and newer), which functions called each other is that of the program. Without such an
interpreter it is skipped by name.

    python_perf.py --lull LULL
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

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
NAMES = ("python3.14", "python3.13", "python3.12", "python3")


def interpreters():
    yield from NAMES
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")), reverse=True)


def writes_map(python):
    """Whether an interpreter can; it has to be told so at its start, and to be built for it."""
    try:
        done = subprocess.run([python, "-X", "perf", "-c", "import os, sys; print(sys.is_stack_trampoline_active(), os.getpid())"],
                              capture_output=True, text=True, timeout=600)
    except OSError:
        return False
    words = done.stdout.split()
    if len(words) == 2:
        remove_map(words[1])
    return done.returncode == 0 and words[:1] == ["True"]


def remove_map(pid):
    path = "/tmp/perf-%s.map" % pid
    if os.path.exists(path):
        os.remove(path)


def is_in_order(path):
    """Whether the expected functions stand in a path one behind the other, with others between them."""
    at = iter(path)
    return all(any(frame == name for frame in at) for name in EXPECTED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    settings = parser.parse_args()
    python = next(filter(writes_map, interpreters()), None)
    if not python:
        print("skipped: no Python 3.12 or newer that writes a map for perf")
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
        remove_map(done.stdout.split()[0])  # what was written there is in the run
        os.remove(program)
        subprocess.run([settings.lull, "convert", "--to", "folded", run, out], check=True, capture_output=True)
        told = json.loads(subprocess.run([settings.lull, "metrics", run, "--by", "function", "--format", "json"], check=True,
                                         capture_output=True, text=True).stdout)
        rows = next(table["rows"] for name, table in told["tables"].items() if name.startswith("functions:"))
        share = sum(row["values"][2] for row in rows if row["label"].startswith("hot") and "heat.py" in row["id"])
        total = innermost = whole = 0
        with open(out, encoding="utf-8") as file:
            for line in file:
                path, ns = line.rstrip("\n").rsplit(" ", 1)
                frames = path.split(";")
                total += int(ns)
                if "hot" in frames:
                    innermost += int(ns)
                    whole += int(ns) * is_in_order(frames)
    print("%s: of %.3f s %.3f in functions of the program, with all that called them %.3f; by function %.3f" %
          (python, total / 1e9, innermost / 1e9, whole / 1e9, share))
    # nearly all of the second is spent there
    return 0 if innermost > 0.5 * total and whole > 0.5 * total and share > 0.5 else 1


sys.exit(main())
