#!/usr/bin/env python3
"""The programs with planted defects, recorded and analysed on this machine: each finding is as the
program's own clock permits.

usage: test_measured.py --program messages|collectives --family openmpi|mpich --lull LULL
       test_measured.py --program threads --compiler CC --lull LULL

Each program is recorded five times, and each phase of each recording has to be right. How much is asked
of a phase follows from its own readings (planted.py): where they say that the machine disturbed it, less
is asked. The last line says how many phases could be asked for everything. Where one is wrong, all
recordings of that phase are printed: what was found, its bounds, and what else was told.
"""
import argparse
import os
import shutil
import sys
import tempfile

import planted

RECORDINGS = 5


def recorded(lull, program, variant):
    """The judgements of one recording, by phase."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        executable = planted.build(program, variant, folder)
        phases = planted.phases_of(program)
        run, readings = planted.record(lull, executable, program, variant, phases, folder)
        if sorted(readings) != sorted(phases):
            sys.exit("there are no readings of " + ", ".join(sorted({*phases} - {*readings})))
        return planted.judge(lull, run, readings, folder)


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "lull"):
        parser.add_argument("--" + name, required=True)
    for name in ("family", "compiler"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    if options.family and not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    recordings = [recorded(os.path.abspath(options.lull), options.program, options.family or options.compiler)
                  for _ in range(RECORDINGS)]
    failed = 0
    for phase in planted.phases_of(options.program):
        judgements = [recording[phase] for recording in recordings]
        if not any(judgement.wrong() for judgement in judgements):
            continue
        failed += 1
        print("%s:" % phase)
        for number, judgement in enumerate(judgements, 1):
            asked = "undisturbed" if judgement.is_full() else "disturbed"
            print("  %d (%s): %s" % (number, asked, judgement.line()))
            for line in judgement.wrong():
                print("    wrong: " + line)
    every = [judgement for recording in recordings for judgement in recording.values()]
    print("%d phases in %d recordings, %d of them undisturbed and asked for everything; %d phases are wrong" %
          (len(every), RECORDINGS, sum(judgement.is_full() for judgement in every), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
