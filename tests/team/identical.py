#!/usr/bin/python3
"""What one process of lull prints, several print together, to the byte: on the first's standard output alone.

    identical.py --lull LULL --data TESTS_DATA [--family FAMILY] [--share N]

Without a family the members are forked and joined by sockets, with delays and orders by a seed
(LULL_TEAM_CHAOS), and by turns with and without epochs of the ideal runtime (LULL_IDEAL_EPOCHS); with one, mpiexec of the family starts them. Runs are recorded ones (of tests/data), damaged
and spawned ones, simulated ones, and with LULL_CONFORMANCE_DIR those of others. With --share N each command meets one of N
runs, and each of these one size of a team: a sanitizer looks for bad accesses and races, which are in one member and not
in how many they are. Also: what is not shared is done by
the first, who says so once; what does not work under mpirun says so once, and a run that is not there, an option that
is none.
"""

import argparse
import filecmp
import glob
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
from device_program import Program, write_shared

# mpiexec of MPICH writes to who has just been started, and now and then dies of SIGPIPE if that has
# ended before: so who ends without a word to MPI stays a moment longer.
LINGER = ["sh", "-c", '"$@"; status=$?; sleep 2; exit $status', "sh"]

COMMANDS = (
    ["metrics", "RUN", "-f", "json", "--by", "region", "--raw"],
    ["metrics", "RUN", "--by", "thread", "--whole"],
    ["metrics", "RUN", "-f", "json", "--by", "callsite", "--window", "1us:"],
    ["metrics", "RUN", "-f", "json", "--by", "process", "--no-replay"],
    ["metrics", "RUN", "-f", "json", "--by", "wait"],
    ["metrics", "RUN", "--by", "file"],
    ["info", "RUN", "-f", "json"],
    ["info", "RUN"],
    ["wave", "RUN", "-f", "json", "--no-replay"],
    ["wave", "RUN", "-f", "json"],
    ["wave", "RUN", "--no-replay", "--chart", "CHART"],
    ["replay", "RUN", "-f", "json", "--network", "ideal"],
    ["replay", "RUN", "--network", "hockney:latency=1us:4us:3"],
    ["replay", "RUN", "-f", "json", "--network", "hockney:latency=3us,eager=100,bandwidth=1e8"],
    ["report", "RUN", "-f", "json", "--no-prices"],
    ["report", "RUN", "-f", "html", "--no-waits", "--window", "1us:", "--max-size", "100KB"],
    ["report", "RUN", "-f", "json"],
    ["replay", "RUN", "-f", "json", "--balance", "--no-noise"],
    ["replay", "RUN", "--median", "all", "--network", "ideal", "--eager"],
    ["replay", "RUN", "-f", "json", "--median", "rank=1", "--no-scheduling", "--balance-threads"],
    ["replay", "RUN", "--inject", "exponential:mean=50us", "--inject", "1@1us:3ms"],
    ["metrics", "RUN", "-f", "json", "--by", "function"],
    ["metrics", "RUN", "-f", "json", "--by", "line", "--window", "1us:"],
    ["metrics", "RUN", "--by", "loop", "--no-replay"],
)
# Of runs with devices, whose sums come from what several members have read.
OF_DEVICES = tuple(["metrics", "RUN", "-f", "json", "--by", part] for part in ("device", "stream", "kernel", "copy", "wait")) + \
    (["report", "RUN", "-f", "json"],)
# What the first does alone, or a part of it, and says so: of what.
BY_FIRST = (
    (["replay", "RUN", "-f", "json", "--network", "loggops"], "replaying"),
    (["replay", "RUN", "--network", "loggops", "--balance", "--median", "rank=0"], "replaying"),
    (["diff", "RUN", "--", "RUN"], "diff"),
)
# What is the work of one.
BY_ONE = (
    ["simulate", "-p", "chain:ranks=4", "-f", "json"],
    ["wave", "-p", "chain:ranks=8", "-d", "3@i3:9ms"],
    ["wave", "--list"],
    ["fit", "--list"],
)
# Of a run with more ranks than a timeline has fine rows, and nodes that members share, more than is kept.
OF_WIDE = (
    ["report", "RUN", "-f", "json", "--no-waits", "--no-prices", "--max-size", "100KB"],
    ["wave", "RUN", "-f", "json", "--no-replay"],
    ["replay", "RUN"],
    ["replay", "RUN", "--network", "ideal"],
)
WIDE = ["-p", "chain:ranks=1100,exec=1ms,iterations=6,collective=allreduce,every=3", "--placement",
        "block:cores-per-node=3", "--noise", "exponential:mean=50us"]
