"""What a sample costs a recorded program: the processor time of a fixed amount of work, recorded without samples and with
10,000 a second, in turn; and without them once more as a control. Processor time, because it contains the kernel's
interrupts, and is not changed by others who use the machine as much as time is. At so high a rate the difference stands
out of the noise; at other rates the cost is in proportion, because each sample costs the same. A sample with a stack costs
more: the kernel copies the stack, and the recorder looks at each word of it.

What does not grow with the rate, as beginning with each thread and looking for samples, is in the last rows, of longer runs
with 100 a second and without, in pairs. They bound it, no more: the noise of a pair is larger than what is measured."""
import os
import random
import shutil
import statistics
import subprocess

from paired import hodges_lehmann
from record_mpi import ENVIRONMENT

ROUNDS, REGIONS, RATE = 24, "500", 10000
LONG_ROUNDS, LONG_REGIONS, USUAL = 16, "2000", "100"
ROWS = ((None, "us a sample", "", "%.2f us (%.2f .. %.2f)"), (100, "at 100 Hz", "<= 0.1 %", "%.3f %% (%.3f .. %.3f)"),
        (1000, "at 1 kHz", "<= 1 %", "%.2f %% (%.2f .. %.2f)"))


def processor_time(command):
    before = os.times()
    subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def usual_rows(bench, measure):
    rates = {"off": "off", "control": "off", "added": USUAL}
    times = {name: [] for name in rates}
    for _ in range(LONG_ROUNDS):
        for name in random.sample(sorted(rates), len(rates)):
            times[name].append(measure([rates[name]], LONG_REGIONS))
    for what, target in (("control", "0"), ("added", "upper end <= 0.5 %")):
        each = [100 * (one / off - 1) for one, off in zip(times[what], times["off"])]
        bench.add("sample: %s, %s Hz, measured" % (what, USUAL), "%.2f %% (%.2f .. %.2f)" % hodges_lehmann(each), target,
                  "95 %% interval of %d pairs of %.2f s" % (LONG_ROUNDS, statistics.median(times["off"])))


def rows(bench):
    if not bench.wanted("sample: "):
        return
    program = os.path.join(os.path.abspath(bench.build), "bench", "bench_record_sample")
    lull = os.path.join(os.path.abspath(bench.build), "lull")
    run = bench.path("sample.lull")

    def measure(sample, regions):
        shutil.rmtree(run, ignore_errors=True)
        return processor_time([lull, "record", "--sample", *sample, "-o", run, program, "1", regions])

    rates = {"off": ["off"], "control": ["off"], "on": ["%d:1MiB" % RATE],
             "stack": ["%d:16MiB" % RATE, "--sample-stack"]}
    times, samples = {name: [] for name in rates}, []
    for _ in range(ROUNDS):
        for name in random.sample(sorted(rates), len(rates)):
            times[name].append(measure(rates[name], REGIONS))
        # of the last run with samples the number is that of its time: they are taken by processor time
        samples.append(times["on"][-1] * RATE)
    for what, name in (("control", "control"), ("added", "on"), ("added with stacks", "stack")):
        each = [1e6 * (on - off) / n for on, off, n in zip(times[name], times["off"], samples)]
        estimate = hodges_lehmann(each)
        for rate, unit, target, form in ROWS:
            factor = 1 if rate is None else rate * 1e-4
            bench.add("sample: %s, %s" % (what, unit), form % tuple(factor * value for value in estimate),
                      target if what == "added" else "0",
                      "95 %% interval of %d runs of %.2f s" % (ROUNDS, statistics.median(times["off"])))
    usual_rows(bench, measure)
