"""What the system's kernel did for threads is known of those that end, of those that run on, and of a program
that is killed. The program touches a number of fresh pages, so that it has as many page faults or more.

    page_faults.py --lull LULL --program PAGE_FAULTS
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PAGES = 5000


def told(lull, run):
    info = subprocess.run([lull, "info", "--format", "json", run], check=True, capture_output=True, text=True)
    return json.loads(info.stdout)["facts"]


def of_threads(lull, run):
    """The page faults of each thread."""
    metrics = subprocess.run([lull, "metrics", "--by", "thread", "--format", "json", run], check=True,
                             capture_output=True, text=True)
    table = next(table for name, table in json.loads(metrics.stdout)["tables"].items() if name.startswith("threads"))
    column = [column["id"] for column in table["columns"]].index("faults")
    return [row["values"][column] for row in table["rows"]]


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        # how the program ends, its status, and the pages that are known; in sums alone, too
        for name, how, status, pages, options in (
                ("ends", "end", 0, 3 * PAGES, []), ("profile", "end", 0, 3 * PAGES, ["--profile"]),
                ("killed", "killed", -9, 2 * PAGES, [])):
            run = os.path.join(folder, name)
            done = subprocess.run([settings.lull, "record", *options, "-o", run, settings.program, str(PAGES), how],
                                  capture_output=True, text=True, timeout=600)
            if done.returncode not in (status, 128 - status):
                wrong.append("%s: status %d: %s" % (name, done.returncode, done.stderr))
            facts = told(settings.lull, run)
            if facts.get("page_faults", 0) < pages or "of processor time" not in facts.get("kernel", ""):
                wrong.append("%s: %r page faults, %r" % (name, facts.get("page_faults"), facts.get("kernel")))
            threads = of_threads(settings.lull, run)
            # the second place is that of the thread that ends and of the one that stays, which are known as above
            if len(threads) != 2 or sum(threads) != facts.get("page_faults") or \
                    any(not least <= faults < least + PAGES // 10 for faults, least in zip(threads, (PAGES, pages - PAGES))):
                wrong.append("%s: %r page faults of threads, in all %r" % (name, threads, facts.get("page_faults")))
            if "--profile" in options:
                continue  # is not converted
            copy = run + ".copy"
            subprocess.run([settings.lull, "convert", "--to", "tape", run, copy], check=True,
                           capture_output=True)
            if told(settings.lull, copy).get("page_faults") != facts.get("page_faults"):
                wrong.append("%s: the copy has other page faults" % name)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
