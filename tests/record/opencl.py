"""Records a program of OpenCL (opencl.c) and compares what the run holds with what the program says, and the program's
output and status with those that it has alone.

    opencl.py --lull LULL --listing LISTING --program OPENCL --layer LAYER FORM...

FORM is one of opencl.c, or one of these:

    killed     killed when lull finds in the run what the program said it had done
    broken     the driver that is named cannot be loaded
    off        with --device off nothing of OpenCL is recorded
    odd:KIND   a layer between lull's and the driver makes that odd (opencl_layer.c). The layer is there already,
               named by OPENCL_LAYERS, when lull's comes
"""
import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

SKIPPED = 77
SAID = ("kernel", "copy", "depends", "waits", "ran", "calls", "streams")
ENDS = {"exit": 3, "abort": -signal.SIGABRT}
COPIES = {"copy to device", "copy from device", "copy on device"}


def call(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=900, **more)


def read(command):
    done = call(command)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Run:
    """What a run holds, by lull info, the listing of events, and Chrome's JSON."""

    def __init__(self, settings, path):
        self.info = json.loads(read([settings.lull, "info", "--format", "json", path]))
        self.lines = read([settings.listing, path]).splitlines()
        chrome = path + ".json"
        read([settings.lull, "convert", "--force", "--to", "chrome", path, chrome])
        with open(chrome) as file:
            self.chrome = json.load(file)["traceEvents"]

    def matches(self, pattern):
        return [match for match in (re.search(pattern, line) for line in self.lines) if match]

    def rows(self, table):
        found = self.info["tables"].get(table)
        if not found:
            return []
        columns = [column["id"] for column in found["columns"]]
        return [dict(zip(columns, row["values"]), label=row["label"]) for row in found["rows"]]

    def on_devices(self):
        """region -> [count, bytes] of what ran: each operation stands behind its call"""
        found = collections.defaultdict(lambda: [0, 0])
        last = None
        for line in self.lines:
            match = re.match(r"(.*): call 0 (.*?) +x1$", line)
            if match:
                last = match
                continue
            ran = re.match(r"(.*): operation 0 \d+ bytes (\d+) ", line)
            if ran:
                assert last and last[1] == ran[1], line
                found[last[2]][0] += 1
                found[last[2]][1] += int(ran[2])
        return dict(found)

    def times(self):
        """number -> (begin, end) in ns, of the spans at whose begins the arrows of launches end"""
        spans = {(e["pid"], e["tid"], e["ts"]): e for e in self.chrome
                 if e["ph"] == "X" and e["cat"] == "device"}
        found = {}
        for event in self.chrome:
            if event["ph"] == "f" and event["cat"] == "launch":
                span = spans[event["pid"], event["tid"], event["ts"]]
                begin = round(span["ts"] * 1000)
                found[int(event["id"].split("-")[1])] = (begin, begin + round(span["dur"] * 1000))
        return found


def compare(what, found, wanted, complaints):
    if found != wanted:
        complaints.append(f"{what}: found {found}, expected {wanted}")


def check_said(run, said, complaints):
    """The lines of the program against the run; see opencl.c."""
    on_devices = run.on_devices()
    kernels = {line[1]: int(line[2]) for line in said["kernel"]}
    copies = {line[1].replace("@", " "): [int(line[2]), int(line[3])] for line in said["copy"]}
    if kernels:
        compare("kernels", {name: n for name, (n, _) in on_devices.items() if name not in COPIES},
                kernels, complaints)
    if copies:
        compare("copies", {name: both for name, both in on_devices.items() if name in COPIES}, copies,
                complaints)
    if said["depends"]:
        compare("dependences", [(m[1], m[2]) for m in run.matches(r": depend 0 (\d+) on (\d+)$")],
                [(line[1], line[2]) for line in said["depends"]], complaints)
    if said["waits"]:
        compare("waits", [m[1] for m in run.matches(r": device wait 0 (\d+) location")],
                [line[1] for line in said["waits"]], complaints)
    for _, function, count in said["calls"]:
        compare(function, len(run.matches(rf": call 0 {function} .*x1$")), int(count), complaints)
    for _, count in said["streams"]:
        compare("streams", len(run.rows("streams")), int(count), complaints)


