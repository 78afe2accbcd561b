#!/usr/bin/env python3
"""Findings of programs in Python (programs/where_python.py) name the function of Python and the line of its definition,
how much longer it is, which share of that is in it and what it costs, as the program's own processor clock says; without
`-X perf` they name the interpreter, and say how functions are known. It measures, and runs alone. Where others kept the
cores from the program, it is not judged, and that is said.

usage: test_where_python.py --lull LULL
"""
import argparse
import os
import shutil
import sys
import tempfile

import planted
import test_where
import where

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import perf_maps

SOURCE, FUNCTION = "where_python.py", "Grid.smooth"


def record(lull, python, mode, folder, options):
    """Where the run is, and what the program says of itself; None instead: it was disturbed."""
    place = os.path.join(folder, mode + str(len(options)))
    os.mkdir(place)
    program = shutil.copy(os.path.join(planted.SOURCES, SOURCE), folder)
    run, spent = where.record(lull, where.Case(SOURCE, mode, None, FUNCTION), [*python, program], place, options=options)
    return run, spent if where.is_undisturbed(spent) else None


def first_of(lull, *runs):
    """The first finding that is of the program."""
    findings = [f for f in test_where.findings_in(lull, runs) if f["rule"] not in planted.OF_THE_MACHINE]
    return findings[0] if findings else {"rule": None, "sentence": "", "cause": ""}


def check_place(finding, rule):
    """The line is that in which the source begins the function."""
    line, _ = where.lines_of(where.Case(SOURCE, None, None, "x:smooth"))
    told = finding["sentence"] + " " + finding["cause"]
    wanted = "in %s (%s:%d)" % (FUNCTION, SOURCE, line)
    return [] if finding["rule"] == rule and wanted in told else ["%s, expected of %s: %s" % (told, rule, wanted)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    lull = os.path.abspath(parser.parse_args().lull)
    python = perf_maps.find()
    if not python or not shutil.which("mpiexec.openmpi"):
        print("skipped: " + (perf_maps.ABSENT if not python else "no Open MPI"))
        return 77
    wrong, judged = [], []
    with tempfile.TemporaryDirectory() as folder:
        runs = {mode: record(lull, [python, "-X", "perf"], mode, folder, ["--mpi", "openmpi", "--sample-stack"]) for mode in ("even", "late", "grown")}
        runs["plain"] = record(lull, [python], "late", folder, ["--mpi", "openmpi"])
        (even, of_even), (late, of_late), (grown, of_grown), (plain, of_plain) = (runs[m] for m in ("even", "late", "grown", "plain"))
        if of_late:
            judged.append("late")
            finding = first_of(lull, late)
            wrong += check_place(finding, "n_to_n") or test_where.check_late(finding, of_late, "smooth")
        if of_even and of_grown:
            judged.append("grown")
            wrong += check_place(first_of(lull, even, grown), "computation_scaling")
        if of_plain:
            judged.append("without -X perf")
            finding = first_of(lull, plain)
            told = finding["sentence"] + " " + finding["cause"]
            if "-X perf" not in told or "EvalFrame" not in told:
                wrong.append("without -X perf: " + told)
    print("%s: %s" % (python, "\n".join(wrong) or ", ".join(judged) or "skipped: others had its cores"))
    return 1 if wrong else 0 if judged else 77


if __name__ == "__main__":
    sys.exit(main())
