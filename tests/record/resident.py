"""How much memory a process had is known to the page, also of one that is killed, of one whose sums alone are kept, and
of one whose child has more. The truth is the system's high-water mark, which the program prints. A copy says the same, and
`lull metrics` does, also of the profile that it saves. `lull fit` finds how it grows.

    resident.py --lull LULL --program RESIDENT
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

MIB, SLACK = 1 << 20, 4 << 20  # what the program still takes when it has printed
SIZE = 96


def told(lull, *words):
    done = subprocess.run([lull, *words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def most(lull, run):
    """By the table of processes, whose id ends with the name of the run."""
    tables = told(lull, "metrics", "--by", "process", "--format", "json", run)["tables"]
    table = next(value for name, value in tables.items() if name.startswith("processes"))
    memory = [column["id"] for column in table["columns"]].index("memory")
    largest = next(row for tree in tables.values() for row in tree["rows"] if row["id"] == "memory_process")
    values = [row["values"][memory] for row in table["rows"]]
    return values if max(values) == largest["values"][0] else ["the rows differ"]


def wrong_growth(lull, program, folder):
    """Five programs of which each has 16 MiB more than the one before: the law says so."""
    sizes, runs, wrong = range(16, 96, 16), [], []
    for size in sizes:
        runs.append(os.path.join(folder, "size%d" % size))
        subprocess.run([lull, "record", "-o", runs[-1], program, str(size), "end"], check=True, capture_output=True)
    fit = [lull, "fit", "--y", "memory", "--sizes", ",".join(map(str, sizes)), "--at", "160", "--extrapolate"]
    at = told(lull, *fit[1:], "--format", "json", *runs)
    if at["facts"].get("kind") != "quantity":
        wrong.append("fit takes memory as %r" % at["facts"].get("kind"))
    predicted = next(row["values"][0] for table in at["tables"].values() for row in table["rows"]
                     if row["label"].strip() == "160")
    if not 160 * MIB <= predicted <= 160 * MIB + 4 * SLACK:
        wrong.append("fit predicts %r bytes at 160 MiB" % predicted)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, how, status, options in (("ends", "end", 0, []), ("profile", "end", 0, ["--profile"]),
                                           ("killed", "killed", -9, []), ("forks", "forks", 0, [])):
            run = os.path.join(folder, name)
            done = subprocess.run([settings.lull, "record", *options, "-o", run, settings.program, str(SIZE), how],
                                  capture_output=True, text=True, timeout=600)
            if done.returncode not in (status, 128 - status):
                wrong.append("%s: status %d: %s" % (name, done.returncode, done.stderr))
            mark = 1024 * int(done.stdout)
            if not SIZE * MIB <= mark < SIZE * MIB * 2:
                wrong.append("%s: the program says %d" % (name, mark))
            values = most(settings.lull, run)
            if len(values) != 1 or not mark - (0 if how != "killed" else SLACK) <= values[0] <= mark + SLACK:
                wrong.append("%s: %r, and the program says %d" % (name, values, mark))
            if "memory" not in told(settings.lull, "info", "--format", "json", run)["facts"]:
                wrong.append("%s: lull info does not tell it" % name)
            if "--profile" in options:
                continue  # is not converted
            copy, saved = run + ".copy", run + ".json"
            subprocess.run([settings.lull, "convert", "--to", "tape", run, copy], check=True, capture_output=True)
            with open(saved, "w") as out:
                subprocess.run([settings.lull, "metrics", "--format", "json", run], check=True, stdout=out)
            for other in (copy, saved):
                if most(settings.lull, other) != values:
                    wrong.append("%s: %s says something else" % (name, other))
        wrong += wrong_growth(settings.lull, settings.program, folder)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