LONG = ["-p", "chain:ranks=100,exec=1ms,iterations=300,collective=allreduce,every=10"]
SIMULATED = (
    ["-p", "chain:ranks=9,exec=1ms+2ms,iterations=20,collective=allreduce,every=3", "--noise", "exponential:mean=50us"],
    ["-p", "grid:ranks=4x4,bytes=128KiB,iterations=10"],
    ["-p", "collective:op=allreduce,ranks=13,exec=1ms"],
    ["-p", "collective:op=scan,ranks=8,exec=1ms"],
)


class Difference(Exception):
    pass


class Case:
    def __init__(self, options, folder):
        self.options, self.folder, self.seed, self.checks = options, folder, 0, 0
        self.environment = launch.environment()
        self.environment.pop("LULL_TEAM_CHAOS", None)

    def start(self, words, members, before=(), **more):
        environment, launcher = dict(self.environment, **more), []
        if members and self.options.family:
            launcher = ["mpiexec." + self.options.family, "-n", str(members)]
        elif members:
            self.seed += 1
            environment["LULL_TEAM_CHAOS"] = "%d:%d" % (members, self.seed)
        return subprocess.run([*launcher, *before, self.options.lull, *words], env=environment, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def draw(self, words, members, **more):
        """Also the chart that it makes, where that is asked for."""
        chart = os.path.join(self.folder, "chart.svg")
        done = self.start([chart if word == "CHART" else word for word in words], members, **more)
        if not os.path.exists(chart):
            return done, None
        with open(chart, "rb") as drawn:
            picture = drawn.read()
        os.remove(chart)
        return done, picture

    def compare(self, words, sizes):
        """Teams by turns with epochs, as is usual, and without."""
        alone, picture = self.draw(words, 0)
        for members in sizes:
            epochs = self.checks % 3 and "1" or "0"
            team, drawn = self.draw(words, members, LULL_IDEAL_EPOCHS=epochs)
            self.checks += 1
            what = "%s, %d processes, seed %d, epochs %s" % (" ".join(words), members, self.seed, epochs)
            if (alone.returncode != 0) != (team.returncode != 0):
                raise Difference("%s: ends with %d, not %d: %s" % (what, team.returncode, alone.returncode,
                                                                   team.stderr.decode(errors="replace")))
            if alone.stdout != team.stdout:
                raise Difference(what + ": prints something else")
            if picture != drawn:
                raise Difference(what + ": draws something else")
            said = [line for line in alone.stderr.splitlines() if line.startswith(b"lull ")]
            for line in said:
                if team.stderr.splitlines().count(line) != said.count(line):
                    raise Difference("%s: says not as often as one does: %s" % (what, line.decode(errors="replace")))

    def compare_first(self, words, members, what):
        """Also that one line says so where there is something to be done, and that the output goes to one file where
        it is asked to."""
        self.compare(words, [members])
        paths = [os.path.join(self.folder, name) for name in ("alone.out", "team.out")]
        said = []
        for path in filter(os.path.exists, paths):
            os.remove(path)
        for path, size in zip(paths, (0, members)):
            if words[0] not in ("replay", "wave"): # whose --output is another
                done = self.start([*words, "-o", path], size)
                said = done.stderr.decode(errors="replace").splitlines()
        if words[0] in ("replay", "wave"):
            said = self.start(words, members).stderr.decode(errors="replace").splitlines()
        elif any(map(os.path.exists, paths)) and not filecmp.cmp(*paths, shallow=False):
            raise Difference(" ".join(words) + " -o: writes something else")
        text = " is not shared yet: the first process does it, the other %d of lull" % (members - 1)
        if self.has_work(words, what) and (sum(text in line and what in line for line in said) != 1 or
                                           sum("not shared" in line for line in said) != 1):
            raise Difference("%s: does not say once that the first does it: %s" % (" ".join(words), said))

    def has_work(self, words, what):
        """Whether one process alone comes to the work that it would do for all. A wave's output is its document."""
        return what == "diff" or self.start(words, 0).returncode == 0

    def compare_one(self, words):
        self.compare(words, [1, 3])
        said = self.start(words, 3).stderr.decode(errors="replace").splitlines()
        if sum("is the work of one process: the other 2 of lull have nothing to do" in line for line in said) != 1:
            raise Difference("%s: does not say once that one does it: %s" % (" ".join(words), said))

    def refuse(self, words, text, members, before=()):
        team = self.start(words, members, before)
        self.checks += 1
        lines = [line for line in team.stderr.decode(errors="replace").splitlines() if line.startswith("lull ") and "is not shared yet" not in line]
        if team.returncode == 0 or team.stdout and not self.options.family or len(lines) != 1 or text not in lines[0]:
            raise Difference("%s: expected one line with '%s', got %d and %s" % (" ".join(words), text,
                                                                                team.returncode, lines))


def find_runs(case):
    runs = sorted(glob.glob(case.options.data + "/tape/*/")) + [case.options.data + "/where/c-late/run"]  # it has samples
    runs += sorted(glob.glob(case.options.data + "/golden/*.prv"))[:3]
    runs += [case.options.data + "/paraver/hybrid.prv", case.options.data + "/kineto/two-ranks"]
    for i, words in enumerate(SIMULATED):
        run = os.path.join(case.folder, "simulated%d.lull" % i)
        made = case.start(["simulate", *words, "-o", run], 0)
        if made.returncode != 0:
            raise Difference("simulate: " + made.stderr.decode())
        runs.append(run)
    sequence = os.path.join(case.folder, "sequence.prv")
    made = case.start(["convert", runs[-4], sequence, "--to", "paraver"], 0)
    if made.returncode != 0:
        raise Difference("convert: " + made.stderr.decode())
    runs.append(sequence)
    spoilt = os.path.join(case.folder, "spoilt.lull")
    shutil.copytree(case.options.data + "/tape/heat-2x1", spoilt)
    spoil(spoilt)
    alone = os.path.join(case.folder, "alone.lull")
    shutil.copytree(os.path.join(case.folder, "simulated1.lull"), alone)
    remove_sender(alone)
    return [run.rstrip("/") for run in runs + [spoilt, alone]]


RECORDINGS = ([], ["--max-size", "256KiB"], ["--keep", "last:192KiB"], ["--profile"])


def record(case):
    """Runs of a program under the family's MPI: whole, with an end or a beginning that is missing, and sums alone."""
    source = os.path.join(case.options.data, "..", "mpi", "programs", "chunk_ends.c")
    compiler, family = "mpicc." + case.options.family, case.options.family
    if not shutil.which(compiler):
        return []
    program, runs = os.path.join(case.folder, "program"), []
    subprocess.run([compiler, "-O1", "-w", "-I" + os.path.join(case.options.data, "..", "..", "include"), source,
                    "-o", program, "-lpthread"], check=True)
    for i, words in enumerate(RECORDINGS):
        run = os.path.join(case.folder, "recorded%d.lull" % i)
        subprocess.run(["mpiexec." + family, "-n", "2", case.options.lull, "record", "-o", run, *words, program],
                       env=case.environment, timeout=300, check=True, capture_output=True)
        runs.append(run)
    return runs


def remove_sender(run):
    """Its last process has no events, so that its messages have no sender."""
    tapes = sorted(glob.glob(run + "/**/*.tape", recursive=True))
    with open(tapes[-1], "r+b") as tape:
        tape.truncate(4096)


def spoil(run):
    """Overwrites some bytes in the middle of the records of the last location."""
    tapes = sorted(glob.glob(run + "/**/*.tape", recursive=True))
    with open(tapes[-1], "r+b") as tape:
        tape.seek(os.path.getsize(tapes[-1]) // 2 // 8 * 8)
        tape.write(b"\xee" * 64)


def conformance():
    folder = os.environ.get("LULL_CONFORMANCE_DIR", "")
    found = glob.glob(folder + "/epoch-mpi/*4proc*.prv*") + glob.glob(folder + "/eztrace*/*.otf2")
    found += glob.glob(folder + "/sstmacro*/*.otf2") + glob.glob(folder + "/pipit*/*.otf2")
    return sorted(found) if folder else []


def wide(case):
    run = os.path.join(case.folder, "wide.lull")
    if not os.path.exists(run):
        made = case.start(["simulate", *WIDE, "-o", run], 0)
        if made.returncode != 0:
            raise Difference("simulate: " + made.stderr.decode())
    return run


def of_one_process(case):
    """Who has no part in the reading has none in what follows."""
    run = os.path.join(case.folder, "one.lull")
    made = case.start(["simulate", "-p", "chain:ranks=1,exec=1ms,iterations=9", "-o", run], 0)
    if made.returncode != 0:
        raise Difference("simulate: " + made.stderr.decode())
    return run


def long_sequence(case):
    """Of which a member gets more than may be on its way to it."""
    run, sequence = (os.path.join(case.folder, name) for name in ("long.lull", "long.prv"))
    for words in (["simulate", *LONG, "-o", run], ["convert", run, sequence, "--to", "paraver"]):
        made = case.start(words, 0)
        if made.returncode != 0:
            raise Difference(words[0] + ": " + made.stderr.decode())
    return sequence


def of_seven_processes(case):
    """The path of a run whose processes take turns on a device, and for how long that runs kernels, in ns. In every second turn
    all wait; then the one that has waited last launches the next kernel, by turns at once, behind a computation and behind an
    allocation, while the others still compute."""
    programs = [Program(ranks=7)]
    programs += [Program(rank=rank, ranks=7, beside=programs[0]) for rank in range(1, 7)]
    busy = 0
    for i in range(24):
        for program in programs:
            length = 10_000 * (1 + program.rank) + 1_000 * i
            busy += length
            program.exclusive = True
            program.launch(length, stream=7 if i % 4 else 20)
            program.copy(1_000 * (7 - program.rank))
        if i % 2 == 0:
            continue
        for program in programs:
            program.synchronise(returns=30_000)
        last = max(programs, key=lambda program: program.now)
        for program in programs:
            program.compute(last.now + 150_000 - program.now if program is not last else (i // 2 % 3 == 1) * 60_000)
        if i // 2 % 3 == 2:
            last.call("cudaMalloc", 80_000)
        programs.sort(key=lambda program: (program.now, (program.rank + i) % 7))
    return str(write_shared(case.options.lull, pathlib.Path(case.folder), "seven", programs)), busy


def check_devices(case):
    """With a device that all share, so that a member whose operations are lost would be missed in each sum. What they hold, wait
    for and lose are findings of the report, which are to be there."""
    seven, busy = of_seven_processes(case)
    alone = json.loads(case.start(["metrics", seven, "-f", "json", "--by", "device"], 0).stdout)["tables"]["devices:seven"]
    device = dict(zip((column["id"] for column in alone["columns"]), alone["rows"][0]["values"]))
    if len(alone["rows"]) != 1 or device["processes"] != 7 or round(device["kernels"] * 1e9) != busy:
        raise Difference("seven processes on a device: %s, which runs kernels for %d ns" % (device, busy))
    told = {finding["rule"] for finding in json.loads(case.start(["report", seven, "-f", "json"], 0).stdout)["findings"]}
    for rule in ("device_shared", "device_default_stream", "device_sync", "device_starved", "device_runtime", "device_copies"):
        if rule not in told:
            raise Difference("seven processes on a device: %s is not told, but %s" % (rule, ", ".join(sorted(told))))
    others = [case.options.data + name for name in ("/devices/device-shared", "/tape/devices-2x1", "/kineto/two-ranks")]
    for command in OF_DEVICES:
        for run in [seven, *([] if case.options.share > 1 else others)]:
            case.compare([run if word == "RUN" else word for word in command], [1, 2, 3, 7])


def check_all(case):
    runs, mpi = find_runs(case), case.options.family is not None
    share = case.options.share
    few = share > 1
    for i, run in enumerate(runs):
        for j, command in enumerate(COMMANDS):
            if (i * 13 + j) % share:
                continue
            one = [random.Random(i * 7 + j).choice([2, 3, 4, 7])]
            # Each command meets each size in some of the runs.
            sizes = one if few else [[2, 7], [3, 16], [1, 4]][(i + j) % 3]
            case.compare([run if word == "RUN" else word for word in command], sizes)
    if not mpi:
        check_devices(case)
    for command in OF_WIDE[:1] if mpi else OF_WIDE:
        case.compare([wide(case) if word == "RUN" else word for word in command], [3] if few else [2, 5])
    sequence = long_sequence(case)
    for command in (COMMANDS[0], COMMANDS[10]):
        case.compare([sequence if word == "RUN" else word for word in command], [3] if few else [2, 4])
    for i, run in enumerate(conformance()[:: (share + 11) // 12]):
        sizes = [[2], [3], [4]][i % 3] if few else [[1, 4], [2, 7], [3]][i % 3]
        case.compare(["metrics", run, "-f", "json"], sizes)
        case.compare(["info", run, "-f", "json"], sizes[:1])
    simulated = [run for run in runs if "simulated" in run]
    case.compare(["metrics", *simulated, "-f", "json"], [1, 2, 4, 7] if not few else [1, 3])
    case.compare(["replay", of_one_process(case), "--cpu-speed", "2", "--balance"], [2])
    case.refuse(["metrics", "/nowhere/run"], "/nowhere/run", 3)
    for i, run in enumerate(runs):
        for j, (command, what) in enumerate(BY_FIRST):
            if (i + j) % (2 * share if few else 4) == 0:
                case.compare_first([run if word == "RUN" else word for word in command], 2 + (i + j) % 3, what)
    for command in BY_ONE[:1] if mpi else BY_ONE:
        case.compare_one(command)
    case.refuse(["metrics", runs[0], "--region", "no such region"], "no such region", 3)
    if mpi:
        case.refuse(["metrics", runs[0], "--nonsense"], "nonsense", 2, LINGER)
        case.refuse(["bench"], "does not work under mpirun", 2, LINGER)
        case.refuse(["check", runs[0], "--fail-if", "runtime > 1", "--confirm", "true"], "does not work under mpirun", 3)
        case.compare(["replay", "--help"], [3])


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "data"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--family")
    parser.add_argument("--share", type=int, default=1, help="one of so many runs, and one size of a team")
    options = parser.parse_args()
    if options.family and not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        case = Case(options, folder)
        try:
            check_all(case)
        except Difference as difference:
            print(difference)
            return 1
        print("%d checks" % case.checks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
