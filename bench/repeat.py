"""How well lull bench repeats itself: three quick runs, compared pair by pair."""
import itertools
import json
import subprocess
import time

RUNS = 3
TARGET = 0.95


def rows(bench):
    if not bench.wanted("repeat"):
        return
    paths, seconds = [], []
    for run in range(RUNS):
        paths.append(bench.path("repeat%d.json" % run))
        begin = time.monotonic()
        subprocess.run(bench.lull("bench", "--quick", "-o", paths[-1]), check=True,
                       capture_output=True)
        seconds.append(time.monotonic() - begin)
    shares, total = [], 0
    for a, b in itertools.combinations(paths, 2):
        done = subprocess.run(bench.lull("bench", "--compare", a, b, "--format", "json"),
                              check=True, capture_output=True, text=True)
        facts = json.loads(done.stdout)["facts"]
        total = facts["same"] + facts["different"]
        shares.append(facts["same"] / total)
    bench.add("repeat lull bench --quick: numbers that agree",
              "%.1f %% (%.1f .. %.1f)" % tuple(100 * share for share in
                                               (sum(shares) / len(shares), min(shares),
                                                max(shares))),
              ">= %.0f %%" % (100 * TARGET),
              "%d numbers, pairs of %d runs, %.0f s each" % (total, RUNS, max(seconds)))
