"""What a sample costs a recorded program: the processor time of a fixed amount of work, recorded without samples and with
10,000 a second, in turn; and without them once more as a control. Processor time, because it contains the kernel's
interrupts, and is not changed by others who use the machine as much as time is. At so high a rate the difference stands
out of the noise; at other rates the cost is in proportion, because each sample costs the same. A sample with a stack costs
more: the kernel copies the stack, and the recorder looks at each word of it."""
import os
import random
import shutil
import statistics
import subprocess

from paired import hodges_lehmann
from record_mpi import ENVIRONMENT

ROUNDS, REGIONS, RATE = 24, "500", 10000
ROWS = ((None, "us a sample", "", "%.2f us (%.2f .. %.2f)"), (100, "at 100 Hz", "<= 0.1 %", "%.3f %% (%.3f .. %.3f)"),
        (1000, "at 1 kHz", "<= 1 %", "%.2f %% (%.2f .. %.2f)"))


def processor_time(command):
    before = os.times()
    subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def rows(bench):
    if not bench.wanted("sample: "):
        return
    program = os.path.join(os.path.abspath(bench.build), "bench", "bench_record_sample")
    lull = os.path.join(os.path.abspath(bench.build), "lull")
    run = bench.path("sample.lull")
    rates = {"off": ["off"], "control": ["off"], "on": ["%d:1MiB" % RATE],
             "stack": ["%d:16MiB" % RATE, "--sample-stack"]}
    times, samples = {name: [] for name in rates}, []
    for _ in range(ROUNDS):
        for name in random.sample(sorted(rates), len(rates)):
            shutil.rmtree(run, ignore_errors=True)
            times[name].append(processor_time([lull, "record", "--sample", *rates[name], "-o", run, program, "1", REGIONS]))
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
