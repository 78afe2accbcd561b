#!/usr/bin/env python3
"""Recorded runs of the programs with planted defects, kept in tests/data/planted: the analysis of each
phase tells the planted defect first, at the rank or thread and region where it was put, with seconds
within the bounds of that recording's own readings, and nothing of a twin without a defect. All findings
are those of expected.json, to the last digit.

usage: test_kept.py --lull LULL [--accept]

Only runs are kept in which the machine disturbed no phase (scripts/record-planted), so that each phase is
checked for everything. --accept writes expected.json anew.
"""
import argparse
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import features
import planted
import truth

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "planted")
RUNS = ("messages.openmpi", "collectives.openmpi", "threads.gcc", "threads.clang")


def summary(finding):
    """What expected.json keeps of a finding."""
    place = {key: value for key, value in finding["place"].items() if value is not None}
    return {"rule": finding["rule"], "place": place, "seconds": finding["seconds"]}


def wrong_phase(judgement):
    """Lines that say what is not as planted. Here is no excuse: nothing was disturbed."""
    lines = judgement.wrong()
    if not judgement.is_full():
        lines.append("was disturbed, and should not be kept")
    if not judgement.found.planted and judgement.findings:
        lines.append("nothing is planted, and told is: " + judgement.all_told())
    if judgement.found.planted and not judgement.hit:
        lines.append("not found")
    if judgement.hit and judgement.findings[0] is not judgement.hit:
        lines.append("not the first: " + judgement.all_told())
    return lines


def check(lull, name, folder, accept):
    """What is wrong with one kept run, and how many phases it has."""
    kept = os.path.join(KEPT, name)
    readings = truth.read(kept)
    judgements = planted.judge(lull, os.path.join(kept, "run"), readings, folder)
    wrong = ["%s: %s: %s\n    %s" % (name, phase, line, judgement.line())
             for phase, judgement in judgements.items() for line in wrong_phase(judgement)]
    told = {phase: [summary(f) for f in judgement.all_findings] for phase, judgement in judgements.items()}
    path = os.path.join(kept, "expected.json")
    if accept:
        with open(path, "w") as file:
            json.dump(told, file, indent=1)
            file.write("\n")
    with open(path) as file:
        expected = json.load(file)
    wrong += ["%s: %s: told is\n    %s\ninstead of\n    %s" % (name, phase, told.get(phase), expected.get(phase))
              for phase in sorted({*told, *expected}) if told.get(phase) != expected.get(phase)]
    planned = planted.phases_of(name.partition(".")[0])
    if list(readings) != planned:
        wrong.append("%s: has other phases than %s" % (name, " ".join(planned)))
    return wrong, len(judgements)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args()
    if "ZSTD" not in features.of(options.lull):
        print("skipped: kept runs are packed, and this lull was built without libzstd")
        return 77
    wrong, checked = [], 0
    for name in RUNS:
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            lines, phases = check(os.path.abspath(options.lull), name, folder, options.accept)
        wrong += lines
        checked += phases
    planned = sum(len(planted.phases_of(name.partition(".")[0])) for name in RUNS)
    if checked != planned:
        wrong.append("%d phases instead of %d" % (checked, planned))
    print("\n".join(wrong) or "%d phases as planted" % checked)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
