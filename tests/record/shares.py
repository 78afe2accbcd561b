"""Samples fall into functions in proportion to the processor time that the program says it spent there, and as those
of perf do; sleeping has none. This measures: it runs alone, in check-all.

    shares.py --lull LULL --program SHARES
"""
import argparse
import bisect
import math
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import samples_of

SIGMAS, OFF = 4.5, 0.015  # OFF: a clock is read between functions, and the time of the kernel is not sampled


def symbols_of(program):
    """[(begin, end, name)] of its functions"""
    lines = subprocess.run(["nm", "-S", "--defined-only", program], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    fields = [line.split() for line in lines]
    return sorted((int(f[0], 16), int(f[0], 16) + int(f[1], 16), f[3]) for f in fields
                  if len(f) == 4 and f[2] in "tT")


def function_at(symbols, offset):
    at = bisect.bisect(symbols, (offset, float("inf"), "")) - 1
    return symbols[at][2] if at >= 0 and offset < symbols[at][1] else "?"


class Check:
    def __init__(self, settings):
        self.settings, self.wrong = settings, []
        self.symbols = symbols_of(settings.program)

    def close(self, what, got, expected, tolerance):
        print("%-50s %.4f, expected %.4f +- %.4f" % (what, got, expected, tolerance))
        if not abs(got - expected) <= tolerance:
            self.wrong.append(what)

    def shares(self, what, weights, truth, number):
        """Weights by function against the program's own times."""
        total, whole = sum(weights.values()), sum(truth.values())
        for name in truth:
            share = truth[name] / whole
            self.close("%s: %s" % (what, name), weights.get(name, 0) / total, share,
                       SIGMAS * math.sqrt(share * (1 - share) / number) + OFF)

    def one(self, folder, sample):
        run = os.path.join(folder, "run")
        done = subprocess.run([self.settings.lull, "record", "--force", "--sample", sample, "-o", run, "--",
                               self.settings.program, "2500"], capture_output=True, text=True, check=True,
                              env=launch.environment())
        truth = {}
        for line in done.stdout.splitlines():
            _, thread, name, ns = line.split()
            truth.setdefault(int(thread), {})[name] = int(ns)
        totals = {}
        objects = samples_of.objects(run)
        for header, samples, _ in samples_of.locations(run):
            weights, thread = {}, header["number"]
            for _, place, weight in samples:
                own = objects.get(place >> 40) == os.path.realpath(self.settings.program)
                name = function_at(self.symbols, place & (1 << 40) - 1) if own else "?"
                weights[name] = weights.get(name, 0) + weight
            totals[thread] = sum(weights.values())
            self.shares("%s, thread %d" % (sample, thread), weights, truth[thread], len(samples))
            # the interval in which the thread ended has no sample
            self.close("%s, thread %d: all" % (sample, thread), totals[thread] / sum(truth[thread].values()), 1,
                       0.1 + 1 / len(samples))
        self.close("%s: the second thread" % sample, totals[1] / totals[0], 0.1, 0.03)

    def perf(self, folder):
        if not shutil.which("perf"):
            print("skipped: perf was not found")
            return
        data = os.path.join(folder, "perf.data")
        done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "-o", data,
                               self.settings.program, "2500"], capture_output=True, text=True)
        if done.returncode != 0:
            print("skipped: perf: " + done.stderr.strip().splitlines()[-1])
            return
        truth, counts = {}, {}
        for line in done.stdout.splitlines():
            _, _, name, ns = line.split()
            truth[name] = truth.get(name, 0) + int(ns)
        for line in subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], capture_output=True,
                                   text=True).stdout.splitlines():
            name = line.split()[-1]
            counts[name] = counts.get(name, 0) + 1
        self.shares("perf", counts, truth, sum(counts.values()))


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    check = Check(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        for sample in ("1000:1MiB", "1000", "100", "timer:250"):
            check.one(folder, sample)
        check.perf(folder)
    for line in check.wrong:
        print("WRONG:", line)
    return 1 if check.wrong else 0


sys.exit(main())
