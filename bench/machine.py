"""Rows of lull bench against likwid-bench, on one core.

bench_likwid lets a loop of each take turns inside likwid-bench, on one thread, over the same arrays:
hundreds of turns per start, some 50 us long in caches, one pass where that takes longer. Of either
side's times the quantile is taken that lull bench quotes. Every start gives a ratio of rates, of
flops or of explicit bytes; above 1 lull's loop is faster. The median, and in brackets the smallest
and the largest ratio, are over starts, which are spread over the whole comparison.

likwid-bench hands 38 arguments to its loop at every pass, which takes a few ns. In a first-level
cache that shows, so there the difference of the times of a pass is told too."""
import os
import re
import shutil
import statistics
import subprocess

STARTS = 5
NO_SUCH_LEVEL = 2   # status of bench_likwid

# lull's kernel, and likwid's by width
STREAMS = {"load": {"avx512": "load_avx512", "avx2": "load_avx", "sse": "load_sse"},
           "copy": {"avx512": "copy_avx512", "avx2": "copy_avx", "sse": "copy_sse"},
           "triad": {"avx512": "triad_avx512_fma", "avx2": "triad_avx_fma", "sse": "triad_sse"}}
PEAKS = {"peak-dp-fma": {"avx512": "peakflops_avx512_fma", "avx2": "peakflops_avx_fma"},
         "peak-sp-fma": {"avx512": "peakflops_sp_avx512_fma", "avx2": "peakflops_sp_avx_fma"}}
TARGETS = {"L1": 0.03, "L2": 0.03, "L3": 0.08, "memory": 0.08, "peak": 0.03}


def widest():
    with open("/proc/cpuinfo") as info:
        found = re.search(r"^flags\s*:(.*)", info.read(), re.M)
    flags = set(found.group(1).split()) if found else set()
    return "avx512" if "avx512f" in flags else "avx2" if {"avx2", "fma"} <= flags else "sse"


class Match:
    """One start: the rates of both sides, and how much longer a pass of theirs takes."""

    def __init__(self, size, ours, theirs):
        self.ours, self.theirs = float(ours), float(theirs)
        self.later = float(size) / self.theirs - float(size) / self.ours


class Row:
    def __init__(self, level, kernel, theirs):
        self.level, self.kernel, self.theirs = level, kernel, theirs
        self.name = "lull bench against likwid-bench: %s" % (
            kernel if level == "peak" else level + " " + kernel)
        self.matches = []

    def play(self, program, width):
        level = "L1" if self.level == "peak" else self.level
        done = subprocess.run([program, level, self.kernel, width, self.theirs],
                              capture_output=True, text=True)
        found = re.search(r"^turns \d+ bytes (\d+) ours (\S+) .* theirs (\S+) ", done.stdout, re.M)
        if found:
            self.matches.append(Match(*found.groups()))
        elif done.returncode != NO_SUCH_LEVEL:
            print("%s: %s" % (self.name, done.stderr.strip() or "status %d" % done.returncode))

    def median(self, name):
        return statistics.median(getattr(match, name) for match in self.matches)

    def add_to(self, bench):
        if not self.matches:
            return
        each = [match.ours / match.theirs for match in self.matches]
        told = "%.1f against %.1f G/s" % (self.median("ours") / 1e9, self.median("theirs") / 1e9)
        if self.level == "L1":
            told += ", %+.1f ns a pass" % (self.median("later") * 1e9)
        bench.add(self.name,
                  "%.3f (%.3f .. %.3f) x" % (statistics.median(each), min(each), max(each)),
                  "%.2f .. %.2f x" % (1 - TARGETS[self.level], 1 + TARGETS[self.level]), told)


def rows(bench):
    if not bench.wanted("lull bench"):
        return
    if not shutil.which("likwid-bench"):
        print("likwid-bench was not found (package likwid): lull bench is not compared")
        return
    program = os.path.join(bench.build, "bench", "bench_likwid")
    if not os.path.exists(program):
        print("lull was built without hwloc: lull bench is not compared")
        return
    width = widest()
    table = [Row(level, kernel, theirs[width]) for level in ("L1", "L2", "L3", "memory")
             for kernel, theirs in STREAMS.items()]
    table += [Row("peak", kernel, theirs[width]) for kernel, theirs in PEAKS.items()
              if width in theirs]
    for _ in range(STARTS):
        for row in table:
            row.play(program, width)
    for row in table:
        row.add_to(bench)
