"""Programs that restrict their system calls (seccomp) end as they do alone, and what they did before is
readable.

    sealed.py --lull LULL --program SEALED
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROUNDS = 2000  # as in sealed.c: parallel regions before, and after


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=600)


def wrong_of(settings, folder, how, by, *options):
    alone = run(settings.program, how, by)
    if alone.returncode == 77:
        print("part skipped: %s by %s: the system does not install it" % (how, by))
        return
    path = os.path.join(folder, how + by)
    recorded = run(settings.lull, "record", "-o", path, *options, settings.program, how, by)
    what = "%s by %s" % (how, by)
    if (alone.returncode, alone.stdout) != (42, "same\n"):
        yield "%s: alone: %d, %r" % (what, alone.returncode, alone.stdout)
    if (recorded.returncode, recorded.stdout) != (alone.returncode, alone.stdout):
        yield "%s: %d, %r %s" % (what, recorded.returncode, recorded.stdout, recorded.stderr)
    seen = how != "ask" and by != "instruction"
    if ("recording ends here" in recorded.stderr) != seen:
        yield "%s: it says %s" % (what, recorded.stderr)
    told = run(settings.lull, "metrics", "--by", "region", "--format", "json", path)
    if told.returncode != 0:
        yield "%s: %s" % (what, told.stderr)
        return
    visits = [row["values"][column] for table in json.loads(told.stdout)["tables"].values()
              for column, head in enumerate(table["columns"]) if head["id"] == "visits"
              for row in table["rows"] if "parallel for" in row["label"] or "omp parallel" in row["label"]]
    parts = 1 if seen else 2  # sums go on where nothing can be written any more
    least = 0 if options else ROUNDS * parts
    if not visits or max(visits) < least or max(visits) > ROUNDS * parts * 2:
        yield "%s: visits %s, expected %d" % (what, visits, ROUNDS * parts)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wrong = [line for how in ("kill", "refuse", "strict", "ask") for by in ("prctl", "syscall")
                 for line in wrong_of(settings, folder, how, by)]
        wrong += wrong_of(settings, folder, "refuse", "instruction")
        # The recorder's thread would end, by several calls, while the filter holds.
        wrong += wrong_of(settings, folder, "all", "syscall", "--duration", "1s")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
