"""Call sites of OpenMP constructs: records a program and compares the places that
`lull metrics --by callsite` shows with the lines of its source that have a mark.

    sites_omp.py --lull LULL --compiler gcc|clang [--names]     --names: lull was built with libdw
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile

from sites import HERE, Bench, run

SOURCE = "sites_omp.c"
TAIL = "sites_tail.c"
TAIL_BARRIERS = 20
INCLUDED = "sites_included.c"
MARK = re.compile(r"@ (\w+) x(\d+) ([~+]?)(\w[\w ]*?)( gcc| clang)?(?= \*/| @|$)")


def marks(compiler):
    """(construct, function, line or None for "~", or the line and the next one) -> visits"""
    found = {}
    for number, line in enumerate(open(os.path.join(HERE, SOURCE)), 1):
        for function, visits, where, construct, only in MARK.findall(line):
            if only.strip() in compiler:
                lines = {"": number, "+": (number, number + 1), "~": None}
                key = construct, function, lines[where]
                found[key] = found.get(key, 0) + int(visits)
    return found


def seen(sites, expected):
    """The same of what is shown; constructs of which the source says nothing are left out."""
    constructs = {key[0] for key in expected}
    got = {}
    for call, path, visits in sites:
        function, _, line, _ = path[0]
        construct = call[len("!$omp "):]
        if function.startswith(".omp_outlined"): # clang's, of which the line alone is known
            function = next((there for _, there, lines in expected
                             if isinstance(lines, tuple) and line in lines), function)
        places = (None, (line, line + 1), (line - 1, line)) if line else (None,)
        key = next(((construct, function, where) for where in places
                    if (construct, function, where) in expected), (construct, function, line))
        if construct in constructs:
            got[key] = got.get(key, 0) + visits
    return got


def totals(bench, target):
    """construct -> visits, with those that have no place"""
    done = run([bench.lull, "metrics", "--whole", "--by", "region", "--format", "json", target])
    tables = json.loads(done.stdout)["tables"]
    found = {}
    for row in (row for name, table in tables.items() if name.startswith("regions:")
                for row in table["rows"]):
        if row["label"].startswith("!$omp "):
            construct = row["label"][len("!$omp "):]
            found[construct] = found.get(construct, 0) + row["values"][1]
    return found


def compare(bench, what, target, expected):
    """Every call is there, and has a place."""
    sites, _ = bench.sites(target)
    got, all_calls = seen(sites, expected), totals(bench, target)
    for construct in sorted({key[0] for key in expected}):
        placed = sum(calls for key, calls in got.items() if key[0] == construct)
        if all_calls.get(construct, 0) != placed:
            bench.wrong.append("%s: %d calls of %s, %d with a place" % (
                what, all_calls.get(construct, 0), construct, placed))
    bench.expect(what, got, expected)


def check_tail(bench, what, target):
    """Every place is one of the program, and the calls that have none are there all the same."""
    for call, path, _ in bench.sites(target)[0]:
        if any(file and not file.endswith(TAIL) for _, file, _, _ in path):
            bench.wrong.append("%s: %s is called from %s" % (what, call, path))
    barriers = totals(bench, target).get("barrier", 0)
    if barriers != TAIL_BARRIERS:
        bench.wrong.append("%s: %d barriers, expected %d" % (what, barriers, TAIL_BARRIERS))


def check_included(bench, what, target):
    """A region in an included file is told with its function, every other one without."""
    done = run([bench.lull, "metrics", "--whole", "--by", "region", "--format", "json", target])
    names = sorted(row["label"] for name, table in json.loads(done.stdout)["tables"].items()
                   if name.startswith("regions:") for row in table["rows"]
                   if row["label"].startswith("!$omp parallel @"))
    wanted = [r"sites_included\.c:\d+", r"sites_included\.inc:[23] in scale",
              r"sites_included\.inc:[23] in smooth"]
    if len(names) != len(wanted) or not all(
            re.fullmatch(r"!\$omp parallel @" + one, name) for one, name in zip(wanted, names)):
        bench.wrong.append("%s: %s" % (what, names))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--names", action="store_true")
    settings = parser.parse_args()
    if not settings.names:
        print("skipped: lull was built without libdw")
        return 77
    settings.family = settings.turn = None
    compiler = os.path.basename(settings.compiler)
    expected = marks(compiler)
    with tempfile.TemporaryDirectory(prefix="lull-sites-") as folder:
        bench = Bench(settings, folder)
        program, target = bench.path("program"), bench.path("run")
        for flags in (["-O0"], ["-O2"]):
            run([settings.compiler, "-std=gnu17", "-g", "-fopenmp"] + flags +
                [os.path.join(HERE, SOURCE), "-o", program])
            for options in ([], ["--callpath", "3"]):
                shutil.rmtree(target, ignore_errors=True)
                run([settings.lull, "record", "-o", target] + options + [program])
                compare(bench, " ".join([compiler] + flags + options), target, expected)
        run([settings.compiler, "-std=gnu17", "-g", "-fopenmp", "-O2", os.path.join(HERE, TAIL),
             "-o", program])
        shutil.rmtree(target, ignore_errors=True)
        run([settings.lull, "record", "-o", target, program])
        check_tail(bench, compiler + " tail", target)
        for flags in ("-O0", "-O2"):
            run([settings.compiler, "-std=gnu17", "-g", "-fopenmp", flags,
                 os.path.join(HERE, INCLUDED), "-o", program])
            shutil.rmtree(target, ignore_errors=True)
            run([settings.lull, "record", "-o", target, program])
            check_included(bench, "%s %s included" % (compiler, flags), target)
    for line in bench.wrong:
        print(line)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
