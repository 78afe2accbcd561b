"""How much memory a process had over time is known, also of one that is killed, of one whose sums alone are kept, of a
packed run and of a copy: each reading is what the program says of itself after one of its steps, within as much as
kernels let the counters of a thread lag behind. With --rate the report finds the growth that the program measures.

    leak.py --lull LULL --program LEAK --readings READINGS_OF [--rate]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

KIB, LAG = 1 << 10, 64 * 4096  # bytes: Linux before 6.2 adds up the pages of a thread at every 64th fault
STEP = 4096  # KiB, far more than that


def record(settings, run, steps, how, options):
    done = subprocess.run([settings.lull, "record", *options, "-o", run, settings.program, str(STEP), str(steps), how],
                          capture_output=True, text=True, timeout=600)
    if done.returncode not in ((-9, 137) if how == "killed" else (0,)):
        sys.exit("status %d: %s" % (done.returncode, done.stderr))
    return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]


def readings(settings, run):
    done = subprocess.run([settings.readings, run], check=True, capture_output=True, text=True)
    return [tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines()]


def wrong_readings(found, said):
    """The first reading comes before the first step, the last one behind a step. In between each belongs to a step, no
    earlier than the one before."""
    if len(found) < 3:
        return ["%d readings" % len(found)]
    wrong, at = [], 0
    for time, size in found[1:]:
        while at < len(said) and size > KIB * said[at][1] + LAG:
            at += 1
        if at == len(said) or abs(size - KIB * said[at][1]) > LAG:
            wrong.append("at %d ns it has %d bytes, which it never said" % (time, size))
    first = KIB * (said[0][1] - STEP)
    if abs(found[0][1] - first) > LAG + (1 << 20):  # what it still takes before its first step
        wrong.append("at its begin it has %d bytes, expected some %d" % (found[0][1], first))
    if any(b[0] <= a[0] for a, b in zip(found, found[1:])):
        wrong.append("times do not ascend")
    return wrong


def check_forms(settings, folder):
    wrong = check_growth(settings, folder)
    for name, how, options in (("ends", "end", []), ("profile", "end", ["--profile"]), ("killed", "killed", []),
                               ("newest", "end", ["--keep", "last:1MiB"])):
        run = os.path.join(folder, name)
        said = record(settings, run, 10, how, options)
        found = readings(settings, run)
        wrong += ["%s: %s" % (name, line) for line in wrong_readings(found, said)]
        if name != "killed" and found and abs(found[-1][1] - KIB * said[-1][1]) > LAG:
            wrong.append("%s: the last reading is %r" % (name, found[-1]))
        packed, copy = run + ".packed", run + ".copy"
        shutil.copytree(run, packed)
        subprocess.run([settings.lull, "pack", packed], check=True, capture_output=True)
        if readings(settings, packed) != found:
            wrong.append("%s: packed it is another" % name)
        if "--profile" in options:
            continue  # is not converted
        subprocess.run([settings.lull, "convert", "--to", "tape", run, copy], check=True, capture_output=True)
        if readings(settings, copy) != found:
            wrong.append("%s: its copy is another" % name)
    return wrong


def find_growth(settings, run):
    report = subprocess.run([settings.lull, "report", "--format", "json", run], check=True, capture_output=True,
                            text=True)
    return [{fact["id"]: fact["value"] for fact in one["evidence"]} for one in json.loads(report.stdout)["findings"]
            if one["rule"] == "memory_growth"]


def check_growth(settings, folder):
    """It is found in 48 steps, at the end of each of which there is a reading where that takes less than 60 us, and
    drawn. With fewer than 32 readings nothing is said."""
    run, page = os.path.join(folder, "grows"), os.path.join(folder, "page.html")
    record(settings, run, 48, "end", [])
    found, expected = len(find_growth(settings, run)), len(readings(settings, run)) >= 32
    wrong = [] if found == expected else ["%d findings of growth, expected %d" % (found, expected)]
    subprocess.run([settings.lull, "report", "-o", page, run], check=True, capture_output=True)
    with open(page) as text:
        return wrong if "resident or swapped out" in text.read() else wrong + ["the page has no curve"]


def check_rate(settings, folder):
    """In the second half of its steps the program says how much it took in how many ns."""
    run = os.path.join(folder, "grows")
    half = record(settings, run, 48, "end", [])[24:]
    rate = KIB * (half[-1][1] - half[0][1]) / (1e-9 * (half[-1][0] - half[0][0]))
    found = find_growth(settings, run)
    if len(found) != 1 or not 0.95 * rate < found[0]["growth"] < 1.05 * rate:
        return ["growth is %r, and the program says %g" % (found, rate)]
    return []


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program", "readings"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rate", action="store_true")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = (check_rate if settings.rate else check_forms)(settings, folder)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
