"""Records a program of CUDA (cuda/cuda.c) on a mock of the driver and of CUPTI (cuda/mock.h) and compares what the run holds
with what the mock has written down: each call, each operation with its times to the nanosecond, which call submitted it, what
waited for what; and the program's output and status with those that it has alone.

    cuda.py --lull LULL --listing LISTING --program CUDA --mock FOLDER [--mpirun COMMAND] [--toolkit FOLDER] [--nvcc NVCC] FORM...

FOLDER has libcuda.so.1 and libnext.so, and folders 13, 12, old with a libcupti each; FORM is a form of cuda.c, with `/` and words
of the mock behind it, as `plain/wrap,small`; random-SEED-COUNT; or one of these:

    killed-COUNT      killed at COUNT random moments: what was handed over is there
    said:WHAT         what is odd, and the line that is said (SAID)
    off               with --device off nothing of CUDA is recorded
    sums:FORM         a form of cuda.c, with words behind it, whose sums are what the mock has written down: with all events, with
                      --device summary, with --profile, and beyond --max-size
    signals           threads that the recorder makes take none of the program's signals
    other-build       the back-end finds a recorder of another build, and says that
    not-beside        the back-end does not lie beside the recorder, which is said
    true              the true libcupti of a toolkit, without a driver
    nvcc              a program compiled by nvcc, with either form of the runtime
    mpi               two ranks
"""
import argparse
import bisect
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
from devices import SKIPPED, call, check_converted, read, rows_of

KERNEL_CALLS = {"cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchKernel"}
REPORTED = 66 # the thread sanitizer has reported something: the mock's truth is not written to its end
ENDS = {"exit": 3, "exit-callback": 3, "exit-submitting": 3, "abort": -signal.SIGABRT, "quick": 4, "in-call": 6}
COPIES, MANAGED = -100, -200 # numbers in the place of those of streams
LINE = re.compile(r"(\d+) (\d+) (.*?): (call|submit|depend|device wait|operation) (\d+) (.*)$")
STREAM = re.compile(r"(stream|queue|copies|managed memory) ?(\d*)(?: \(\d+\))? on Mock GPU (\d)$")


def compare(what, found, wanted, complaints):
    if found != wanted:
        complaints.append(f"{what}: found {str(found)[:600]}, expected {str(wanted)[:600]}")


# ---- truth ------------------------------------------------------------------------------------------------------------------

Operation = collections.namedtuple("Operation", "number call device context stream region bytes begin end")


class Truth:
    """What the mock has written; see mock.h."""

    def __init__(self, path, whole=True):
        self.calls = collections.defaultdict(list)     # thread -> [(call, function)]
        self.function = {}                             # call -> function
        self.submits = collections.defaultdict(list)   # thread -> [call]
        self.contexts = collections.defaultdict(set)   # context -> streams that were used
        self.operations, self.fate, self.foreign = {}, collections.defaultdict(str), set()
        self.depends = collections.defaultdict(list)   # call -> [other]
        self.waits = collections.defaultdict(list)     # call -> [what]
        self.overhead = 0                              # ns that CUPTI has taken for its own sake
        self.priorities = collections.defaultdict(int) # stream -> priority; 0: of a default stream, too
        self.drops_told = 0
        with open(path) as file:
            lines = file.read().split("\n")
        for line in lines[:-1]:                        # a killed process may not have written the last one
            words = line.split()
            getattr(self, "see_" + words[0])(*words[1:])
        assert whole is False or lines[-1] == ""

    def see_call(self, thread, number, function):
        self.calls[int(thread)].append((int(number), function))
        self.function[int(number)] = function

    def see_overhead(self, kind, length):
        """Kinds: 1 hands over a buffer, 2 changes code, 3 makes room, 7 asks for a buffer, 8 prepares for managed memory; others
        are the driver's."""
        self.overhead += int(length) if int(kind) in (1, 2, 3, 7, 8) else 0

    def see_stream(self, stream, priority):
        self.priorities[int(stream)] = int(priority)

    def see_submit(self, thread, number, context, stream):
        self.submits[int(thread)].append(int(number))
        self.contexts[int(context)].add(int(stream))

    def see_op(self, number, number_of_call, device, context, stream, region, size, begin, end):
        self.operations[int(number)] = Operation(int(number), int(number_of_call), int(device), int(context), int(stream),
                                                 region.replace("@", " "), int(size), int(begin), int(end))

    def see_delivered(self, number):
        self.fate[int(number)] = "delivered"

    def see_lost(self, number):
        self.fate[int(number)] = "lost"

    def see_dropped(self, number):
        self.fate[int(number)] = "dropped"

    def see_drops(self, count):
        """How many records were dropped as a buffer was handed over, where a buffer's callback is told (ROCm)."""
        self.drops_told = int(count)

    def see_untold(self, number):
        self.fate[int(number)] = "untold"

    def see_foreign(self, number):
        self.foreign.add(int(number))

    def see_depend(self, number, other):
        self.depends[int(number)].append(int(other))

    def see_wait(self, thread, number, what, *which):
        del thread
        self.waits[int(number)].append((what, *map(int, which)))
        if what == "stream":
            self.contexts[int(which[0])].add(int(which[1]))
        elif what == "context":
            self.waits[int(number)][-1] = ("context", frozenset(self.contexts[int(which[0])]))

    def delivered(self):
        return [one for one in self.operations.values() if self.fate[one.number] == "delivered"]

    def n_lost(self):
        """Operations of which the run says that they are not known. A launch whose record names no call is one, too."""
        return sum(self.fate[one.number] == "lost" or
                   ((self.fate[one.number] != "delivered" or one.number in self.foreign) and
                    self.function.get(one.call) in KERNEL_CALLS)
                   for one in self.operations.values())

    def leave_out(self, region):
        """Forgets all kernels of that name, and their calls."""
        gone = {one.call for one in self.operations.values() if one.region == region}
        self.operations = {n: one for n, one in self.operations.items() if one.call not in gone}
        for thread in self.calls:
            self.calls[thread] = [one for one in self.calls[thread] if one[0] not in gone]
            self.submits[thread] = [one for one in self.submits[thread] if one not in gone]


