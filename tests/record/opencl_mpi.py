"""Records two ranks with a queue of OpenCL each (opencl_mpi.c), and compares what the run holds of each with what the
program says.

    opencl_mpi.py --lull LULL --listing LISTING --program OPENCL_MPI --mpirun MPIRUN FORM...
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
from devices import SKIPPED, Run, call, compare, read

RANKS = 2


def on_streams(lines):
    """(rank, region) -> [count, bytes] of what ran on the rank's streams"""
    found, region = collections.defaultdict(lambda: [0, 0]), None
    for line in lines:
        called = re.match(r"rank \d+ .*: call 0 (.*?) +x1$", line)
        ran = re.match(r"rank (\d+) .*: operation 0 \d+ bytes (\d+) ", line)
        if called:
            region = called[1]
        if ran:
            found[int(ran[1]), region][0] += 1
            found[int(ran[1]), region][1] += int(ran[2])
    return dict(found)


def said_by(output):
    words = [line.split() for line in output.splitlines() if line.startswith("rank ")]
    return {(int(w[1]), w[2].replace("@", " ")): [int(w[3]), int(w[4])] for w in words}


def check_run(settings, run, said, complaints, killed=False):
    seen = Run(settings, run)
    compare("operations", on_streams(seen.lines), said, complaints)
    compare("ranks that say something", len({rank for rank, _ in said}), RANKS, complaints)
    rows = seen.rows("streams")
    compare("streams", len(rows), RANKS, complaints)
    compare("one device, and how many streams", [row["streams"] for row in seen.rows("devices")], [RANKS], complaints)
    compare("not known", [row["lost"] for row in rows], [0] * RANKS, complaints)
    metrics = json.loads(read([settings.lull, "metrics", "--format", "json", run]))
    if not killed and "device" not in metrics["tables"]:
        complaints.append(f"no metrics of devices: {sorted(metrics['tables'])}")
    read([settings.lull, "report", run])


def command_of(settings, run, form, *more):
    recorder = [settings.lull, "record", "-o", run, "--"] if run else []
    return [settings.mpirun, "-n", str(RANKS), *recorder, settings.program, form, *more]


def test_form(settings, form, folder):
    complaints = []
    run = os.path.join(folder, "run")
    alone = call(command_of(settings, None, form), env=launch.environment())
    recorded = call(command_of(settings, run, form), env=launch.environment())
    compare("output", sorted(recorded.stdout.splitlines()), sorted(alone.stdout.splitlines()), complaints)
    compare("status", (recorded.returncode, alone.returncode), (0, 0), complaints)
    check_run(settings, run, said_by(recorded.stdout), complaints)
    return complaints


def test_killed(settings, form, folder):
    """All that lull has once found in the run is there after the kill."""
    complaints = []
    run, sign = os.path.join(folder, "run"), os.path.join(folder, "now")
    process = subprocess.Popen(command_of(settings, run, form, sign), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, env=launch.environment())
    output = ""
    while len(said_by(output)) < 2 * RANKS:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"the program ended too early, and had said: {output}")
        output += line
    said = said_by(output)
    while on_streams(subprocess.run([settings.listing, run], capture_output=True, text=True).stdout.splitlines()) != said:
        pass
    open(sign, "w").close()
    process.stdout.read()
    if process.wait() == 0:
        complaints.append("nobody was killed")
    check_run(settings, run, said, complaints, killed=True)
    return complaints


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing", "program", "mpirun"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    if call(command_of(settings, None, "plain"), env=launch.environment()).returncode == SKIPPED:
        print("skipped: there is no OpenCL device here (PoCL is one: pocl-opencl-icd)")
        return SKIPPED
    wrong = 0
    for form in settings.forms:
        with tempfile.TemporaryDirectory() as folder:
            complaints = (test_killed if form == "killed" else test_form)(settings, form, folder)
        print(f"{form}: {len(complaints)} complaints", *complaints, sep="\n    ")
        wrong += len(complaints)
    return 1 if wrong else 0


sys.exit(main())
