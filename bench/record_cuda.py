"""What a launch of a kernel costs a recorded program of CUDA, and what a record of the device does, on the mock of the tests with
kernels that take no time: cuda.c under the recorder, and with a library in the recorder's place that subscribes to the same
calls, asks for the same records, and throws them away. The difference is the recorder's own. Twice without a recorder is the
control. A launch is told by the processor time of the thread that launches; a record by that of the process without that thread's:
records are written on another one. Starts are a part of the latter, and the same number of launches divides both. The mock's own
threads wake up 2,000 times a second: on a busy machine, where everything lasts longer, that is charged to records, too.

Besides: how long 10^7 launches and their records take, and whether a record is dropped; and what devices add to the start of a
program whose driver finds none, beside `--device off`."""
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import time

from paired import hodges_lehmann
from record_mpi import ENVIRONMENT

ROUNDS, LAUNCHES, MANY = 16, 1000000, 10000000
NO_DEVICE = 77  # status of the program


def run_once(command, environment):
    before = os.times()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    if re.search("CUDA: (?!CUPTI has dropped)", done.stderr):
        raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1]), 1e9 * spent / LAUNCHES, done.stderr


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def dropped_by(said):
    return sum(map(int, re.findall(r"has dropped (\d+) records", said)))


def many_records(bench, lull, run, folder, environment):
    shutil.rmtree(run, ignore_errors=True)
    command = [lull, "record", "--max-size", "4GiB", "-o", run, os.path.join(folder, "cuda"), "bench", "1", str(MANY)]
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    bench.add("CUDA: 10^7 records", "%.1f s, %d dropped" % (time.monotonic() - begin, dropped_by(done.stderr)), "<= 60 s, 0 dropped",
              "wall time, with their launches")
    shutil.rmtree(run, ignore_errors=True)


def start_without_device(bench, lull, run, folder, environment):
    environment = dict(environment, MOCK="no-device")
    more = []
    for _ in range(ROUNDS):
        took = {}
        for device in random.sample(["off", "full"], 2):
            shutil.rmtree(run, ignore_errors=True)
            command = [lull, "record", "--device", device, "-o", run, os.path.join(folder, "cuda"), "plain"]
            before = processor_time()
            if subprocess.run(command, env=environment, capture_output=True).returncode != NO_DEVICE:
                raise RuntimeError("the program has found a device")
            took[device] = processor_time() - before
        more.append(1e3 * (took["full"] - took["off"]))
    bench.add("CUDA: start without a device", "%.2f ms (%.2f .. %.2f)" % hodges_lehmann(more), "<= 5 ms",
              "processor time of %d programs, beside --device off" % ROUNDS)


def rows(bench):
    if not bench.wanted("CUDA: "):
        return
    folder = os.path.join(os.path.abspath(bench.build), "bench", "cuda")
    lull, run = os.path.join(os.path.abspath(bench.build), "lull"), bench.path("cuda.lull")
    program = [os.path.join(folder, "cuda"), "bench", "1", str(LAUNCHES)]
    bare = dict(ENVIRONMENT, LD_LIBRARY_PATH=folder, MOCK="free")
    for name in ("CUDA_INJECTION64_PATH", "CUDA_HOME"): # a toolkit's own CUPTI would come first
        bare.pop(name, None)
    control = dict(bare, CUDA_INJECTION64_PATH=os.path.join(folder, "control.so"))
    ways = {"control": (program, control), "again": (program, control),
            "lull": ([lull, "record", "-o", run, *program], bare)}
    launches, spent, dropped = {name: [] for name in ways}, {name: [] for name in ways}, 0
    for _ in range(ROUNDS):
        for name in random.sample(sorted(ways), len(ways)):
            shutil.rmtree(run, ignore_errors=True)
            command, environment = ways[name]
            launch, processor, said = run_once(command, environment)
            launches[name].append(launch)
            spent[name].append(processor)
            dropped += dropped_by(said)
    extra = "95 %% interval of %d runs of %d launches" % (ROUNDS, LAUNCHES)
    for what, name, target in (("added by lull", "lull", "<= 150 ns"), ("control", "again", "0")):
        each = [one - other for one, other in zip(launches[name], launches["control"])]
        bench.add("CUDA: a launch, %s" % what, "%.0f ns (%.0f .. %.0f)" % hodges_lehmann(each), target,
                  extra + ", %.0f ns with the control" % statistics.median(launches["control"]))
    for what, name, target in (("added by lull", "lull", "<= 60 ns"), ("control", "again", "0")):
        each = [(spent[name][i] - launches[name][i]) - (spent["control"][i] - launches["control"][i]) for i in range(ROUNDS)]
        bench.add("CUDA: a record, %s" % what, "%.0f ns (%.0f .. %.0f)" % hodges_lehmann(each), target, extra)
    bench.add("CUDA: records dropped", str(dropped), "0", "of %d" % (ROUNDS * LAUNCHES))
    many_records(bench, lull, run, folder, bare)
    start_without_device(bench, lull, run, folder, bare)
