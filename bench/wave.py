"""How long lull wave takes to find waves: beside lull metrics on the same run, and together with the
simulation and the picture of a large pattern."""

import subprocess

PATTERN = "chain:ranks=%d,iterations=%d,exec=1ms"
DELAY = "%d@i100:50ms"


def detection(bench, name):
    run = bench.path("wave-run")
    subprocess.run(bench.lull("simulate", "--pattern", PATTERN % (1000, 1000), "--network",
                              "hockney", "--no-path", "--delay", DELAY % 500, "-o", run),
                   check=True, stdout=subprocess.DEVNULL)
    wave = bench.lull("wave", "--no-replay", run)
    bench.ratio(name + ", against lull metrics", wave, bench.metrics("wave-run"), ">= 0.5 x")
    seconds(bench, name, wave, "<= 5 s")


def seconds(bench, name, command, limit, memory=None):
    """Processor time: what a machine without other work would take, on one core."""
    taken = [a for a, _ in bench.pairs(command, None)]
    times = sorted(a.cpu for a in taken)
    bench.add(name, "%.2f s of processor time (%.2f .. %.2f), %.0f MiB" %
              (times[len(times) // 2], times[0], times[-1], max(a.peak_mib for a in taken)), limit)


def rows(bench):
    name = "wave: 1,000 ranks x 1,000 iterations of a run"
    if bench.wanted(name):
        detection(bench, name)
    name = "wave: 10,000 ranks x 1,000 iterations simulated, found and drawn"
    if bench.wanted(name):
        seconds(bench, name,
                bench.lull("wave", "--pattern", PATTERN % (10000, 1000), "--noise",
                           "exponential:mean=50us", "--delay", DELAY % 5000, "--chart",
                           bench.path("wave.svg")), "<= 60 s (2 cores: 30 s), <= 2048 MiB")
