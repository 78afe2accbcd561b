"""Records a program of ROCm (rocm/rocm.c) on a mock of HIP and rocprofiler-sdk (rocm/mock.h) and compares what the run holds with
what the mock has written down, as cuda.py does; times come from another clock than the recorder's, and are exact to its error.

    rocm.py --lull LULL --listing LISTING --program ROCM --mock FOLDER FORM...

FOLDER has the mock's libraries; its folder `lacks` a librocprofiler-sdk without a function. FORM is a form of rocm.c, with `/` and
words of the mock behind it; random-SEED-COUNT; killed-COUNT; said:WHAT (SAID); user: ROCP_TOOL_LIBRARIES is set; hardware: what lull info says of ROCm.
"""
import argparse
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cuda
import launch
from cuda import Run, Truth, compare
from devices import call, read, rows_of


def environment_of(settings, words, truth=None, folder=""):
    own = {"LD_LIBRARY_PATH": ":".join([os.path.join(settings.mock, folder), settings.mock]), "MOCK": words, "LULL_CLOCK": "system"}
    if truth:
        own["MOCK_TRUTH"] = truth
    environment = launch.environment(**own)
    environment.pop("ROCP_TOOL_LIBRARIES", None)
    return environment


def record(settings, run, arguments, environment):
    return call([settings.lull, "record", "-o", run, "--", settings.program, *arguments], env=environment)


def n_lost(truth):
    """Operations whose times are not known; and calls of which a kernel was submitted, and no record names them."""
    named, with_kernels = set(), set()
    for one in truth.operations.values():
        if truth.fate[one.number] in ("delivered", "lost") and one.number not in truth.foreign:
            named.add(one.call)
        if not one.region.startswith("copy"):
            with_kernels.add(one.call)
    return sum(fate == "lost" for fate in truth.fate.values()) + len(with_kernels - named)


def on_other_streams(truth):
    """Operations whose record names no call stand on the stream of their queue, copies on one for all."""
    for number in truth.foreign:
        one = truth.operations[number]
        truth.operations[number] = one._replace(stream=cuda.COPIES if one.region.startswith("copy") else -1 - one.stream % 4)


def leave_out_waits(truth):
    """A stream is known when a kernel or a copy was submitted to it: before, there is nothing to wait for. Where several
    devices are used, nobody says which one a call waits for that names none."""
    first = {}
    for one in truth.operations.values():
        first[one.stream] = min(one.call, first.get(one.stream, one.call))
    several = len({one.device for one in truth.operations.values()}) > 1
    for number, waits in truth.waits.items():
        known = {stream for stream, call in first.items() if call <= number}
        kept = []
        for one in waits:
            if one[0] == "context" and not several:
                kept.append(("context", one[1] & known))
            elif one[0] == "call" or one[0] == "stream" and one[2] in known and not (several and one[2] == 0):
                kept.append(one)
        truth.waits[number] = kept


def check_said(lines, words, truth, complaints):
    wanted = {"drops": "rocprofiler-sdk has dropped", "odd-times": "rocprofiler-sdk (does not know|tells times)",
              "foreign": "the calls of some operations were not seen"}
    if not all(any(word in words and re.match(start, line) for word, start in wanted.items()) for line in lines):
        complaints.append(f"said {lines}")
    told = [int(match[1]) for match in (re.match(r"rocprofiler-sdk has dropped (\d+)", line) for line in lines) if match]
    compare("dropped records", told, [truth.drops_told] if truth.drops_told else [], complaints)


def check_devices(run, words, complaints):
    places = ("pci:0000:c1:00.0", "rocm:2") if "partition" in words else ("pci:0000:c1:01.0", "pci:0000:c2:01.0")
    for row in run.rows("devices"):
        compare(row["label"], (row["key"], row["runtime"]), (places[int(row["label"][-1])], "ROCm"), complaints)


