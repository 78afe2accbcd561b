"""Records a program with target regions of OpenMP (omp_target.c) that a clang offloads to the host, and compares what the
run holds with what the program says.

    omp_target.py --lull LULL --listing LISTING

Skipped where no clang from 17 on with libomptarget is found. LULL_OFFLOAD_CLANG names another one, with its options.
"""
import argparse
import collections
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch
from devices import SKIPPED, Run, call, check_said, check_whole, compare, read, said_by

# The first of which a name begins so is the construct.
CONSTRUCTS = ["!$omp target " + name for name in ("update", "enter data", "exit data", "launch", "copy", "allocate",
                                                   "delete", "kernel")] + ["!$omp target"]
OFFLOAD = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]


def compile_with(compiler, program):
    command = [*compiler, "-O1", "-g", *OFFLOAD, os.path.join(HERE, "omp_target.c"), "-o", program]
    return shutil.which(compiler[0]) and call(command).returncode == 0


def check_old(settings, folder, complaints):
    """A runtime that tells nothing of target regions: one line says so, and the program is unharmed."""
    program, run = os.path.join(folder, "old"), os.path.join(folder, "old-run")
    if not any(compile_with(["clang-%d" % version], program) for version in (16, 15, 14)):
        return
    environment = launch.environment()
    environment.pop("LD_LIBRARY_PATH", None)  # which may name the runtime of LULL_OFFLOAD_CLANG
    alone = call([program], env=environment)
    recorded = call([settings.lull, "record", "-o", run, "--", program], env=environment)
    said = [line for line in recorded.stderr.splitlines() if "does not tell of target regions" in line]
    compare("output of an old runtime", (recorded.stdout, recorded.returncode), (alone.stdout, alone.returncode),
            complaints)
    compare("said of an old runtime", len(said), 1, complaints)


def environment_of(compiler):
    """The runtime of target regions opens that of OpenMP once more, by the name libomp.so: the loader must find it."""
    library = call([*compiler, "-print-file-name=libomptarget.so"]).stdout.strip()
    named = [word[2:] for word in compiler if word.startswith("-L")]
    folders = [*named, os.path.dirname(library), os.environ.get("LD_LIBRARY_PATH", "")]
    return launch.environment(LD_LIBRARY_PATH=":".join(filter(None, folders)))


def find_program(folder):
    """A program that runs, its environment, and what it does alone."""
    program = os.path.join(folder, "omp_target")
    named = os.environ.get("LULL_OFFLOAD_CLANG", "").split()
    for compiler in [named] if named else [["clang-%d" % version] for version in range(22, 16, -1)]:
        if compile_with(compiler, program):
            environment = environment_of(compiler)
            alone = call([program], env=environment)
            if alone.returncode == 0:
                return program, environment, alone
    return None, None, None


def count_enters(run):
    """construct -> how often it was entered; behind its name stands its place"""
    counts = collections.Counter()
    for match in run.matches(r": enter 0 (!\$omp target.*)$"):
        counts[next(name for name in CONSTRUCTS if match[1].startswith(name))] += 1
    return counts


def without_warnings(output):
    return [line for line in output.splitlines() if not line.startswith("lull record: ")]


def check(settings, program, environment, alone, folder):
    complaints = []
    run = os.path.join(folder, "run")
    recorded = call([settings.lull, "record", "-o", run, "--", program], env=environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("said by the program", without_warnings(recorded.stderr), alone.stderr.splitlines(), complaints)
    seen, said = Run(settings, run), said_by(recorded.stdout)
    check_said(seen, said, complaints)
    check_whole(seen, complaints)
    words = [line.split() for line in recorded.stdout.splitlines()]
    enters = {line[1].replace("@", " "): int(line[2]) for line in words if line[0] == "enters"}
    compare("constructs", {name: count for name, count in count_enters(seen).items() if name in enters}, enters,
            complaints)
    slept = next(int(line[1]) for line in words if line[0] == "slept")
    longest = max(end - begin for begin, end in seen.times().values())
    if longest < slept:
        complaints.append(f"the longest operation took {longest} ns, and slept {slept} ns")
    device = seen.rows("devices")[0]
    compare("device", (device["label"], device["runtime"]), ("device 0 generic-64bit", "OpenMP"), complaints)
    read([settings.lull, "metrics", run])
    read([settings.lull, "report", run])
    off = os.path.join(folder, "off")
    call([settings.lull, "record", "--device", "off", "-o", off, "--", program], env=environment)
    compare("streams with --device off", Run(settings, off).rows("streams"), [], complaints)
    return complaints


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        check_old(settings, folder, complaints)
        program, environment, alone = find_program(folder)
        if program:
            complaints += check(settings, program, environment, alone, folder)
    if not program and not complaints:
        print("skipped: no clang from 17 on that offloads OpenMP to the host (clang-19, clang-tools-19, libomp-19-dev)")
        return SKIPPED
    print(f"{len(complaints)} complaints", *complaints, sep="\n    ")
    return 1 if complaints else 0


sys.exit(main())
