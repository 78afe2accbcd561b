#!/usr/bin/env python3
"""Findings of recorded runs say where in the program's code, without instrumentation: the function, the lines of its
loop, how much longer, which share of that, and what it costs, as the program's own processor clock says. Of a
program without a defect nothing is told.

usage: test_where.py --lull LULL            kept runs (tests/data/where)
"""
import argparse
import json
import os
import re
import sys

import planted
import where

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import features

# A price is that of a replay, whose runtime the machine decides as well.
PRICE_WITHIN = 0.1
# Time without a core is known of a thread as a whole, and the program has a little beside its functions.
LONGER_WITHIN = 0.05


def findings_in(lull, runs, folder=where.KEPT):
    return json.loads(planted.execute([lull, "report", *runs, "--format", "json", "--threads", "1"], folder))["findings"]


def fact(finding, key):
    return next((f["value"] for f in finding["evidence"] if f["id"] == key), None)


def functions_of(spent, who, function):
    return sum(seconds for (other, name), seconds in spent.items() if who in (None, other) and name == function)


def share_of_rank(spent, function):
    """How much longer rank 1 is than rank 0, which share of that is in the function, and its seconds."""
    sums = where.totals(spent)
    excess = functions_of(spent, 1, function) - functions_of(spent, 0, function)
    return sums[1] / sums[0] - 1, excess / (sums[1] - sums[0]), excess


def check_share(finding, share):
    low, high = fact(finding, "at_least"), fact(finding, "at_most")
    if low is None:
        return ["no share is told"]
    return [] if low <= min(1, share) <= high else ["%.3f of it are in the function, told are %.3f to %.3f" % (share, low, high)]


def check_late(finding, spent, function, region):
    """`region`: the function is a region of the run, and what is told is how much longer the rank is in it."""
    longer, share, excess = share_of_rank(spent, function)
    if region:
        longer, share = functions_of(spent, 1, function) / functions_of(spent, 0, function) - 1, 1
    wrong = check_share(finding, share)
    told = re.search(r"Rank 1 is (\d+) % longer", finding["sentence"])
    if not told or abs(int(told.group(1)) / 100 - longer) > LONGER_WITHIN + 0.005:
        wrong.append("rank 1 is %.1f %% longer" % (100 * longer))
    gain = finding["gain"].get("seconds")
    if gain is None or abs(gain - excess) > PRICE_WITHIN * excess:
        wrong.append("the function costs %.3f s, promised are %s" % (excess, gain))
    return wrong


def judge(findings, case, spent, before):
    """What is wrong with findings of a run. `before`: what the program spent in the run that it is compared with."""
    findings = [f for f in findings if f["rule"] not in planted.OF_THE_MACHINE]
    if not case.rule:
        return ["told is: " + f["sentence"] for f in findings]
    if not findings or findings[0]["rule"] != case.rule:
        return ["the first is not of %s but: %s" % (case.rule, [f["sentence"] for f in findings])]
    finding = findings[0]
    text = finding["sentence"] + " " + finding["cause"]
    first, last = where.lines_of(case)
    name, source = re.escape(case.function), re.escape(case.source)
    told = re.search(r"in %s \(%s:(\d+)(?:-(\d+))?\)" % (name, source), text)
    region = case.mode == "late" and case.instrumented and not where.is_python(case)
    if region:
        whole = "::".join(part + "(?:<[^>]*>)?" for part in name.split("::")) + r"(?:\([^)]*\))?"  # a region's name in C++
        told = re.search(r"in %s \(%s:\d+\), \d+ %% of it at %s:(\d+)(?:-(\d+))?:" % (whole, source, source), text)
    wrong = []
    if not told or not first <= int(told.group(1)) <= int(told.group(2) or told.group(1)) <= last:
        wrong.append("not told is: in %s, lines %d to %d of %s" % (case.function, first, last, case.source))
    if case.mode == "late":
        wrong += check_late(finding, spent, case.function, region)
    elif case.mode == "grown":
        more = sum(where.totals(spent).values()) - sum(where.totals(before).values())
        wrong += check_share(finding, (functions_of(spent, None, case.function) -
                                       functions_of(before, None, case.function)) / more)
    elif case.mode == "uneven" and "for thread 1 of rank 0" not in text:
        wrong.append("thread 1 is not named")
    return ["%s\n    %s" % (line, text) for line in wrong]


def check_case(lull, name):
    """What is wrong with the report of a kept run."""
    case = where.CASES[name]
    names = ["c-even", name] if case.mode == "grown" else [name]
    spent = [where.read(os.path.join(where.KEPT, one)) for one in names]
    return judge(findings_in(lull, [os.path.join(one, "run") for one in names]), case, spent[-1], spent[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    options = parser.parse_args()
    has = features.of(options.lull)
    for library in ("ZSTD", "LIBDW"):
        if library not in has:
            print("skipped: lull was built without " + library)
            return 77
    wrong = ["%s: %s" % (name, line) for name in where.CASES for line in check_case(os.path.abspath(options.lull), name)]
    print("\n".join(wrong) or "%d runs as planted" % len(where.CASES))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
