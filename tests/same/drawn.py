#!/usr/bin/env python3
"""Whether two builds of lull find the same metrics in drawn runs, with any number of threads and members.

usage: drawn.py OLD NEW FOLDER COUNT SEED [--results] [DRAW_RUNS]

COUNT runs are drawn into FOLDER, one after the other. NEW simulates them: patterns, networks and noise are drawn, and
messages and collective operations belong together. With DRAW_RUNS every other run is one of tests/same/draw_runs.c, which
is valid thread by thread, but not together.

`metrics -f json --raw` of OLD with one thread is compared to the byte with that of NEW with 1, 2 and 3 threads, and by a
team of 2 or 3 members. Only the version of lull may differ, which the output names. With --results only the profile of each
run is compared, which has all integers that tables are made of, without the check of the ideal runtime by a replay; NEW may
tell more in it. That is for an OLD from before words, tables or the check were changed.

Prints the first difference of each run, which stays in FOLDER, and how many outputs were compared; exits with 1 if any
differs.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

OPERATIONS = ("allreduce", "barrier", "bcast", "reduce", "allgather", "alltoall", "scan", "gather", "scatter",
              "reduce_scatter")


OF_CHECK = ("replayed_runtime_ns", "replayed_error_ns")


def drawn_pattern(drawn):
    ranks = drawn.randint(2, 9)
    exec_times = "+".join("%dus" % drawn.choice((1, 5, 20, 100, 400)) for _ in range(drawn.randint(1, 3)))
    size = drawn.choice((0, 8, 1000, 4096, 65536, 1000000))
    repeated = "exec=%s,iterations=%d" % (exec_times, drawn.randint(1, 40))
    if drawn.random() < 0.25:
        return "collective:op=%s,ranks=%d,bytes=%d,%s" % (drawn.choice(OPERATIONS), ranks, size, repeated)
    also = ",collective=%s,every=%d" % (drawn.choice(OPERATIONS), drawn.randint(1, 4)) if drawn.random() < 0.7 else ""
    shape = ",boundary=%s,direction=%s,wait=%s" % (drawn.choice(("open", "periodic")),
                                                   drawn.choice(("both", "up", "down")),
                                                   drawn.choice(("all", "direction", "distance", "each")))
    if drawn.random() < 0.3:
        return "grid:ranks=%dx%d,bytes=%d,%s%s" % (drawn.randint(2, 3), drawn.randint(2, 3), size, repeated, also)
    return "chain:ranks=%d,bytes=%d,%s%s%s" % (ranks, size, repeated, shape, also)


def simulate(lull, path, seed):
    drawn = random.Random(seed)
    noise = ["--noise", "exponential:mean=%dus" % drawn.choice((1, 10, 50))] if drawn.random() < 0.7 else []
    command = [lull, "simulate", "-p", drawn_pattern(drawn), "-n",
               drawn.choice(("ideal", "hockney", "loggops", "dimemas")), "--seed", str(seed), "-o", path] + noise
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stderr))


def start(lull, path, threads, members=0, seed=0):
    environment = dict(os.environ)
    if members:
        environment["LULL_TEAM_CHAOS"] = "%d:%d" % (members, seed)
    return subprocess.Popen([lull, "metrics", path, "-f", "json", "--raw", "--threads", str(threads)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def output_of(child):
    out, err = child.communicate()
    idle = r"lull metrics: warning: .* of lull have nothing to do\n"  # said by teams that are larger than the run
    out = re.sub(r'"lull": "[^"]*"', '"lull": ""', out)
    return out + re.sub(idle, "", err) + "status %d\n" % child.returncode


def results_of(output):
    """What was found of each run; or the line that says why there is nothing."""
    try:
        return json.loads(output[:output.rindex("}") + 1])["runs"]
    except ValueError:
        return output


def is_told(old, new):
    """Whether NEW tells all that OLD does."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and is_told(old[key], new[key]) for key in old if key not in OF_CHECK)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_told, old, new))
    return old == new


def is_same(old, new, results):
    return old == new or (results and is_told(results_of(old), results_of(new)))


def compare(old, new, path, seed, results):
    """How many outputs were compared, and how many of them were refusals; prints those that differ."""
    ways = [(1, 0), (2, 0), (3, 0), (1 + seed % 2, 2 + seed % 2)]
    children = [start(old, path, 1)] + [start(new, path, threads, members, seed) for threads, members in ways]
    outputs = [output_of(child) for child in children]
    same = True
    for (threads, members), output in zip(ways, outputs[1:]):
        if same and not is_same(outputs[0], output, results):
            print("differs (seed %d, %d threads, %d members):" % (seed, threads, members))
            same = False
            for before, after in zip(outputs[0].splitlines(), output.splitlines()):
                if before != after:
                    print("  %s\n  %s" % (before[:150], after[:150]))
                    break
    return len(ways), same, not outputs[0].endswith("status 0\n")


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    old, new, folder, count, seed = sys.argv[1:4] + [int(sys.argv[4]), int(sys.argv[5])]
    results = "--results" in sys.argv[6:]
    drawer = ([word for word in sys.argv[6:] if word != "--results"] or [None])[0]
    compared = differing = refused = 0
    for i in range(count):
        path = os.path.join(folder, "0.lull")
        if drawer and i % 2:
            subprocess.run([drawer, folder, "1", str(seed + i)], check=True)
        else:
            simulate(new, path, seed + i)
        ways, same, refusal = compare(old, new, path, seed + i, results)
        compared += ways
        differing += not same
        refused += refusal
        if same:
            shutil.rmtree(path)
        else:
            os.rename(path, os.path.join(folder, "differs-%d.lull" % (seed + i)))
    print("%d runs, %d outputs compared, %d runs differ; %d refused" % (count, compared, differing, refused))
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
