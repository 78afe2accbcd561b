"""Rows of lull model kernel: how long a prediction takes, and how far predictions for this machine,
with a machine file measured just now, are from kernels that are run on it. In each round a machine
file is measured, and then all kernels once that are predicted with it; a row is the median of the
rounds' errors with the smallest and the largest of them. Every error is printed, good or bad:
(predicted - measured) / measured time on one core, and the median of their sizes."""
import json
import os
import statistics
import subprocess

BENCHMARKS = ("clock", "peak-dp-fma", "load", "store", "copy", "update", "daxpy", "triad", "dot",
              "beside", "crossing")
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "kernels")
# arrays, and the names of their extents from the outermost on
KERNELS = {"copy": (2, "N"), "daxpy": (2, "N"), "triad": (4, "N"), "dot": (2, "N"),
           "jacobi2d": (2, "MN"), "jacobi3d": (2, "LMN")}


def working_sets(machine):
    """Bytes that lie in each level, as lull bench chooses them."""
    caches = [cache["bytes"] for cache in machine.get("caches", [])]
    if not caches:
        return {}
    sets = {"L%d" % (i + 1): size // 2 for i, size in enumerate(caches)}
    if len(caches) > 2:
        sets["L3"] = min(caches[2] // 2, 4 * caches[1])
    sets["memory"] = 4 * caches[-1]
    return sets


def sizes_for(kernel, size):
    """Rows eight times as long as there are rows in each other direction, of an odd number of cache
    lines: neither so short that their ends count for more than the loop, nor a power of two."""
    arrays, extents = KERNELS[kernel]
    elements = size / 8 / arrays
    if len(extents) == 1:
        return ["-D", "N=%d" % elements]
    others = len(extents) - 1
    row = int(8 * (elements / 8) ** (1 / len(extents))) // 16 * 16 + 8
    each = int((elements / row) ** (1 / others))
    return [word for extent in extents
            for word in ("-D", "%s=%d" % (extent, row if extent == "N" else each))]


def example(kernel):
    return os.path.join(EXAMPLES, kernel + ".c")


def run_one(bench, machine, kernel, size):
    done = subprocess.run(bench.lull("model", "kernel", example(kernel), *sizes_for(kernel, size),
                                     "--machine", machine, "--run", "--no-simulation", "--format",
                                     "json"), capture_output=True, text=True)
    if done.returncode != 0:
        print("kernel: %s: %s" % (kernel, done.stderr.strip()))
        return None
    rows = {row["id"]: row["values"]
            for row in json.loads(done.stdout)["tables"]["measured"]["rows"]}
    return rows["seconds"][4], rows.get("cycles"), "warning" in done.stderr


def measure_round(bench, path, told):
    """A machine file, and at once the kernels, those with the farthest data first: what other
    programs and guests do to the memory changes within a minute, what a core's own caches take does
    not. Appends (error, cycles, disturbed) to told[kernel, level]."""
    subprocess.run(bench.lull("bench", *BENCHMARKS, "--quick", "-o", path), check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path) as file:
        sets = working_sets(json.load(file))
    for level, size in reversed(sets.items()):
        for kernel in KERNELS:
            got = run_one(bench, path, kernel, size)
            if got:
                told.setdefault((kernel, level), []).append(got)


def self_check(bench):
    name = "kernel: prediction against measurement"
    if not bench.wanted(name):
        return
    told, errors = {}, []
    for number in range(bench.runs):
        measure_round(bench, bench.path("machine-%d.json" % number), told)
    for (kernel, level), rounds in sorted(told.items(), key=lambda row: list(KERNELS).index(row[0][0])):
        shares = [100 * error for error, _, _ in rounds]
        errors.append(abs(statistics.median(shares)))
        cycles = [got[:2] for _, got, _ in rounds if got]
        text = ("%.2f against %.2f cy" % tuple(map(statistics.median, zip(*cycles)))
                if cycles else "")
        disturbed = sum(disturbed for _, _, disturbed in rounds)
        bench.add("kernel: %s in %s" % (kernel, level), "%+.1f %% (%+.1f .. %+.1f)" % (
            statistics.median(shares), min(shares), max(shares)), "within 15 %",
            text + (", %d of %d disturbed" % (disturbed, len(rounds)) if disturbed else ""))
    if errors:
        bench.add(name, "%.1f %%, median of %d" % (statistics.median(errors), len(errors)),
                  "<= 8 %")


def rows(bench):
    name = "kernel: layer conditions and ECM"
    data = os.path.join(EXAMPLES, "..", "..", "data", "haswell-e5-2695v3-cod.json")
    if bench.wanted(name):
        command = bench.lull("model", "kernel", example("jacobi2d"), "-D", "N=1000", "-D", "M=1000",
                             "--machine", data, "--in-core", "6,4", "--no-simulation")
        taken = [1000 * a.cpu for a, _ in bench.pairs(command, None)]
        bench.add(name, "%.0f ms (%.0f .. %.0f)" % (statistics.median(taken), min(taken),
                                                    max(taken)), "<= 50 ms")
    self_check(bench)
