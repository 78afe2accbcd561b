"""Rows of lull bench against likwid-bench, on one core.

Both run by turns in one go: lull measures for a few seconds, then likwid-bench runs eight times
for about a millisecond per kernel, so that of its runs too a low quantile of the times can be taken
(10 %, as lull quotes). Compared are explicit bytes per second over the same working sets and flops
per second; a ratio above 1 means that lull's loop is faster. On a machine that others use both
suffer, and the ratios scatter."""
import json
import os
import re
import shutil
import statistics
import subprocess

ROUNDS = 3
RUNS = 8           # of likwid-bench per kernel, level and round
SECONDS = 1e-3     # of one of them

# lull's number, likwid's kernel by width, streams, target
KERNELS = [("load", {"avx512": "load_avx512", "avx2": "load_avx", "sse": "load_sse"}),
           ("copy", {"avx512": "copy_avx512", "avx2": "copy_avx", "sse": "copy_sse"}),
           ("triad", {"avx512": "triad_avx512_fma", "avx2": "triad_avx_fma", "sse": "triad_sse"})]
PEAKS = [("peak.dp.fma", {"avx512": "peakflops_avx512_fma", "avx2": "peakflops_avx_fma"}),
         ("peak.sp.fma", {"avx512": "peakflops_sp_avx512_fma", "avx2": "peakflops_sp_avx_fma"})]
TARGETS = {"L1": 0.03, "L2": 0.03, "L3": 0.08, "memory": 0.08}


def widest():
    with open("/proc/cpuinfo") as info:
        flags = set(re.search(r"^flags\s*:(.*)", info.read(), re.M).group(1).split())
    return "avx512" if "avx512f" in flags else "avx2" if {"avx2", "fma"} <= flags else "sse"


def likwid(kernel, size, iterations, key):
    """One run; None where likwid-bench cannot run the kernel."""
    environment = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1") # as lull asks for them
    done = subprocess.run(["likwid-bench", "-t", kernel, "-w", "S0:%dkB:1" % (size // 1000),
                           "-i", str(iterations)], capture_output=True, text=True,
                          env=environment)
    match = re.search(r"^%s/s:\s+([0-9.]+)" % key, done.stdout, re.M)
    return float(match.group(1)) * 1e6 if match else None


def sizes(machine):
    """The working sets that lull uses (src/bench/levels.c), for one core."""
    caches = machine.get("caches", [])
    found, below = {}, 0
    for cache in caches:
        size = cache["bytes"] // 2
        if below and cache.get("shared_cores", 1) > 1:
            size = min(size, 16 * below)
        found["L%d" % cache["level"]] = size
        below = cache["bytes"]
    found["memory"] = max(4 * below, 64 << 20)
    return found


def iterations_for(rate, bytes_or_flops):
    """Of a millisecond, but some passes in any case: the first ones find cold caches."""
    return max(8 if bytes_or_flops < 1 << 28 else 2, int(SECONDS * rate / bytes_or_flops))


def low_quantile(rates):
    """Of the times: the rate that one run in ten exceeds."""
    return sorted(rates)[int(0.9 * (len(rates) - 1))]


def measure(bench):
    """One visit of lull: numbers by name, and the machine file."""
    path = bench.path("machine.json")
    subprocess.run(bench.lull("bench", "--quick", "-o", path, "load", "copy", "triad",
                              "peak-dp-fma", "peak-sp-fma"), check=True, capture_output=True)
    with open(path) as file:
        return json.load(file)


def compare(kernel, size, key, ours, per_iteration):
    """likwid's rate."""
    runs = RUNS if size < 1 << 28 else 2
    rates = [likwid(kernel, size, iterations_for(ours, per_iteration), key) for _ in range(runs)]
    rates = [rate for rate in rates if rate]
    return low_quantile(rates) if rates else None


def one_round(bench, width, ratios):
    machine = measure(bench)
    numbers = machine["numbers"]
    working_sets = sizes(machine)
    for kernel, names in KERNELS:
        for level, size in working_sets.items():
            number = numbers.get("%s.%s.1" % (level, kernel))
            if not number or width not in names:
                continue
            ours = number["value"]
            theirs = compare(names[width], size, "MByte", ours, size)
            if theirs:
                ratios.setdefault((level, kernel), []).append((ours, theirs))
    for name, names in PEAKS:
        number = numbers.get("%s.%s.1" % (name, width))
        if number and width in names:
            size = working_sets["L1"]
            # its loop does 30 flops per double precision element, 60 bytes' worth
            theirs = compare(names[width], size, "MFlops", number["value"],
                             size / 8 * 30)
            if theirs:
                ratios.setdefault(("peak", name), []).append((number["value"], theirs))


def rows(bench):
    if not shutil.which("likwid-bench"):
        print("likwid-bench was not found (package likwid): lull bench is not compared")
        return
    if not bench.wanted("lull bench"):
        return
    width, ratios = widest(), {}
    for _ in range(ROUNDS):
        one_round(bench, width, ratios)
    for (level, kernel), pairs in ratios.items():
        each = [ours / theirs for ours, theirs in pairs]
        target = TARGETS.get(level, 0.03)
        bench.add("lull bench against likwid-bench: %s %s" % (level, kernel),
                  "%.3f (%.3f .. %.3f) x" % (statistics.median(each), min(each), max(each)),
                  ">= %.2f x" % (1 - target),
                  "%.1f against %.1f G/s" % (statistics.median(o for o, _ in pairs) / 1e9,
                                             statistics.median(t for _, t in pairs) / 1e9))