# ---- the run ----------------------------------------------------------------------------------------------------------------

Ran = collections.namedtuple("Ran", "stream device region bytes begin length number function location")


def number_of_stream(match):
    """The runtime's number of a stream; other ones have numbers below 0."""
    kind, number = match[1], int(match[2] or 0)
    return number if kind == "stream" else -1 - number if kind == "queue" else COPIES if kind == "copies" else MANAGED


class Run:
    def __init__(self, settings, path, prefix="cu"):
        self.ran, self.threads, self.quirks, self.sites = [], collections.defaultdict(list), [], collections.Counter()
        self.names, self.locations = [], []            # of locations; of streams their ids
        self.info = json.loads(read([settings.lull, "info", "--format", "json", path]))
        last = None
        for line in read([settings.listing, "--times", path]).splitlines():
            match = LINE.match(line)
            if not match:
                if line.startswith("quirk:"):
                    self.quirks.append(line)
                elif line.startswith("location: "):
                    stream = STREAM.search(line)
                    self.names.append(line)
                    self.locations.append(number_of_stream(stream) if stream else line)
                continue
            when, length, location, kind, _, rest = match.groups()
            stream = STREAM.search(location)
            if kind == "call" and stream:
                last = (location, int(when), int(length), rest[:rest.rindex(" x1")].strip())
            elif kind == "operation":
                self.add_ran(location, stream, last, rest)
            elif kind == "call":
                name, _, site = rest[:rest.rindex(" x1")].partition(" ")
                if name.startswith(prefix):
                    self.threads[location].append({"name": name, "submits": [], "depends": [], "waits": []})
                    self.sites[site.strip()] += 1
            elif self.threads[location]:
                self.add_behind(location, kind, rest.split())

    def add_ran(self, location, stream, last, rest):
        assert last and last[0] == location, location
        words = rest.split()
        number, size, thread, function = int(words[0]), int(words[2]), words[4], words[5] if len(words) > 5 else None
        self.ran.append(Ran(number_of_stream(stream), int(stream[3]), last[3], size, last[1], last[2], number, function, thread))

    def add_behind(self, location, kind, words):
        entry = self.threads[location][-1]
        if kind == "submit":
            entry["submits"].append(int(words[0]))
        elif kind == "depend":
            entry["depends"].append((int(words[0]), int(words[2])))
        else:
            entry["waits"].append((int(words[0]), int(words[2])))

    def rows(self, table):
        found = self.info["tables"].get(table)
        if not found:
            return []
        columns = [column["id"] for column in found["columns"]]
        return [dict(zip(columns, row["values"]), label=row["label"]) for row in found["rows"]]


# ---- comparison -------------------------------------------------------------------------------------------------------------