def test_form(settings, form, folder):
    complaints = []
    form, _, words = form.partition("/")
    words = words.split(",")
    arguments = form.split("-") if form.startswith("random-") else [form]
    run, truth_path = os.path.join(folder, "run"), os.path.join(folder, "truth")
    alone = call([settings.program, *arguments], env=environment_of(settings, ",".join(words)))
    recorded = record(settings, run, arguments, environment_of(settings, ",".join(words), truth_path))
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", recorded.returncode, alone.returncode, complaints)
    compare("status alone", alone.returncode, cuda.ENDS.get(form, 0), complaints)
    if recorded.returncode == cuda.REPORTED:
        return [recorded.stderr]
    lines, seen = cuda.said(recorded.stderr, "ROCm"), Run(settings, run, "hip")
    if form == "in-call": # a signal may have interrupted the mock while it wrote
        compare("calls are there", len(seen.threads) == 1, True, complaints)
        return complaints
    truth = Truth(truth_path, form not in ("abort", "quick"))
    check_said(lines, words, truth, complaints)
    if form in ("pause", "pause-long"):
        truth.leave_out("reduce")
    if form in ("abort", "quick"):
        compare("more than was handed over", len(seen.ran) <= len(truth.operations), True, complaints)
    else:
        leave_out_waits(truth)
        on_other_streams(truth)
        tolerance = 4 + 4e9 * max([row["clock_error"] for row in seen.rows("streams")], default=0)
        pairs = cuda.match_operations(seen, truth.delivered(), tolerance, complaints)
        if not complaints:
            calls = cuda.match_calls(seen, truth, pairs, complaints)
            cuda.check_order(seen, truth, calls, complaints)
            rows = seen.rows("streams")
            if len(rows) < 64: # lull info lists no more
                compare("not known", sum(row["lost"] for row in rows), n_lost(truth), complaints)
            check_devices(seen, words, complaints)
            if "foreign" not in words:
                cuda.check_locations(seen, words, complaints)
        compare("oddities", seen.quirks, [], complaints)
    read([settings.lull, "metrics", run])
    copy = os.path.join(folder, "copy")
    read([settings.lull, "convert", "--to", "tape", run, copy])
    compare("copy", read([settings.listing, copy]), read([settings.listing, run]), complaints)
    return complaints


SAID = {
    "version-0": ("version-0", "", "rocprofiler-sdk has version 0.5, and only 1 is known"),
    "version-2": ("version-2", "", "rocprofiler-sdk has version 2.0, and only 1 is known"),
    "conflict": ("conflict", "", "rocprofiler-sdk cannot be used (the context cannot be started, as where another tool has it)"),
    "lacks": ("", "lacks", "rocprofiler-sdk lacks rocprofiler_get_timestamp"),
    "none": ("", "none", None),
    "late": ("late", "", None),
}


def test_said(settings, what, folder):
    complaints = []
    words, libraries, line = SAID[what]
    environment = environment_of(settings, words, folder=libraries)
    if what == "none":
        environment["LD_LIBRARY_PATH"] = os.path.join(settings.mock, "none")
    alone = call([settings.program, "plain"], env=environment)
    run = os.path.join(folder, "run")
    recorded = record(settings, run, ["plain"], environment)
    compare("output", recorded.stdout, alone.stdout, complaints)
    compare("status", (recorded.returncode, alone.returncode), (0, 0), complaints)
    lines = cuda.said(recorded.stderr, "ROCm")
    if len(lines) != (line is not None) or not all(one.startswith(line) for one in lines):
        complaints.append(f"said {lines}, expected '{line}'")
    seen = Run(settings, run, "hip")
    compare("streams", bool(seen.rows("streams")), what == "late", complaints)
    return complaints


def test_user(settings, _, folder):
    """A tool of the user's stays, and the program's environment, too."""
    complaints = []
    run, truth_path = os.path.join(folder, "run"), os.path.join(folder, "truth")
    environment = environment_of(settings, "", truth_path)
    environment["ROCP_TOOL_LIBRARIES"] = "/no/such/tool.so"
    recorded = record(settings, run, ["plain"], environment)
    compare("status", recorded.returncode, 0, complaints)
    compare("operations", len(Run(settings, run, "hip").ran), len(Truth(truth_path).delivered()), complaints)
    return complaints


def test_hardware(settings, _, __):
    """As long as ROCm has not been run on hardware, `lull info` says so."""
    complaints = []
    rows = rows_of(json.loads(read([settings.lull, "info", "--format", "json"])), "devices")
    told = [(row["tested"], row["hardware"]) for row in rows if row["label"] == "ROCm"]
    compare("of ROCm", told, [("a mock of HIP and of rocprofiler-sdk", "never run")], complaints)
    return complaints


def test_killed(settings, form, folder):
    return cuda.check_killed(settings, form, folder, lambda words, truth: environment_of(settings, words, truth),
                             ("", ",shuffle", ",worker", ",other-ids"), "hip", False)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing", "program", "mock"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    wrong = 0
    for form in settings.forms:
        with tempfile.TemporaryDirectory() as folder:
            if form.startswith("said:"):
                complaints = test_said(settings, form[5:], folder)
            elif form.startswith("killed-"):
                complaints = test_killed(settings, form, folder)
            else:
                complaints = {"user": test_user, "hardware": test_hardware}.get(form, test_form)(settings, form, folder)
        print(f"{form}: {len(complaints)} complaints", *complaints[:20], sep="\n    ")
        wrong += len(complaints)
    return 1 if wrong else 0


sys.exit(main())
