"""Records a program of OpenCL (opencl.c) and compares what the run holds with what the program says, and the program's
output and status with those that it has alone.

    opencl.py --lull LULL --listing LISTING --program OPENCL --opened OPENED --layer LAYER FORM...

FORM is one of opencl.c, or one of these:

    opened:FORM  one of opencl_opened.c, which is no user of OpenCL, or a late one
    killed     killed when lull finds in the run what the program said it had done
    broken     drivers that are named cannot be loaded
    off        with --device off nothing of OpenCL is recorded
    sums       with --device summary, --profile, and beyond --max-size, sums tell what events do not
    odd:KIND   a layer between lull's and the driver makes that odd (opencl_layer.c). The layer is there already,
               named by OPENCL_LAYERS, when lull's comes
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
from devices import SKIPPED, Run, call, check_converted, check_said, check_whole, compare, read, rows_of, said_by

ENDS = {"exit": 3, "abort": -signal.SIGABRT}


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


def without_times(output):
    return [line for line in output.splitlines() if not line.startswith("ran ")]


def program_of(settings, form):
    return [settings.opened, form.split(":")[1]] if form.startswith("opened:") else [settings.program, form]


def record(settings, run, form, environment, *options):
    return call([settings.lull, "record", "-o", run, *options, "--", *program_of(settings, form)], env=environment)


def test_form(settings, form, folder):
    complaints = []
    run = os.path.join(folder, "run")
    environment = launch.environment()
    alone = call(program_of(settings, form), env=environment)
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
    if form != "abort":
        check_converted(settings, run, folder, complaints)
    return complaints


def test_killed(settings, folder):
    """All that lull has once found in the run is there after the kill."""
    run = os.path.join(folder, "run")
    process = subprocess.Popen([settings.lull, "record", "-o", run, "--", settings.program, "forever"],
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


# Files of a vendors' folder, and what is said of them: which file names which library, or nothing. GOOD stands for the files
# of this machine.
GOOD = "the drivers that are here"
BROKEN = [
    ({"broken.icd": "libno-such-driver.so\n"}, "broken.icd names libno-such-driver.so"),
    ({"broken.icd": "/no/such/driver.so"}, "broken.icd names /no/such/driver.so"),
    ({"odd.icd": "lib\33[31mred.so\r\n"}, "odd.icd names lib?[31mred.so"),
    ({"a.icd": "libno-a.so\n", "b.icd": "libno-a.so\n", "c.icd": "\n"}, "[ab].icd names libno-a.so (and 1 more)"),
    ({"broken.icd": "libno-such-driver.so\n", GOOD: ""}, None),
    ({"no-driver.icd": "libc.so.6\n"}, None),
    ({"empty.icd": "", "notes.txt": "libno-such-driver.so\n"}, None),
    ({}, None),
]


def check_broken(settings, folder, form, vendors, wanted, status, complaints, *options):
    """`wanted` is a pattern for all that is said of OpenCL; None: nothing. `vendors` may have OCL_ICD_FILENAMES behind a comma."""
    vendors, _, names = vendors.partition(",")
    environment = launch.environment(OCL_ICD_VENDORS=vendors, **({"OCL_ICD_FILENAMES": names} if names else {}))
    run = os.path.join(tempfile.mkdtemp(dir=folder), "run")
    alone = call(program_of(settings, form), env=environment)
    recorded = record(settings, run, form, environment, *options)
    what = f"{form} {options} {vendors} {wanted}"
    compare(f"{what}: output", without_times(recorded.stdout), without_times(alone.stdout), complaints)
    compare(f"{what}: status", recorded.returncode, alone.returncode, complaints)
    compare(f"{what}: status alone", alone.returncode, status, complaints)
    lines = re.findall("^lull record: (OpenCL: .*)$", recorded.stderr, re.M)
    if len(lines) != (wanted is not None) or not all(re.fullmatch(wanted, line) for line in lines):
        complaints.append(f"{what}: said {lines}")
    if status == SKIPPED:
        compare(f"{what}: streams", Run(settings, run).rows("streams"), [], complaints)


def pattern_of(folder, line):
    text = "OpenCL: none of its drivers is loaded: " + (folder + "/" if folder else "") + line
    return re.escape(text).replace(re.escape("[ab]"), "[ab]")


def make_vendors(folder, files):
    os.mkdir(folder)
    for name, content in files.items():
        if name != GOOD:
            with open(os.path.join(folder, name), "w", newline="") as file:
                file.write(content)
            continue
        for good in glob.glob("/etc/OpenCL/vendors/*.icd"):
            shutil.copy(good, folder)


def test_broken(settings, folder):
    """Where no driver that is named is loaded, one line says which; the program ends as it does alone."""
    complaints = []
    for number, (files, line) in enumerate(BROKEN):
        vendors = os.path.join(folder, f"vendors{number}")
        make_vendors(vendors, files)
        wanted = pattern_of(vendors, line) if line else None
        check_broken(settings, folder, "plain", vendors, wanted, 0 if GOOD in files else SKIPPED, complaints)
    first, pattern = os.path.join(folder, "vendors0"), pattern_of(os.path.join(folder, "vendors0"), BROKEN[0][1])
    check_broken(settings, folder, "opened:platforms", first, pattern, SKIPPED, complaints)
    check_broken(settings, folder, "opened:absent", first, None, 0, complaints)
    check_broken(settings, folder, "plain", first, None, SKIPPED, complaints, "--device", "off")
    check_broken(settings, folder, "plain", first + "/broken.icd", pattern, SKIPPED, complaints)
    check_broken(settings, folder, "plain", first + ",libno-b.so:/no/c.so", pattern + re.escape(" (and 2 more)"), SKIPPED, complaints)
    check_broken(settings, folder, "plain", first + ",libno-b.so:/lib/libc.so.6", None, SKIPPED, complaints)
    library = "OCL_ICD_VENDORS names libno-such-driver.so"
    check_broken(settings, folder, "plain", "libno-such-driver.so", pattern_of("", library), SKIPPED, complaints)
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


def test_sums(settings, folder):
    """20 kernels and 20 copies of 16,384 bytes. Their time is compared with what events say of another run only as far
    as it must be: there is some."""
    complaints = []
    for options in ([], ["--device", "summary"], ["--profile"], ["--max-size", "1"]):
        run = os.path.join(folder, "run" + "".join(options))
        alone = call([settings.program, "queues"], env=launch.environment())
        recorded = record(settings, run, "queues", launch.environment(), *options)
        compare("output", recorded.stdout, alone.stdout, complaints)
        kept = [run]
        if options == ["--device", "summary"]:
            kept.append(os.path.join(folder, "copy"))
            read([settings.lull, "convert", "--to", "tape", run, kept[1]])
        for path in kept:
            check_sums(settings, path, options, complaints)
    return complaints


def check_sums(settings, path, options, complaints):
    what = " ".join(options)
    info = json.loads(read([settings.lull, "info", "--format", "json", path]))
    rows = rows_of(info, "streams")
    for column, wanted in (("kernels", 20), ("moves", 20), ("bytes", 20 * 16384)):
        compare(f"{what}: {column}", sum(row[column] for row in rows), wanted, complaints)
    if not all(row["kernel_time"] > 0 and row["move_time"] > 0 for row in rows):
        complaints.append(f"{what}: times {rows}")
    summary = options == ["--device", "summary"]
    compare(f"{what}: said", info["facts"].get("device_operations"), "sums alone" if summary else None, complaints)
    metrics = json.loads(read([settings.lull, "metrics", "--by", "region", "--format", "json", path]))
    table = next(name for name in metrics["tables"] if name.startswith("regions"))
    regions = {row["label"]: row for row in rows_of(metrics, table)}
    for region in ("scale", "copy to device"):
        compare(f"{what}: visits of {region}", regions[region]["visits"], 20, complaints)
    if summary:  # sums tell nothing of a part of the run
        part = json.loads(read([settings.lull, "metrics", "--window", "0:1ms", "--format", "json", path]))
        values = [row["values"][0] for row in part["tables"]["device"]["rows"]]
        compare(f"{what}: metrics of devices in a part", set(values), {None}, complaints)
    lines = read([settings.listing, path]).splitlines() if options in ([], ["--device", "summary"]) else []
    ran = [line for line in lines if ": operation 0 " in line or ": submit 0 " in line]
    compare(f"{what}: events of operations", len(ran), 0 if summary or not lines else 80, complaints)


# What is said, and of the 40 operations of a profiled program how many are on the device, and how many lost. A program
# of 14 operations that needs no profiling stands for it where the driver refuses that.
ODD = {
    "timer": ("", 40, 0),
    "other-clock": ("clGetDeviceAndHostTimer tells of another clock than events do", 40, 0),
    "refuses": ("a queue with profiling is refused", 0, 14),
    "without-times": ("", 0, 14),
    "contradicts": ("the driver tells times that contradict the host's", 0, 40),
    "backwards": ("the driver tells times that contradict the host's", 0, 40),
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
    parser.add_argument("--opened", required=True)
    parser.add_argument("--layer", required=True)
    parser.add_argument("forms", nargs="+")
    settings = parser.parse_args()
    if call([settings.program, "exit"], env=launch.environment()).returncode == SKIPPED:
        print("skipped: there is no OpenCL device here (PoCL is one: pocl-opencl-icd)")
        return SKIPPED
    special = {"killed": test_killed, "broken": test_broken, "off": test_off, "sums": test_sums}
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