def match_operations(run, wanted, tolerance, complaints):
    """Pairs of what ran according to the run and to the mock."""
    ran = sorted(run.ran, key=lambda one: (one.stream, one.begin, one.length))
    told = sorted(wanted, key=lambda one: (one.stream, one.begin, one.end))
    compare("operations", len(ran), len(told), complaints)
    if not ran or not told or len(ran) != len(told):
        return []
    offset = min(one.begin for one in ran) - min(one.begin for one in told)
    for one, other in zip(ran, told):
        compare(f"operation {other.number}", (one.stream, one.device, one.region, one.bytes),
                (other.stream, other.device, other.region, other.bytes), complaints)
        length, begin = other.end - other.begin, other.begin + offset
        if abs(one.length - length) > tolerance or abs(one.begin - begin) > tolerance:
            complaints.append(f"operation {other.number}: from {one.begin} for {one.length} ns, expected {begin} and {length}")
        if len(complaints) > 10:
            break
    return list(zip(ran, told))


def match_calls(run, truth, pairs, complaints):
    """Number of an operation -> call, by what ran; then by the order of calls on each thread."""
    calls = {}
    for one, other in pairs:
        if other.number in truth.foreign:
            compare(f"operation {other.number} without a call", (one.number, one.function), (0, None), complaints)
            continue
        compare(f"call of operation {other.number}", calls.setdefault(one.number, other.call), other.call, complaints)
        compare(f"function of operation {other.number}", one.function, truth.function[other.call], complaints)
    compare("submissions with one number", len(set(calls.values())), len(calls), complaints)
    thread_of = {number: thread for thread, own in truth.submits.items() for number in own}
    for location, entries in run.threads.items():
        known = {thread_of[calls[n]] for entry in entries for n in entry["submits"] if n in calls}
        if not known: # a thread that submits nothing
            known = {thread for thread in truth.calls if not truth.submits[thread]}
        compare(f"{location}: threads", len(known), 1, complaints)
        if len(known) != 1:
            continue
        thread = known.pop()
        compare(f"{location}: calls", [entry["name"] for entry in entries], [name for _, name in truth.calls[thread]],
                complaints)
        numbers = [n for entry in entries for n in entry["submits"]]
        compare(f"{location}: submissions", len(numbers), len(truth.submits[thread]), complaints)
        for number, own in zip(numbers, truth.submits[thread]):
            compare(f"{location}: submission {number}", calls.setdefault(number, own), own, complaints)
    return calls


def check_order(run, truth, calls, complaints):
    """Who depends on whom, and who waits for what. One thread alone: what a context has is known then."""
    if len(truth.calls) != 1:
        return
    (own,) = truth.calls.values()
    (entries,) = run.threads.values()
    for (number, function), entry in zip(own, entries):
        what = f"call {number} {function}"
        depends = [calls.get(other, other) for _, other in entry["depends"]]
        compare(what + " depends", depends, truth.depends[number], complaints)
        wanted = truth.waits[number]
        waits = [("call", calls[n]) if n else ("stream", run.locations[location]) for n, location in entry["waits"]]
        if wanted and wanted[0][0] == "context":
            compare(what + " waits", {one[1] for one in waits}, set(wanted[0][1]), complaints)
        else:
            compare(what + " waits", waits, [(one[0], one[-1]) for one in wanted], complaints)


def check_priorities(run, truth, words, complaints):
    """Streams of managed memory have none. Where the driver tells of none, there is no column."""
    for row in run.rows("streams"):
        match = STREAM.search(row["label"])
        known = match[1] == "stream" and "no-priority" not in words
        compare(f"priority of {row['label']}", row.get("priority"), truth.priorities[int(match[2])] if known else None, complaints)
        compare("column of priorities", "priority" in row, "no-priority" not in words, complaints)


def check_lost(run, truth, complaints):
    rows = run.rows("streams")
    if len(rows) == 64: # lull info lists no more
        return
    compare("not known", sum(row["lost"] for row in rows), truth.n_lost(), complaints)
    compare("operations of lull info", sum(row["kernels"] + row["moves"] for row in rows), len(run.ran), complaints)


def check_locations(run, words, complaints):
    """A stream is one location, and a second one for what would overlap: where records come in another order than that of
    their times, from one buffer to the next."""
    names = run.names
    compare("locations with one name", [name for name in set(names) if names.count(name) > 1], [], complaints)
    if not {"shuffle", "small", "reuse"} & set(words): # of several buffers that are full two threads hand over one each
        compare("second locations", [name for name in names if "(2)" in name], [], complaints)


def check_dropped(lines, truth, complaints):
    dropped = sum(fate == "dropped" for fate in truth.fate.values())
    told = [int(match[1]) for match in (re.match(r"CUPTI has dropped (\d+) records", line) for line in lines) if match]
    compare("dropped records", told, [dropped] if dropped else [], complaints)