def check_times(run, said, complaints):
    """Lengths and distances of operations, by the driver's times that the program has read, too. They
    may differ by the error that is told of the clock, at either end, by rounding, and where operations of a queue with
    an order would else overlap, by that error once more."""
    if not said["ran"]:
        return
    told = {int(line[1]): (int(line[2]), int(line[3])) for line in said["ran"]}
    found = run.times()
    compare("numbers", sorted(found), sorted(told), complaints)
    rows = run.rows("streams")
    error = 1e9 * max(row["clock_error"] for row in rows)
    first = min(told)
    for number in sorted(told):
        for end in (0, 1):
            by_program = told[number][end] - told[first][0]
            by_run = found[number][end] - found[first][0]
            if abs(by_program - by_run) > 4 * error + 4:
                complaints.append(f"operation {number}: {by_run} ns behind the first one's begin, "
                                  f"expected {by_program}, error {error}")


def check_whole(run, complaints, killed=False):
    """What holds for every run: each operation was submitted, by the call that it names, and lies in no
    other stream's numbers; and what lull info counts is what the events say. A program that was killed may have been
    in a call."""
    submitted = [m[1] for m in run.matches(r": submit 0 (\d+) location")]
    ran = [m[1] for m in run.matches(r": operation 0 (\d+) bytes \d+ location \d+ cl")]
    if len(set(submitted)) != len(submitted) or len(set(ran)) != len(ran):
        complaints.append("a number is there twice")
    if not set(ran) <= set(submitted):
        complaints.append(f"ran without having been submitted: {sorted(set(ran) - set(submitted))}")
    rows = run.rows("streams")
    counted = sum(row["kernels"] + row["moves"] for row in rows)
    compare("operations of lull info", counted, len(run.matches(": operation 0 ")), complaints)
    starts = [e for e in run.chrome if e["ph"] == "s" and e["cat"] == "launch"]
    compare("arrows", len(starts), len(submitted), complaints)
    if rows and len(run.rows("devices")) != 1:
        complaints.append(f"devices: {run.rows('devices')}")
    for quirk in run.matches("^quirk:.*"):
        if not (killed and "regions were open when the recording ended" in quirk[0]):
            complaints.append(quirk[0])


def said_by(output):
    said = {word: [] for word in SAID}
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in said:
            said[words[0]].append(words)
    return said


def without_times(output):
    return [line for line in output.splitlines() if not line.startswith("ran ")]


def record(settings, run, form, environment, *options):
    return call([settings.lull, "record", "--device", "full", "-o", run, *options, "--", settings.program, form],
                env=environment)


