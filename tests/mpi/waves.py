#!/usr/bin/env python3
"""Real programs with an injected delay: lull wave finds the wave where it was put, and the speed that
follows from the messages lies within the interval of the speed that it measures; without a delay
it finds none. Eager and rendezvous, with distances of one and two ranks.

usage: waves.py --family openmpi|mpich --recorder FILE --lull FILE PROGRAM.c

Each kind of run is made once, or as often as the environment variable LULL_TEST_WAVE_RUNS says; one
run in ten may miss. Exit status 77: not possible here.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

RANKS, RANK, ITERATION = 8, 3, 10
# Ranks sleep instead of computing, so that eight of them do not compete for fewer cores; the delay
# is longer than what a busy machine keeps a rank waiting, and shorter delays are no waves.
DELAY, LEAST = 2.0, "1s"
PATTERN = "chain:exec=20ms,iterations=25,bytes=%s,distances=%s"
PROTOCOLS = {"eager": "1KiB", "rendezvous": "1MiB"}
DISTANCES = {"1": 1, "1+2": 2}


def execute(command, environment, folder):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder,
                          timeout=600, check=False)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def waves_of(options, program, pattern, delay, folder):
    """`delay`: "--delay", "--stall" (within MPI_Waitall), or none."""
    where = os.path.join(folder, "run")
    shutil.rmtree(where, ignore_errors=True)
    command = ["mpiexec." + options.family, "-n", str(RANKS), "env", "LULL_RECORD_DIR=" + where,
               *launch.preload(options.recorder), program, "--work", "sleep", "--pattern", pattern]
    if delay:
        command += [delay, "%d@i%d:%dms" % (RANK, ITERATION, DELAY * 1000)]
    execute(command, launch.environment(), folder)
    return json.loads(execute([options.lull, "wave", where, "--least", LEAST, "--format", "json"],
                              launch.environment(), folder))


def wrong_with(found, speed):
    """What is not as it was put into the run; '' if nothing is."""
    if len(found["waves"]) != 1:
        return "%d waves" % len(found["waves"])
    wave = found["waves"][0]
    if (wave["origin"]["rank"], wave["origin"]["iteration"]) != (RANK, ITERATION):
        return "origin %s" % wave["origin"]
    if not 0.9 * DELAY < wave["cost_s"] < 1.5 * DELAY:
        return "cost %s s" % wave["cost_s"]
    for way in ("up", "down"):
        kappa, value = found["predicted"]["kappa_" + way], wave[way]["ranks_per_iteration"]
        if kappa != speed:
            return "kappa %s is %g" % (way, kappa)
        if not value:
            return "%s: no wave" % way
        if not value["low"] <= kappa <= (value["high"] or RANKS):
            return "%s %s" % (way, value)
    return ""


def check_stall(options, program, folder):
    """A rank that is late within MPI: its wave begins there, and goes on like any other."""
    found = waves_of(options, program, PATTERN % ("1KiB", "1"), "--stall", folder)
    wave = found["waves"][0] if len(found["waves"]) == 1 else sys.exit("stall: %s" % found["waves"])
    origin, length = wave["origin"], wave["length_s"]
    if (origin["rank"], origin["iteration"], origin["where"]) != (RANK, ITERATION, "call"):
        sys.exit("stall: origin %s" % origin)
    if not 0.9 * DELAY < length < 1.5 * DELAY or wave["ranks_reached"] != RANKS - 1:
        sys.exit("stall: %s" % wave)
    print("a stall within MPI: found, %g s long" % length)


def write_matrix(path):
    """A symmetric matrix whose blocks of rows, one per rank, are coupled like an irregular graph."""
    coupled = [(1, 0), (2, 1), (5, 2), (5, 3), (4, 3), (7, 4), (7, 6), (4, 1)]
    entries = [(i, i) for i in range(1, 101 * RANKS - RANKS + 1)]
    entries += [(100 * a + 7 * k + 1, 100 * b + 11 * k % 97 + 1)
                for a, b in coupled for k in range(13)]
    with open(path, "w") as out:
        out.write("%%MatrixMarket matrix coordinate pattern symmetric\n")
        out.write("%d %d %d\n" % (100 * RANKS, 100 * RANKS, len(entries)))
        out.writelines("%d %d\n" % entry for entry in entries)


def check_solvers(options, program, folder):
    """The neighbours of a 3-D grid and of an irregular matrix: one message further an iteration."""
    matrix = os.path.join(folder, "matrix.mtx")
    write_matrix(matrix)
    for pattern in ("jacobi:size=16,exec=20ms,iterations=25",
                    "spmv:size=6,exec=20ms,iterations=25",
                    "spmv:file=%s,exec=20ms,iterations=25" % matrix):
        found = waves_of(options, program, pattern, "--delay", folder)
        wave = found["waves"][0] if found["waves"] else sys.exit("%s: no wave" % pattern)
        speed, origin = wave["messages_per_iteration"], wave["origin"]
        if (origin["rank"], origin["iteration"], wave["ranks_reached"]) != (RANK, ITERATION,
                                                                            RANKS - 1):
            sys.exit("%s: %s" % (pattern, wave))
        if not speed["low"] <= 1 <= (speed["high"] or RANKS):
            sys.exit("%s: %s messages per iteration" % (pattern, speed))
        print("%s: found, %g messages per iteration" % (pattern.split(",")[0], speed["value"]))


def main():
    parser = argparse.ArgumentParser()
    for name in ("family", "recorder", "lull"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    if not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    runs = int(os.environ.get("LULL_TEST_WAVE_RUNS", "1"))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "wave")
        execute(["mpicc." + options.family, "-O2", options.program, "-lm", "-o", program,
                 *launch.PATIENT],
                launch.environment(), folder)
        for protocol, size in PROTOCOLS.items():
            for distances, speed in DISTANCES.items():
                missed = []
                for _ in range(runs):
                    wrong = wrong_with(
                        waves_of(options, program, PATTERN % (size, distances),
                                 "--delay", folder),
                        speed)
                    missed += [wrong] if wrong else []
                print("%s, distances %s: %d of %d runs as expected %s" %
                      (protocol, distances, runs - len(missed), runs, missed or ""))
                if 10 * len(missed) > runs:
                    sys.exit("\n".join(missed))
        check_stall(options, program, folder)
        check_solvers(options, program, folder)
        for _ in range(runs):
            found = waves_of(options, program, PATTERN % ("1KiB", "1"), None, folder)
            if found["waves"]:
                sys.exit("a wave without a delay: %s" % found["waves"])
        print("no delay: no wave in %d of %d runs" % (runs, runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
