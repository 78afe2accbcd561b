#!/usr/bin/env python3
"""The recorder sees what the planted programs do: counts of regions, calls, messages and OpenMP's
constructs are those of the program's own readings, for each rank or thread and each phase. No time is
looked at, so that it does not matter when and how long the program had its cores.

usage: test_recorded.py --program messages|collectives --family openmpi|mpich --lull LULL
       test_recorded.py --program threads --compiler CC --lull LULL
"""
import argparse
import collections
import os
import shutil
import sys
import tempfile

import planted

PERCENTS = ("0", "20")
# What a phase has of MPI beside its readings: behind it, and before it, where all agree when it begins.
AROUND = {"MPI_Bcast": 1, "MPI_Barrier": 2}
ONCE = {"MPI_Init": 1, "MPI_Finalize": 1}
BYTES = {"eager_limit": 1 << 17, "below_limit": 64}
SMALL = 8


def phases_of(program):
    return [phase for phase in planted.phases_of(program) if phase.partition(":")[2] in PERCENTS]


def call_of(what):
    return "MPI_Recv" if what.startswith("take_") else what


def count_by(items):
    """key -> name -> how often."""
    counts = collections.defaultdict(collections.Counter)
    for key, name in items:
        counts[key][name] += 1
    return counts


def different(what, expected, found):
    """Lines for all counts that are not as expected."""
    return ["%s: %s: %d times instead of %d" % (what(key), name, found[key][name], expected[key][name])
            for key in sorted({*expected, *found}, key=str)
            for name in sorted({*expected[key], *found[key]}) if expected[key][name] != found[key][name]]


def phase_at(spans, who, begin):
    """The phase of a rank or thread in which something begins; '' if none."""
    return next((name for name, first, last in spans[who] if first <= begin < last), "")


# ---- ranks -----------------------------------------------------------------------------------


def expected_calls(readings):
    """(rank, phase) -> region or call -> how often, by the readings; '' is outside of the phases."""
    items = [((r.who, phase), call_of(r.what)) for phase, own in readings.items() for r in own]
    counts = count_by(items)
    for rank in range(4):
        counts[rank, ""].update(ONCE)
        for phase in readings:
            counts[rank, phase][phase] = 1
            counts[rank, ""].update(AROUND)
    return counts


def expected_messages(readings):
    """phase -> (from, to, bytes) -> how many, by the readings of the sends."""
    items = []
    for phase, own in readings.items():
        large = BYTES.get(phase.partition(":")[0], SMALL)
        for r in own:
            if r.what in ("MPI_Send", "MPI_Ssend"):
                # The small message that goes ahead has no peer in its reading.
                to, size = (r.peer, large) if r.peer >= 0 else (r.who ^ 1, SMALL)
                items.append((phase, (r.who, to, size)))
    return count_by(items)


def check_ranks(events, readings):
    regions = [e for e in events if e["ph"] == "X"]
    spans = collections.defaultdict(list)
    for e in regions:
        if e["name"] in readings:
            spans[e["pid"]].append((e["name"], e["ts"], e["ts"] + e["dur"]))
    found = count_by(((e["pid"], phase_at(spans, e["pid"], e["ts"])), e["name"]) for e in regions)
    wrong = different(lambda key: "rank %d in %s" % (key[0], key[1] or "no phase"), expected_calls(readings), found)
    ends = {e["id"]: e["pid"] for e in events if e["ph"] == "f"}
    sends = [e for e in events if e["ph"] == "s"]
    messages = count_by((phase_at(spans, e["pid"], e["ts"]), (e["pid"], ends.get(e["id"], -1), e["args"]["bytes"]))
                        for e in sends)
    wrong += different(lambda phase: "messages (from, to, bytes) in " + phase, expected_messages(readings), messages)
    if len(ends) != len(sends):
        wrong.append("%d messages are sent and %d received" % (len(sends), len(ends)))
    return wrong, len(regions) + len(sends)


# ---- threads ---------------------------------------------------------------------------------


def expected_regions(readings):
    """(thread, phase) -> region or construct -> how often, by the readings of OpenMP's threads."""
    counts = collections.defaultdict(collections.Counter)
    for phase, own in readings.items():
        for r in own:
            if r.what == "region":
                # The thread that goes on has the reading, all take part.
                for thread in range(4):
                    counts[thread, phase if r.iteration >= 0 else ""].update(
                        ("!$omp parallel", "!$omp implicit barrier"))
            elif r.what == "lock":
                counts[r.who, phase]["!$omp critical"] += 1
                counts[r.who, phase]["!$omp critical sblock"] += 1
            elif r.what != "iteration":
                counts[r.who, phase if r.iteration >= 0 else ""][r.what] += 1
        counts[0, phase][phase] = 1
    return counts


def check_threads(events, readings):
    """OpenMP numbers threads as they are in a team, the recorder as they come: thread 0 is the same, and of
    the others all have the same counts."""
    regions = [e for e in events if e["ph"] == "X" and e["name"] not in ("!$omp fork", "!$omp for")]
    spans = {0: [(e["name"], e["ts"], e["ts"] + e["dur"]) for e in regions if e["name"] in readings]}
    found = count_by(((e["tid"], phase_at(spans, 0, e["ts"])), e["name"].partition(" @")[0]) for e in regions)
    return different(lambda key: "thread %d in %s" % (key[0], key[1] or "no phase"), expected_regions(readings),
                     found), len(regions)


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
    lull, variant = os.path.abspath(options.lull), options.family or options.compiler
    phases = phases_of(options.program)
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        executable = planted.build(options.program, variant, folder)
        run, readings = planted.record(lull, executable, options.program, variant, phases, folder)
        events = planted.events_of(lull, run, folder)
    if sorted(readings) != sorted(phases):
        sys.exit("there are no readings of " + ", ".join(sorted({*phases} - {*readings})))
    check = check_ranks if planted.has_mpi(options.program) else check_threads
    wrong, counted = check(events, readings)
    print("\n".join(wrong) or "%d phases, %d regions, calls and messages as the program says" % (len(phases), counted))
    return 1 if wrong or counted == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
