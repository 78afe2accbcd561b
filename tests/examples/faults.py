#!/usr/bin/env python3
"""The faults that `make demo` plants in examples/heat.c are the first findings of a report, at the rank,
the call and the parallel region where they are, and in the function and the lines that plant them; of the
run that is kept also in the order of what they cost, and each promises what was planted.

usage: faults.py LULL RUN        a run that was kept
       faults.py LULL SOURCE     one that is recorded now

A fault is so much processor time, but on a busy machine a thread may have to wait for its core. A run that
took a twentieth longer than its faults tells about that: exit status 77. Below that a rank may still have
been late where it would have waited anyway, so that of a run that is recorded now nothing is weighed."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import features  # noqa: E402  (after the path)
import launch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEAT = ROOT / "examples/heat.c"
ITERATIONS, SIZE = 50, 200
# In s, of each iteration. With two threads a serial part, divided, takes half as long; and so does what
# one thread has to do beyond the other.
SLOW, SERIAL, UNEVEN = 0.024, 0.028, 0.020
PLANTED = (("late_sender", 1, SLOW, "refine"), ("serial", None, SERIAL / 2, "prepare"),
           ("imbalance", None, UNEVEN / 2, "check"))
# A price is that of a replay, whose runtime the machine decides as well: the run that is kept is of cores that had
# other work.
WITHIN, LONGER = 0.1, 1.05
# What such runs have beside what was planted.
OF_THE_MACHINE = ("oversubscription", "noise", "kernel_time")


def execute(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False,
                          env=launch.environment(OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive"), **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def record(lull, source, folder):
    program, run = os.path.join(folder, "heat"), os.path.join(folder, "run")
    execute("mpicc.openmpi", "-O2", "-g", "-fopenmp", source, "-o", program, "-lm")
    execute("mpiexec.openmpi", "-n", "2", lull, "record", "--sample", "100", "-o", run, "--", program,
            str(ITERATIONS), str(SIZE), "slow", "serial", "uneven", cwd=folder)
    return run


def told(finding):
    return f"{finding['rule']} {finding['gain'].get('seconds')} s: {finding['sentence']}"


def findings_of(lull, run):
    # Runs that are kept name their program as the golden tests find it from their folders.
    report = json.loads(execute(lull, "report", run, "--format", "json", cwd=ROOT / "tests/golden/report/functions"))
    findings = [f for f in report["findings"] if f["rule"] not in OF_THE_MACHINE]
    print("\n".join(map(told, findings)))
    return findings[:len(PLANTED)]


def is_disturbed(lull, run):
    replay = json.loads(execute(lull, "replay", run, "--format", "json"))["tables"]["replay"]
    return replay["rows"][0]["values"][0] > LONGER * ITERATIONS * (SLOW + SERIAL + UNEVEN)


def lines_of(function):
    """The first and the last line of a function in the source."""
    lines = HEAT.read_text(encoding="utf-8").splitlines()
    first = next(n for n, line in enumerate(lines, 1) if re.search(rf"^static .*\b{function}\(", line))
    return first, next(n for n, line in enumerate(lines, 1) if n > first and line == "}")


def check_names(findings):
    by_rule = {finding["rule"]: finding for finding in findings}
    assert by_rule.keys() == {rule for rule, _, _, _ in PLANTED}, by_rule.keys()
    for rule, process, _, function in PLANTED:
        finding = by_rule[rule]
        assert finding["place"]["process"] == process, (rule, finding["place"])
        for text in (finding["place"]["site"], finding["sentence"] + finding["cause"]):
            place = re.search(rf"{function} \(heat\.c:(\d+)(?:-(\d+))?\)", text)
            assert place, (rule, text)
            first, last = lines_of(function)
            assert first < int(place[1]) <= int(place[2] or place[1]) < last, (rule, place[0])
    assert "exchange_halos (heat.c:" in by_rule["late_sender"]["sentence"]
    assert "!$omp parallel @heat.c:" in by_rule["imbalance"]["place"]["region"]


def check_promises(findings):
    for finding, (rule, _, seconds, _) in zip(findings, PLANTED, strict=True):
        planted = ITERATIONS * seconds
        assert finding["rule"] == rule, rule
        assert abs(finding["gain"]["seconds"] - planted) <= WITHIN * planted, (rule, planted)


def main():
    lull, what = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    if "LIBDW" not in features.of(lull):
        print("skipped: lull was built without LIBDW")
        sys.exit(77)
    if os.path.isdir(what):
        findings = findings_of(lull, what)
        check_names(findings)
        check_promises(findings)
        return
    with tempfile.TemporaryDirectory(prefix="lull-heat-") as folder:
        run = record(lull, what, folder)
        if is_disturbed(lull, run):
            print("skipped: other programs kept heat from its cores")
            sys.exit(77)
        check_names(findings_of(lull, run))


main()