def test_form(settings, form, folder):
    complaints = []
    run = os.path.join(folder, "run")
    environment = launch.environment()
    alone = call([settings.program, form], env=environment)
    recorded = record(settings, run, form, environment)
    compare("output", without_times(recorded.stdout), without_times(alone.stdout), complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("status alone", alone.returncode, ENDS.get(form, 0), complaints)
    seen = Run(settings, run)
    if form != "abort":  # which leaves what the recorder's thread has not yet asked for
        check_said(seen, said_by(recorded.stdout), complaints)
        check_times(seen, said_by(recorded.stdout), complaints)
    check_whole(seen, complaints)
    read([settings.lull, "metrics", run])
    read([settings.lull, "report", run])
    copy = os.path.join(folder, "copy")
    read([settings.lull, "convert", "--to", "tape", run, copy])
    compare("copy", read([settings.listing, copy]).splitlines(), seen.lines, complaints)
    return complaints


def test_killed(settings, folder):
    """All that lull has once found in the run is there after the kill."""
    run = os.path.join(folder, "run")
    process = subprocess.Popen([settings.lull, "record", "--device", "full", "-o", run, "--", settings.program, "forever"],
                               stdout=subprocess.PIPE, text=True, env=launch.environment())
    try:
        while not process.stdout.readline().startswith("done 50"):
            pass
        found = 0
        while found < 50:
            found = len(subprocess.run([settings.listing, run], capture_output=True,
                                       text=True).stdout.split(": operation 0 ")) - 1
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    seen = Run(settings, run)
    complaints = []
    kernels = seen.on_devices().get("scale", [0])[0]
    if kernels < found:
        complaints.append(f"{kernels} kernels after the kill, {found} before")
    check_whole(seen, complaints, True)
    return complaints


def test_broken(settings, folder):
    complaints = []
    vendors = os.path.join(folder, "vendors")
    os.mkdir(vendors)
    with open(os.path.join(vendors, "broken.icd"), "w") as file:
        file.write("libno-such-driver.so\n")
    environment = launch.environment(OCL_ICD_VENDORS=vendors)
    run = os.path.join(folder, "run")
    alone = call([settings.program, "plain"], env=environment)
    recorded = record(settings, run, "plain", environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("status alone", alone.returncode, SKIPPED, complaints)
    compare("streams", Run(settings, run).rows("streams"), [], complaints)
    return complaints


def test_off(settings, folder):
    complaints = []
    run = os.path.join(folder, "run")
    recorded = record(settings, run, "plain", launch.environment(), "--device", "off")
    compare("status", recorded.returncode, 0, complaints)
    seen = Run(settings, run)
    compare("streams", seen.rows("streams"), [], complaints)
    compare("calls", len(seen.matches(r": call 0 cl")), 0, complaints)
    return complaints


# What is said, and of the 40 operations of a profiled program how many are on the device, and how many lost. A program
# of 14 operations that needs no profiling stands for it where the driver refuses that.
ODD = {
    "timer": ("", 40, 0),
    "other-clock": ("clGetDeviceAndHostTimer tells of another clock than events do", 40, 0),
    "refuses": ("a queue with profiling is refused", 0, 14),
    "without-times": ("", 0, 14),
    "contradicts": ("the driver tells times that contradict the host's", 0, 40),
    "runs-for-ever": ("", 0, 40),
}


def test_odd(settings, kind, folder):
    complaints = []
    run = os.path.join(folder, "run")
    environment = launch.environment(OPENCL_LAYERS=settings.layer, ODD_DRIVER=kind)
    said, ran, lost = ODD[kind]
    form = "plain" if lost == 14 else "profiled"
    alone = call([settings.program, form], env=environment)
    if f"odd driver: {kind}" not in alone.stderr:
        print("skipped: this loader takes no layers")
        sys.exit(SKIPPED)
    recorded = record(settings, run, form, environment)
    compare("output", without_times(recorded.stdout), without_times(alone.stdout), complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    lines = re.findall("^lull record: OpenCL: (.*)$", recorded.stderr, re.M)
    if len(lines) != (said != "") or not all(line.startswith(said) for line in lines):
        complaints.append(f"said {lines}, expected '{said}'")
    seen = Run(settings, run)
    rows = seen.rows("streams")
    compare("operations", sum(row["kernels"] + row["moves"] for row in rows), ran, complaints)
    compare("lost", sum(row["lost"] for row in rows), lost, complaints)
    if ran:
        check_said(seen, said_by(recorded.stdout), complaints)
        check_times(seen, said_by(recorded.stdout), complaints)
    check_whole(seen, complaints)
    return complaints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--listing", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--layer", required=True)
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    if call([settings.program, "exit"], env=launch.environment()).returncode == SKIPPED:
        print("skipped: there is no OpenCL device here (PoCL is one: pocl-opencl-icd)")
        return SKIPPED
    special = {"killed": test_killed, "broken": test_broken, "off": test_off}
    wrong = 0
    for form in settings.forms:
        with tempfile.TemporaryDirectory() as folder:
            test = special.get(form)
            if form.startswith("odd:"):
                complaints = test_odd(settings, form[4:], folder)
            else:
                complaints = test(settings, folder) if test else test_form(settings, form, folder)
        print(f"{form}: {len(complaints)} complaints")
        for complaint in complaints:
            print("   ", complaint)
        wrong += len(complaints)
    return 1 if wrong else 0


sys.exit(main())
