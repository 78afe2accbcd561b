"""What a run holds of devices, compared with what the program says that it did there (the lines of opencl.c)."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
SAID = ("kernel", "copy", "depends", "waits", "ran", "calls", "streams")
COPIES = {"copy to device", "copy from device", "copy on device"}


def call(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=1700, **more)


def read(command):
    done = call(command)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rows_of(document, table):
    found = document["tables"].get(table)
    if not found:
        return []
    columns = [column["id"] for column in found["columns"]]
    return [dict(zip(columns, row["values"]), label=row["label"]) for row in found["rows"]]


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
        return rows_of(self.info, table)

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
                name = re.sub(r"^(!\$omp target kernel) .*", r"\1", last[2])  # without its place
                found[name][0] += 1
                found[name][1] += int(ran[2])
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
    kernels = {line[1].replace("@", " "): int(line[2]) for line in said["kernel"]}
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


def check_whole(run, complaints, killed=False):
    """What holds for every run: each operation was submitted, by the call that it names, and lies in no
    other stream's numbers; and what lull info counts is what the events say. A program that was killed may have been
    in a call."""
    submitted = [m[1] for m in run.matches(r": submit 0 (\d+) location")]
    ran = [m[1] for m in run.matches(r": operation 0 (\d+) bytes \d+ location \d+")]
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


# ---- other formats ----------------------------------------------------------------------------------------------------------

# When, on which location, what, its numbers, and the call that submitted it. Behind that may stand the call's place,
# which the other formats do not tell here.
LAUNCH = re.compile(r"(\d+) 0 (.*?): (submit|depend|device wait|operation) 0 (\d+ (?:bytes \d+ )?(?:location|on) \d+"
                    r"(?: sequence \d+)?(?: peer \d+)?(?: [^ ]+)?)")


def launches(settings, path):
    """What threads submitted and waited for, and what streams ran, by location in its order."""
    found = collections.defaultdict(list)
    for line in read([settings.listing, "--times", path]).splitlines():
        match = LAUNCH.match(line)
        if match:
            found[match[2]].append((int(match[1]), match[3], match[4]))
    return dict(found)


def tables(settings, path, by):
    """The tables of devices, streams or operations, without the name of the run, and without the places of calls, which
    the other formats do not tell."""
    document = json.loads(read([settings.lull, "metrics", "--whole", "--by", by, "--format", "json", path]))
    found = {}
    for name, table in document["tables"].items():
        kept = [i for i, column in enumerate(table["columns"]) if column["id"] != "submitted_by"]
        if ":" in name:
            found[name.split(":")[0]] = [(row["label"], [row["values"][i] for i in kept]) for row in table["rows"]]
    return found


def priorities(settings, path):
    """Streams with their priorities; None: not known."""
    return sorted((row["label"], row.get("priority")) for row in
                  rows_of(json.loads(read([settings.lull, "info", "--format", "json", path])), "streams"))


def submitters(settings, path):
    """Regions of the host with what devices did that was submitted within them."""
    return sorted((row["label"], *row.values()) for row in
                  rows_of(json.loads(read([settings.lull, "info", "--format", "json", path])), "submitters"))


def check_converted(settings, path, folder, complaints):
    """OTF2 and Paraver hold what was launched, and tell it in ways that others understand."""
    wanted = launches(settings, path)
    operations = [one for lines in wanted.values() for one in lines if one[1] == "operation"]
    submitted = {one[2].split()[0] for lines in wanted.values() for one in lines if one[1] == "submit"}
    for form, name in (("otf2", "run.otf2"), ("paraver", "run.prv")):
        copy = os.path.join(folder, name)
        read([settings.lull, "convert", "--to", form, path, copy])
        compare(form, launches(settings, copy), wanted, complaints)
        compare(f"{form} by region of the host", submitters(settings, copy), submitters(settings, path), complaints)
        compare(f"{form} priorities", priorities(settings, copy), priorities(settings, path), complaints)
        for by in ("kernel", "stream", "device"):
            compare(f"{form} by {by}", tables(settings, copy, by), tables(settings, path, by), complaints)
    with open(os.path.join(folder, "run.prv")) as file:
        lines = sum(line.startswith("3:") for line in file)
    compare("lines of Paraver", lines, sum(one[2].split()[0] in submitted for one in operations), complaints)
    if shutil.which("otf2-print"):
        printed = read(["otf2-print", os.path.join(folder, "run.otf2", "traces.otf2")])
        compare("operations by otf2-print", printed.count('"lull device: runs operation"'), len(operations), complaints)
        compare("streams by otf2-print", "CUDA_STREAM_REF" in printed, len(submitted) > 0, complaints)


def said_by(output):
    said = {word: [] for word in SAID}
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in said:
            said[words[0]].append(words)
    return said
