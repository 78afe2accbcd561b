#!/usr/bin/env python3
"""As test_where.py, of programs that are recorded here: in Python, whose functions are only known where the interpreter is
that was recorded, threads in Fortran, and programs with instrumented functions. It measures, and runs alone. A run from
which others kept the cores is not judged, and that is said.

usage: test_where_recorded.py --lull LULL [--case NAME] [--disturbed]     (--disturbed: judge it all the same)
"""
import argparse
import os
import re
import sys
import tempfile

import test_where
import where


def record(lull, case, folder, settings):
    """Where the run is, and what the program says of itself; None instead: it was disturbed."""
    os.mkdir(folder)
    run, spent = where.record(lull, case, where.build(case, folder), folder)
    return run, spent if settings.disturbed or where.is_undisturbed(spent) else None


def check(lull, case, folder, settings):
    """What is wrong; None: it was disturbed."""
    runs, times = zip(*(record(lull, case._replace(mode=mode), os.path.join(folder, mode), settings)
                        for mode in (["even"] if case.mode == "grown" else []) + [case.mode]))
    return test_where.judge(test_where.findings_in(lull, runs), case, times[-1], times[0]) if all(times) else None


def check_plain(lull, folder, settings):
    """Python without -X perf: the interpreter is named, and it is said how functions are known."""
    case = where.RECORDED["python-late"]._replace(instrumented=False)
    run, spent = record(lull, case, os.path.join(folder, "plain"), settings)
    if not spent:
        return None
    told = [f["sentence"] + " " + f["cause"] for f in test_where.findings_in(lull, [run])]
    return [] if any(re.search("Python's interpreter|EvalFrame", text) and "-X perf" in text for text in told) \
        else ["told is: %s" % told]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--case")
    parser.add_argument("--disturbed", action="store_true")
    settings = parser.parse_args()
    lull = os.path.abspath(settings.lull)
    checks = {name: lambda folder, case=case: check(lull, case, folder, settings) for name, case in where.RECORDED.items()}
    checks["python-plain"] = lambda folder: check_plain(lull, folder, settings)
    judged, wrong = [], []
    for name, one in checks.items():
        if settings.case and name != settings.case:
            continue
        missing = where.missing(where.RECORDED.get(name, where.RECORDED["python-late"]))
        if missing:
            print("left out: %s: %s" % (name, missing))
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = one(folder)
        if found is None:
            print("left out: %s: others had its cores" % name)
            continue
        judged.append(name)
        wrong += ["%s: %s" % (name, line) for line in found]
    print("\n".join(wrong) or ("as planted: " + ", ".join(judged) if judged else "skipped: each run was disturbed"))
    return 1 if wrong else 0 if judged else 77


if __name__ == "__main__":
    sys.exit(main())