def check_overhead(output, truth, complaints):
    """What CUPTI took is in the last line, where the recorder's own time is little beside it."""
    told = re.search(r"recording them took about (\d+) s\. Next", output)
    if truth.overhead < 1e12 or not told or not 0.99 <= 1e9 * int(told[1]) / truth.overhead <= 1.01:
        complaints.append(f"overhead: {truth.overhead} ns, said {output[-200:]}")


def check_ranges(run, truth, complaints):
    """What was launched in which range is known by the kernel: see ranges() of cuda.c."""
    wanted = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for one in truth.operations.values():
        label = {"scale": "outer range", "_Z3addPfPKf": "(no region)"}.get(one.region, "inner range")
        at = 2 if one.region.startswith("copy") else 0
        wanted[label][at] += 1
        wanted[label][at + 1] += one.end - one.begin
        wanted[label][4] += one.bytes
    found = {row["label"]: [row["kernels"], round(row["kernel_time"] * 1e9), row["moves"], round(row["move_time"] * 1e9),
                            row["bytes"]] for row in run.rows("submitters")}
    compare("ranges", found, dict(wanted), complaints)


def check_devices(run, words, complaints):
    keys = {row["label"]: row for row in run.rows("devices")}
    for label, row in keys.items():
        device = int(label[-1])
        key = f"pci:0000:c{device + 1}:00.0" if "mig" not in words else "uuid:" + f"a{device}" * 16
        compare(label, key in row.values(), True, complaints)


# ---- forms ------------------------------------------------------------------------------------------------------------------

def environment_of(settings, version, words, **more):
    folders = [settings.mock] + ([os.path.join(settings.mock, version)] if version else [])
    own = {"LD_LIBRARY_PATH": ":".join(folders), "MOCK": words, "LULL_CLOCK": "system", **more}
    environment = launch.environment(**own)
    environment.pop("CUDA_HOME", None)
    environment.pop("CUDA_INJECTION64_PATH", None)
    return environment


def record(settings, run, arguments, environment, *options):
    return call([settings.lull, "record", "-o", run, *options, "--", settings.program, *arguments],
                env=environment)


def said(output, runtime="CUDA"):
    return re.findall(f"^lull record: {runtime}: (.*)$", output, re.M)


