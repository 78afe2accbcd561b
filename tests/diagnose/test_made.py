#!/usr/bin/env python3
"""Causes that no pattern plants, in runs that made.py makes: the diagnosis names each first, with what
it costs, and keeps silent where it is not the cause.

usage: test_made.py --lull LULL
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import made

RANKS, ITERATIONS = 8, 160
# Eight iterations with less traffic, eight with more, and so on.
MIXED, QUIET = (lambda i: i // 8 % 2 == 1), (lambda i: False)
# Messages of other senders keep the NIC of who receives; or nothing is kept by anybody.
SHARED = "loggops:L=2us,o=1us,g=1us,G=1,S=1000"
UNSHARED = "hockney:latency=2us,bandwidth=1GB/s,eager=1MiB"
SATURATED = {1: 10, 2: 20, 4: 20}
ENOUGH = {1: 10, 2: 20, 4: 40}


def findings(lull, *words):
    text = subprocess.run([lull, "report", *words, "--threads", "1", "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)["findings"]


class Checks:
    def __init__(self):
        self.wrong = []

    def is_told(self, what, found, rule, seconds=None, first=True):
        rules = [finding["rule"] for finding in found]
        if rule not in rules or (first and rules[0] != rule):
            self.wrong.append("%s: %s instead of %s" % (what, ", ".join(rules) or "nothing", rule))
            return
        told = found[rules.index(rule)]["seconds"]
        if seconds is not None and abs(told - seconds) > 0.05 * seconds:
            self.wrong.append("%s: %g s instead of %g" % (what, told, seconds))

    def is_silent(self, what, found, *rules):
        told = [finding["rule"] for finding in found if finding["rule"] in rules or not rules]
        if told:
            self.wrong.append("%s: told %s" % (what, ", ".join(told)))


def check_tracer(lull, folder, checks):
    """Rank 2 of six in a row flushes for 8 ms, and all others wait as long, each once."""
    run = made.flushing(lull, folder, "flush", 2, 8)
    checks.is_told("tracer", findings(lull, run), "tracer", 6 * 8e-3)
    checks.is_silent("tracer", findings(lull, run), "late_sender", "idle_wave", "noise", "imbalance")
    run = made.flushing(lull, folder, "short", 2, 0.03)  # less than 1 % of the core time, with waits
    checks.is_silent("short flush", findings(lull, run))


def check_memory(lull, folder, checks):
    """Four cores get as much as two: each of four ranks takes twice as long for its quarter of the work.
    That is 20 x 10 ms more of each, and half of the instructions per cycle."""
    saturation = "saturation:ranks=4,cores=2"
    one, four = (made.counted(lull, folder, name, ranks, saturation) for name, ranks in (("one", 1), ("four", 4)))
    bare = made.counted(lull, folder, "bare", 4, saturation, instructions=False)
    saturated, enough = (made.machine(folder, name, curve)
                         for name, curve in (("saturated.json", SATURATED), ("enough.json", ENOUGH)))
    checks.is_told("memory", findings(lull, one, four, "--machine", saturated), "memory_bandwidth", 0.4, first=False)
    checks.is_silent("memory that is enough", findings(lull, one, four, "--machine", enough), "memory_bandwidth")
    checks.is_silent("no machine file", findings(lull, one, four), "memory_bandwidth")
    checks.is_silent("no counters", findings(lull, one, bare, "--machine", saturated), "memory_bandwidth")
    # Where each has a domain of its own they are as fast as one.
    alone = made.counted(lull, folder, "alone", 4, "saturation:ranks=1,cores=1")
    fast = made.counted(lull, folder, "fast", 1, "saturation:ranks=1,cores=1")
    checks.is_silent("as fast as one", findings(lull, fast, alone, "--machine", saturated), "memory_bandwidth")


def check_contention(lull, folder, checks):
    for name, crowded, network, told in (("crowded", MIXED, SHARED, "contention"), ("unshared", MIXED, UNSHARED, None),
                                         ("quiet", QUIET, SHARED, None)):
        program = made.schedule(os.path.join(folder, name + ".goal"), RANKS, ITERATIONS, crowded)
        run = os.path.join(folder, name)
        made.simulated(lull, run, program, "--network", network)
        if told:
            checks.is_told(name, findings(lull, run), told)
        else:
            checks.is_silent(name, findings(lull, run), "contention")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    options = parser.parse_args()
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="lull-made-") as folder:
        for check in (check_tracer, check_memory, check_contention):
            check(os.path.abspath(options.lull), folder, checks)
    print("\n".join(checks.wrong) or "as planted")
    return 1 if checks.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
