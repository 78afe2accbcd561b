#!/usr/bin/env python3
"""What `lull replay --inject` adds to a run is what `lull simulate` adds to the same pattern.

usage: inject_replay.py LULL

A pattern is simulated without noise and written as a trace; replayed with noise or delays, it takes to
the nanosecond as long as the pattern simulated with them, because the n-th computation of a rank has the
n-th amount in both. A trace that is replayed has whole ns, so that nothing is rounded in between."""
import json
import os
import subprocess
import sys
import tempfile

NETWORK = "hockney:latency=3us,bandwidth=1GB/s,eager=inf"
PATTERNS = ("chain:ranks=6,exec=1ms,iterations=30",
            "chain:ranks=5,exec=500us,iterations=20,distances=1+2,wait=each",
            "grid:ranks=2x3,exec=400us,iterations=15,boundary=periodic")
# Detours hit a computation where it begins, and `per` counts its length: both are the same only where
# nothing was added before. So they are tried on one iteration.
ANY = ([], ["2@i7:5ms"], ["exponential:mean=50us"],
       ["gamma:mean=80us,shape=4,ranks=0-3", "1@i3:2ms", "4@i3:700us", "1@i12:1ms"],
       ["bernoulli:mean=100us,p=0.2"], ["normal:mean=50us,sd=20us", "0@i0:1ms"])
FIRST = (["periodic:period=300us,duration=20us"], ["exponential:mean=50us,per=1ms"], ["3@0ms:2ms"])


def run(lull, *arguments):
    done = subprocess.run([lull, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(arguments), done.stderr))
    return json.loads(done.stdout)


def simulated(lull, pattern, specs, seed, *more):
    words = []
    for spec in specs:
        words += ["--delay" if "@" in spec else "--noise", spec]
    return run(lull, "simulate", "--pattern", pattern, "--network", NETWORK, "--seed", seed, *words,
               "--format", "json", *more)


def replayed(lull, trace, specs, seed):
    words = ["--seed", seed] if specs else []
    for spec in specs:
        words += ["--inject", spec]
    found = run(lull, "replay", trace, "--network", NETWORK, "--format", "json", *words)
    table = found["tables"]["replay"]
    column = [c["id"] for c in table["columns"]].index("what if")
    return next(row for row in table["rows"] if row["id"] == "runtime")["values"][column]


def check(lull, folder, pattern, lists):
    trace = os.path.join(folder, "run%d" % len(os.listdir(folder)))
    simulated(lull, pattern, [], "1", "-o", trace)
    wrong = 0
    for specs in lists:
        for seed in ("1", "77"):
            expected = max(simulated(lull, pattern, specs, seed)["rank_end_ns"]) * 1e-9
            got = replayed(lull, trace, specs, seed)
            if abs(got - expected) > 1e-9:
                print("%s, %s, seed %s: %.9f s, simulated %.9f s" %
                      (pattern, specs, seed, got, expected))
                wrong += 1
    return wrong


def main():
    lull = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(check(lull, folder, pattern, ANY) for pattern in PATTERNS)
        wrong += check(lull, folder, "chain:ranks=4,exec=1ms,iterations=1", FIRST)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