def test_form(settings, form, folder):
    complaints = []
    form, _, words = form.partition("/")
    version = "12" if "v12" in words.split(",") else "13"
    arguments = form.split("-") if form.startswith("random-") else [form]
    run, truth_path = os.path.join(folder, "run"), os.path.join(folder, "truth")
    environment = environment_of(settings, version, words)
    alone = call([settings.program, *arguments], env=environment)
    environment["MOCK_TRUTH"] = truth_path
    if "tsc" in words.split(","):
        del environment["LULL_CLOCK"]
    recorded = record(settings, run, arguments, environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("status alone", alone.returncode, ENDS.get(form, 0), complaints)
    if recorded.returncode == REPORTED:
        return [recorded.stderr]
    lines = said(recorded.stderr)
    wanted = {"drops": "CUPTI has dropped", "odd-times": "CUPTI ",
              "foreign": "the calls of some operations were not seen", "starved": "CUPTI has "}
    if not all(any(word in words and line.startswith(start) for word, start in wanted.items()) for line in lines):
        complaints.append(f"said {lines}")
    if "starved" in words: # before CUDA 12.9 CUPTI is never told that there is no buffer
        compare("starved", sum(line.startswith("CUPTI has no memory for its records") for line in lines), version == "13", complaints)
    seen = Run(settings, run)
    if form in ("in-call", "exit-submitting"): # the mock was interrupted while it wrote
        compare("calls are there", len(seen.threads) == 1, True, complaints)
        return complaints
    partly = form in ("abort", "quick", "seccomp") or (form == "pause-long" and "managed" in words)
    truth = Truth(truth_path, form not in ("abort", "quick"))
    if form in ("pause", "pause-long"):
        truth.leave_out("reduce")
    if partly:
        compare("more than was handed over", len(seen.ran) <= len(truth.operations), True, complaints)
    else:
        tolerance = 0
        if "tsc" in words.split(","):
            tolerance = 40000
        elif "no-clock" in words.split(","):
            tolerance = 4 + 4e9 * max(row["clock_error"] for row in seen.rows("streams"))
        pairs = match_operations(seen, truth.delivered(), tolerance, complaints)
        if not complaints:
            calls = match_calls(seen, truth, pairs, complaints)
            check_order(seen, truth, calls, complaints)
            check_lost(seen, truth, complaints)
            check_devices(seen, words, complaints)
            check_locations(seen, words.split(","), complaints)
            check_priorities(seen, truth, words.split(","), complaints)
            check_dropped(lines, truth, complaints)
            if "overhead" in words:
                check_overhead(recorded.stderr, truth, complaints)
            if form == "ranges":
                check_ranges(seen, truth, complaints)
        compare("oddities", seen.quirks, [], complaints)
    read([settings.lull, "metrics", run])
    copy = os.path.join(folder, "copy")
    read([settings.lull, "convert", "--to", "tape", run, copy])
    compare("copy", read([settings.listing, copy]), read([settings.listing, run]), complaints)
    if form.split("-")[0] in ("plain", "threads", "reset", "random", "ranges", "priorities"):
        check_converted(settings, run, folder, complaints)
    return complaints


def nearest(one, begin, told, tolerance):
    """Number of the operation that began next to that time and took as long. None: none did."""
    at = bisect.bisect_left(told, (begin,))
    found = [other for other in told[max(at - 1, 0):at + 1]
             if abs(other[0] - begin) <= tolerance and abs(other[1] - one.length) <= tolerance]
    return min(found, key=lambda other: abs(other[0] - begin))[2] if found else None


def aligned(ran, operations, tolerance):
    """Numbers of what ran, by what the mock has written: the two clocks differ by what makes all that ran one of these
    operations. None: there is no such difference."""
    told = collections.defaultdict(list)
    for one in operations:
        told[one.stream, one.region, one.bytes].append((one.begin, one.end - one.begin, one.number))
    for begins in told.values():
        begins.sort()
    for other in operations:
        offset, numbers = ran[0].begin - other.begin, []
        for one in ran:
            number = nearest(one, one.begin - offset, told[one.stream, one.region, one.bytes], tolerance)
            if number is None:
                break
            numbers.append(number)
        if len(numbers) == len(ran):
            return numbers
    return None


def test_killed(settings, form, folder):
    return check_killed(settings, form, folder, lambda words, truth: environment_of(settings, "13", words, MOCK_TRUTH=truth),
                        ("", ",shuffle", ",worker", ",inner-ids"), "cu", True)


def check_killed(settings, form, folder, environment_with, kinds, prefix, exact):
    """All that was handed over before the kill is in the run, and nothing that did not happen. Times are exact, or as
    exact as the run says."""
    complaints = []
    dice = random.Random(int(os.environ.get("LULL_TEST_SEED", "1")))
    reached = 0
    for turn in range(int(form.split("-")[1])):
        run, truth_path = os.path.join(folder, f"run{turn}"), os.path.join(folder, f"truth{turn}")
        environment = environment_with(f"killed,small{kinds[turn % len(kinds)]},seed:{turn + 1}", truth_path)
        process = subprocess.Popen([settings.lull, "record", "-o", run, "--", settings.program, "forever"],
                                   stdout=subprocess.PIPE, text=True, env=environment)
        process.stdout.readline()
        time.sleep(dice.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        truth, seen = Truth(truth_path, False), Run(settings, run, prefix)
        tolerance = 0 if exact else 4 + 4e9 * max([row["clock_error"] for row in seen.rows("streams")], default=0)
        delivered = {one.number for one in truth.delivered()}
        reached += len(delivered) > 50
        numbers = aligned(seen.ran, truth.operations.values(), tolerance) if seen.ran else []
        if numbers is None:
            complaints.append(f"turn {turn}: the run has what never happened")
            continue
        compare(f"turn {turn}: not there", sorted(delivered - set(numbers)), [], complaints)
        compare(f"turn {turn}: there twice", len(numbers), len(set(numbers)), complaints)
    if reached == 0:
        complaints.append("no program lived long enough")
    return complaints


SAID = {
    "taken": ("13", "taken", "CUPTI for another profiler has CUPTI, which one tool alone can have"),
    "taken-v1": ("12", "taken-v1,driver-12", "another tool has CUPTI"),
    "refuses": ("13", "refuses", r"CUPTI cannot be used \(CUPTI_ERROR_UNKNOWN\)"),
    "none": (None, "driver-12", "there is no libcupti of CUDA 13 or 12 that can be loaded"),
    "old-driver": (None, "driver-11", "the driver is older than CUDA 12"),
    "old": ("old", "", "libcupti lacks cuptiGetStreamIdEx"),
    "newer": ("13", "driver-14", None),
    "unknown": ("13", "unknown", "libcupti is of version 140000, which is newer than those that lull knows: what is done with CUDA"),
    "no-device": ("13", "no-device", None),
    "step": ("13", "step", "CUPTI tells times that contradict the host's"),
    "late": ("13", "late", None),
    "silent": ("13", "silent", "their runtime does not answer at the end: what they did last is not in the run"),
    "two": ("13", "two-copies", "two versions of libcupti are loaded"),
    "next": ("13", "", r".*libnext\.so, which CUDA_INJECTION64_PATH names, is loaded first"),
    "next-missing": ("13", "", "/no/such/tool.so, which CUDA_INJECTION64_PATH names, cannot be loaded"),
}


def test_other_build(settings, _, folder):
    complaints = []
    environment = environment_of(settings, "13", "", MOCK_TRUTH=os.path.join(folder, "truth"))
    alone = call([settings.program, "plain"], env=environment)
    beside = os.path.dirname(os.path.abspath(settings.lull))
    environment["CUDA_INJECTION64_PATH"] = os.path.join(beside, "liblull-record-cuda.so")
    loaded = call([settings.program, "plain"], env=environment)
    compare("output", loaded.stdout, alone.stdout, complaints)
    compare("status", loaded.returncode, alone.returncode, complaints)
    compare("said", [line for line in loaded.stderr.splitlines() if line.startswith("the other recorder: ")],
            ["the other recorder: CUDA: the library for it belongs to another build of lull than the recorder: "
             "what is done with CUDA is not recorded"], complaints)
    return complaints


def test_not_beside(settings, _, folder):
    complaints = []
    environment = environment_of(settings, "13", "", MOCK_TRUTH=os.path.join(folder, "truth"))
    alone = call([settings.program, "plain"], env=environment)
    beside = os.path.dirname(os.path.abspath(settings.lull))
    for name in ("lull", "liblull-record.so"):
        shutil.copy(os.path.join(beside, name), folder)
    settings = argparse.Namespace(**dict(vars(settings), lull=os.path.join(folder, "lull")))
    run = os.path.join(folder, "run")
    recorded = record(settings, run, ["plain"], environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("said", said(recorded.stderr), ["liblull-record-cuda.so is not beside the recorder, or cannot be read there: "
                                            "what is done with CUDA is not recorded"], complaints)
    compare("streams", bool(Run(settings, run).rows("streams")), False, complaints)
    return complaints


def test_said(settings, what, folder):
    complaints = []
    version, words, line = SAID[what]
    if what == "none" and call(["sh", "-c", "ldconfig -p 2>/dev/null | grep libcupti.so.12"]).returncode == 0:
        print("skipped: there is a libcupti of CUDA 12 here")
        return []
    environment = environment_of(settings, version, words, MOCK_TRUTH=os.path.join(folder, "truth"))
    if what == "two":
        environment["LD_LIBRARY_PATH"] += ":" + os.path.join(settings.mock, "12")
    if what == "newer": # one of CUDA 14 is there, too
        environment["LD_LIBRARY_PATH"] += ":" + os.path.join(settings.mock, "14")
    if what == "next":
        environment["CUDA_INJECTION64_PATH"] = os.path.join(settings.mock, "libnext.so")
    if what == "next-missing":
        environment["CUDA_INJECTION64_PATH"] = "/no/such/tool.so"
    alone = call([settings.program, "plain"], env=environment)
    run = os.path.join(folder, "run")
    recorded = record(settings, run, ["plain"], environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    lines = said(recorded.stderr) + said(recorded.stderr, "devices")
    if len(lines) != (line is not None) or not all(re.match(line, one) for one in lines):
        complaints.append(f"said {lines}, expected '{line}'")
    seen = Run(settings, run)
    has_streams = what in ("newer", "step", "late", "silent", "two", "next", "next-missing")
    compare("streams", bool(seen.rows("streams")), has_streams, complaints)
    if what == "no-device":
        compare("status alone", alone.returncode, SKIPPED, complaints)
    if what == "next":
        compare("the user's library", "next is loaded" in recorded.stderr, True, complaints)
    return complaints


def threads_of(process):
    """Of the threads beside the first one: name, and which signals they block."""
    found = []
    for thread in sorted(map(int, os.listdir(f"/proc/{process}/task"))):
        with open(f"/proc/{process}/task/{thread}/status") as file:
            told = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        if thread != process:
            found.append((told["Name"], int(told["SigBlk"], 16)))
    return found


def test_signals(settings, _, folder):
    """All but SIGKILL and SIGSTOP, which nobody can block, and the two of the C library's own."""
    complaints = []
    blockable = sum(1 << (number - 1) for number in range(1, 65)
                    if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33))
    process = subprocess.Popen([settings.lull, "record", "-o", os.path.join(folder, "run"), "--", settings.program, "forever"],
                               stdout=subprocess.PIPE, text=True, env=environment_of(settings, "13", ""))
    try:
        process.stdout.readline() # it has launched kernels
        threads = [(name, blocked) for name, blocked in threads_of(process.pid) if name != "mock worker"]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    compare("threads of the recorder", len(threads) >= 1, True, complaints)
    compare("threads that take signals", [name for name, blocked in threads if blocked & blockable != blockable], [], complaints)
    return complaints


def test_off(settings, _, folder):
    complaints = []
    run = os.path.join(folder, "run")
    recorded = call([settings.lull, "record", "--device", "off", "-o", run, "--", settings.program, "plain"],
                    env=environment_of(settings, "13", ""))
    compare("status", recorded.returncode, 0, complaints)
    seen = Run(settings, run)
    compare("streams", seen.rows("streams"), [], complaints)
    compare("calls", dict(seen.threads), {}, complaints)
    return complaints


SUMS = {"events": [], "summary": ["--device", "summary"], "profile": ["--profile"], "budget": ["--max-size", "1"]}


def test_sums(settings, form, folder):
    complaints = []
    form, _, words = form.partition("/")
    version = "12" if "v12" in words.split(",") else "13"
    arguments = form.split("-") if form.startswith("random-") else [form]
    environment = environment_of(settings, version, words)
    alone = call([settings.program, *arguments], env=environment)
    for kept, options in SUMS.items():
        run, truth_path = os.path.join(folder, kept), os.path.join(folder, "truth of " + kept)
        environment["MOCK_TRUTH"] = truth_path
        recorded = record(settings, run, arguments, environment, *options)
        compare(f"{kept}: output", recorded.stdout, alone.stdout, complaints)
        compare(f"{kept}: status", recorded.returncode, alone.returncode, complaints)
        odd = [line for line in said(recorded.stderr) if "drops" not in words or not line.startswith("CUPTI has dropped")]
        compare(f"{kept}: said", odd, [], complaints)
        own = []
        check_sums(settings, run, Truth(truth_path), kept, form == "many", own)
        complaints += [f"{kept}: {complaint}" for complaint in own]
    return complaints


def sums_of(operations, key):
    """key -> kernels, their ns, copies and fills, their ns, bytes"""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for one in operations:
        at = 2 if one.region.startswith(("copy ", "fill ")) else 0
        sums[key(one)][at] += 1
        sums[key(one)][at + 1] += one.end - one.begin
        sums[key(one)][4] += one.bytes
    return dict(sums)


def check_sums(settings, path, truth, kept, is_cut, complaints):
    """Sums of each stream and of each kind of operation; the calls of the host; and which events are there."""
    seen, told = Run(settings, path), truth.delivered()
    found = collections.defaultdict(lambda: [0, 0, 0, 0, 0])
    for row in seen.rows("streams"): # operations that overlap those of their stream have locations of their own
        match = STREAM.search(row["label"])
        columns = (row["kernels"], round(row["kernel_time"] * 1e9), row["moves"], round(row["move_time"] * 1e9), row["bytes"])
        sums = found[number_of_stream(match), int(match[3])]
        for i, value in enumerate(columns):
            sums[i] += value
    compare("sums of streams", {key: sums for key, sums in found.items() if any(sums)},
            sums_of(told, lambda one: (one.stream, one.device)), complaints)
    compare("not known", sum(row["lost"] for row in seen.rows("streams")), truth.n_lost(), complaints)
    metrics = json.loads(read([settings.lull, "metrics", "--whole", "--by", "region", "--format", "json", path]))
    table = next(name for name in metrics["tables"] if name.startswith("regions"))
    visits, times = collections.Counter(), collections.Counter()
    for row in rows_of(metrics, table):
        visits[row["label"]] += row["visits"] or 0
        times[row["label"]] += round((row["exclusive"] or 0) * 1e9)
    by_region = {demangled(region): sums for region, sums in sums_of(told, lambda one: one.region).items()}
    for region, (kernels, kernel_ns, moves, move_ns, _) in by_region.items():
        compare(f"visits and time of {region}", (visits[region], times[region]), (kernels + moves, kernel_ns + move_ns), complaints)
    for function, count in collections.Counter(truth.function.values()).items():
        compare(f"visits of {function}", visits[function], count, complaints)
    compare("said of operations", seen.info["facts"].get("device_operations"), "sums alone" if kept == "summary" else None, complaints)
    behind_calls = sum(len(entry[kind]) for entries in seen.threads.values() for entry in entries
                       for kind in ("submits", "depends", "waits"))
    if kept == "events":
        compare("operations on the tape", len(seen.ran), len(told), complaints)
    elif kept == "budget":
        compare("fewer operations than there were", not is_cut or 0 < len(seen.ran) < len(told), True, complaints)
    else:
        compare("operations on the tape", (len(seen.ran), behind_calls), (0, 0), complaints)
    if kept in ("events", "summary"):
        names = sorted([entry["name"] for entry in entries] for entries in seen.threads.values())
        compare("calls", names, sorted([name for _, name in own] for own in truth.calls.values()), complaints)
    if kept == "profile":
        compare("calls", dict(seen.threads), {}, complaints)


def demangled(name):
    return read(["c++filt", name]).strip()


def test_true(settings, _, folder):
    """The true libcupti finds no driver: one line, and the program is unharmed."""
    if not settings.toolkit:
        print("skipped: there is no libcupti of a CUDA toolkit here")
        sys.exit(SKIPPED)
    complaints = []
    environment = environment_of(settings, None, "")
    environment["LD_LIBRARY_PATH"] = settings.toolkit
    environment["CUDA_INJECTION64_PATH"] = os.path.join(os.path.dirname(settings.lull), "liblull-record-cuda.so")
    program = os.path.join(settings.mock, "driverless")
    run = os.path.join(folder, "run")
    recorded = call([settings.lull, "record", "-o", run, "--", program], env=environment)
    compare("output and status", (recorded.stdout, recorded.returncode), ("done\n", 3), complaints)
    lines = said(recorded.stderr)
    if len(lines) != 1 or not lines[0].startswith("CUPTI cannot be used (CUPTI_ERROR_UNKNOWN)"):
        complaints.append(f"said {lines}")
    compare("streams", Run(settings, run).rows("streams"), [], complaints)
    return complaints


def test_nvcc(settings, _, folder):
    if not settings.nvcc:
        print("skipped: there is no nvcc here")
        sys.exit(SKIPPED)
    complaints = []
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cuda", "toolkit.cu")
    compiled = call([settings.nvcc, "-c", "-o", os.path.join(folder, "toolkit.o"), source])
    compare("nvcc", compiled.returncode, 0, complaints)
    for runtime in ("static", "shared"):
        program, run = os.path.join(folder, runtime), os.path.join(folder, "run." + runtime)
        compiled = call([settings.nvcc, "-cudart", runtime, "-o", program, os.path.join(folder, "toolkit.o")])
        if compiled.returncode != 0:
            complaints.append(f"nvcc: {compiled.stderr}")
            continue
        environment = launch.environment()
        environment["LD_LIBRARY_PATH"] = settings.toolkit or ""
        alone = call([program], env=environment)
        recorded = call([settings.lull, "record", "-o", run, "--", program], env=environment)
        compare(runtime, (recorded.stdout, recorded.returncode), (alone.stdout, alone.returncode), complaints)
        Run(settings, run)
    return complaints


def test_mpi(settings, _, folder):
    """Two ranks, each with the mock to itself."""
    complaints = []
    run, truth_path = os.path.join(folder, "run"), os.path.join(folder, "truth")
    environment = environment_of(settings, "13", "", MOCK_TRUTH=truth_path)
    recorded = call([*settings.mpirun.split(), "-n", "2", settings.lull, "record", "-o", run, "--",
                     settings.program, "plain"], env=environment)
    compare("status", recorded.returncode, 0, complaints)
    compare("said", said(recorded.stderr), [], complaints)
    truths = [Truth(f"{truth_path}.{rank}") for rank in (0, 1)]
    seen = Run(settings, run)
    wanted = collections.Counter((one.stream, one.region, one.bytes, one.end - one.begin)
                                 for truth in truths for one in truth.delivered())
    compare("operations", collections.Counter((one.stream, one.region, one.bytes, one.length) for one in seen.ran), wanted,
            complaints)
    compare("devices", len(seen.rows("devices")), 2, complaints)
    return complaints


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing", "program", "mock"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--toolkit")
    parser.add_argument("--nvcc")
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    special = {"off": test_off, "true": test_true, "nvcc": test_nvcc, "mpi": test_mpi, "other-build": test_other_build,
               "not-beside": test_not_beside, "signals": test_signals}
    wrong = 0
    for form in settings.forms:
        with tempfile.TemporaryDirectory() as folder:
            if form.startswith("said:"):
                complaints = test_said(settings, form[5:], folder)
            elif form.startswith("sums:"):
                complaints = test_sums(settings, form[5:], folder)
            elif form.startswith("killed-"):
                complaints = test_killed(settings, form, folder)
            else:
                complaints = special.get(form, test_form)(settings, form, folder)
        print(f"{form}: {len(complaints)} complaints")
        for complaint in complaints[:20]:
            print("   ", complaint)
        wrong += len(complaints)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
