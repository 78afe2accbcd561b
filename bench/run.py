#!/usr/bin/env python3
"""Side-by-side benchmarks: lull against its peers, in one run, as ratios.

Every row times two commands in turn (A B A B ...) and gives the ratio pair by pair, so that a
machine whose speed drifts does no harm. Quoted are the median and, in brackets, the smallest and
the largest. The table is printed and written to BUILD/bench/spine.txt.

usage: run.py BUILD [--events N] [--runs N] [--only WORD] [--keep]
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import columns
import devices
import diagnose
import fit
import inject
import kernel
import machine
import names
import pack
import page
import record_app
import record_cuda
import record_dense
import record_memory
import record_mpi
import record_omp
import record_ranks
import record_sample
import predicted
import program
import repeat
import report
import samples
import simulate
import sparse
import start
import team
import wave
import what_if


class Usage:
    """What one run of a command took."""

    def __init__(self, command):
        begin = time.monotonic()
        with open(os.devnull, "w") as nothing:
            child = subprocess.Popen(command, stdout=nothing, stderr=subprocess.PIPE)
            complaint = child.stderr.read()
            _, status, usage = os.wait4(child.pid, 0)
        self.wall = time.monotonic() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak_mib = usage.ru_maxrss / 1024
        if status != 0:
            sys.exit("%s: status %d: %s" % (" ".join(command), status, complaint.decode()))


def spread(values, form="%.2f"):
    return (form + " (" + form + " .. " + form + ")") % (
        statistics.median(values), min(values), max(values))


class Bench:
    def __init__(self, build, folder, runs, only):
        self.build, self.folder, self.runs, self.only = build, folder, runs, only
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def lull(self, *words):
        return [os.path.join(self.build, "lull")] + list(words)

    def metrics(self, run, threads=1, ideal=True):
        """As users call it, with the runtime on an ideal network, or without that."""
        return self.lull("metrics", "--threads", str(threads), self.path(run),
                         *([] if ideal else ["--no-replay"]))

    def pairs(self, a, b):
        Usage(a)
        if b:
            Usage(b)
        measured = []
        for _ in range(self.runs):
            measured.append(self.pair(a, b))
        return measured

    @staticmethod
    def pair(a, b):
        return Usage(a), Usage(b) if b else None

    def wanted(self, name):
        return not self.only or self.only in name

    def add(self, name, value, target, extra=""):
        self.rows.append((name, value, target, extra))
        print("%-52s %-28s %-14s %s" % self.rows[-1], flush=True)

    def rate(self, name, command, amount, unit, target):
        """Amount per second of processor time of a command with one thread."""
        if not self.wanted(name):
            return
        taken = [a for a, _ in self.pairs(command, None)]
        self.add(name, spread([amount / a.cpu for a in taken], "%.0f") + " " + unit, target,
                 "peak %.0f MiB" % max(a.peak_mib for a in taken))

    def compare(self, name, a, b, target, what, form):
        """`form` of the times of `a` and `b`: processor time of one thread, else wall time."""
        if not self.wanted(name):
            return
        taken = [(getattr(x, what), getattr(y, what)) for x, y in self.pairs(a, b)]
        self.add(name, spread([form(x, y) for x, y in taken]) + " x", target,
                 "%.2f s against %.2f s" % (statistics.median(x for x, _ in taken),
                                            statistics.median(y for _, y in taken)))

    def ratio(self, name, a, b, target):
        """How many times faster `a` is than `b`, both with one thread."""
        self.compare(name, a, b, target, "cpu", lambda x, y: y / x)

    def times(self, name, a, b, target):
        """How many times as long as `b` `a` takes, both with one thread."""
        self.compare(name, a, b, target, "cpu", lambda x, y: x / y)

    def two_threads(self, name, run):
        """How many times faster two threads are than one, with the ideal runtime and without."""
        for ideal, how in ((True, ""), (False, ", without the ideal runtime")):
            self.compare(name + ": two threads against one" + how,
                         self.metrics(run, 2, ideal), self.metrics(run, 1, ideal), ">= 1.7 x",
                         "wall", lambda x, y: y / x)

    def both_ways(self, name, run, amount, unit, targets):
        """Rates with the ideal runtime and without, and what it costs."""
        with_it, without = self.metrics(run), self.metrics(run, ideal=False)
        self.rate(name + ": metrics, one thread", with_it, amount, unit, targets[0])
        self.rate(name + ": the same without the ideal runtime", without, amount, unit,
                  targets[1])
        self.times(name + ": with the ideal runtime against without", with_it, without,
                   "<= 1.5 x")


def prepare(bench, events):
    """The same synthetic run in every format; returns events as `lull info` counts them."""
    generate = os.path.join(bench.build, "bench", "bench_generate")

    def make(kind, name, count, locations=("8", "2")):
        out = subprocess.run([generate, kind, bench.path(name), str(count), *locations],
                             check=True, capture_output=True, text=True).stdout
        return int(out.split()[0])

    counts = {"tape": make("tape", "run", events)}
    have_otf2 = os.path.exists(os.path.join(bench.build, "bench", "bench_bare_otf2"))
    if have_otf2:
        make("otf2", "run_otf2", events)
    make("tape", "small", events // 8)
    subprocess.run(bench.lull("convert", bench.path("small"), bench.path("run.prv"), "--to",
                              "paraver"), check=True, stderr=subprocess.DEVNULL)
    with open(bench.path("run.prv.gz"), "wb") as out:
        subprocess.run(["gzip", "-c", bench.path("run.prv")], check=True, stdout=out)
    for suffix in (".pcf", ".row"):
        if os.path.exists(bench.path("run" + suffix)):
            shutil.copy(bench.path("run" + suffix), bench.path("run.prv" + suffix))
    counts["prv MB"] = os.path.getsize(bench.path("run.prv")) / 1e6
    return counts, have_otf2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--events", type=int, default=50000000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true", help="keep the generated runs")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bench-", dir=arguments.build)
    bench = Bench(arguments.build, folder, arguments.runs, arguments.only)
    try:
        for part in (machine, repeat, record_mpi, record_omp, record_ranks, record_dense, record_app,
                     record_sample, record_memory, record_cuda, inject,
                     simulate, wave, what_if, fit, program, predicted, kernel, sparse, page, report,
                     diagnose, pack, columns, start, team, samples, names, devices):
            part.rows(bench)
        if arguments.only.startswith(("lull bench", "repeat", "MPI", "OpenMP", "ranks", "dense", "heat", "sample", "memory", "CUDA",
                                     "inject", "simulate", "wave", "what if", "fit", "program",
                                     "predicted", "kernel", "sparse", "page", "report",
                                     "diagnose", "pack", "columns", "start", "team", "samples", "names", "devices")):
            return
        counts, have_otf2 = prepare(bench, arguments.events)
        print("%d events in 16 locations (8 processes x 2 threads); median (min .. max) of %d"
              % (counts["tape"], arguments.runs))
        bench.both_ways("tape", "run", counts["tape"] / 1e6, "M events/s", (">= 70", ">= 100"))
        bench.two_threads("tape", "run")
        if have_otf2:
            archive = "run_otf2/traces.otf2"
            anchor = bench.path(archive)
            bare = [os.path.join(bench.build, "bench", "bench_bare_otf2"), anchor]
            bench.ratio("OTF2: metrics against a bare libotf2 loop", bench.metrics(archive), bare,
                        ">= 0.8 x")
            if shutil.which("otf2-print"):
                bench.ratio("OTF2: metrics against otf2-print --silent", bench.metrics(archive),
                            ["otf2-print", "--silent", anchor], ">= 4 x")
            bench.both_ways("OTF2", archive, counts["tape"] / 1e6, "M events/s", ("", ""))
            bench.two_threads("OTF2", archive)
        bench.both_ways("Paraver .prv", "run.prv", counts["prv MB"], "MB/s", (">= 350", ">= 500"))
        bench.two_threads("Paraver .prv", "run.prv")
        bench.two_threads("Paraver .prv.gz", "run.prv.gz")
        bench.ratio("Paraver .prv.gz: metrics against gzip -dc", bench.metrics("run.prv.gz"),
                    ["gzip", "-dc", bench.path("run.prv.gz")], ">= 1 x")
        bench.ratio("Paraver .prv.gz: the same without the ideal runtime",
                    bench.metrics("run.prv.gz", ideal=False),
                    ["gzip", "-dc", bench.path("run.prv.gz")], ">= 1 x")
        os.makedirs(os.path.join(arguments.build, "bench"), exist_ok=True)
        with open(os.path.join(arguments.build, "bench", "spine.txt"), "w") as table:
            for row in bench.rows:
                table.write(("%-52s %-28s %-14s %s" % row).rstrip() + "\n")
    finally:
        if not arguments.keep:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
