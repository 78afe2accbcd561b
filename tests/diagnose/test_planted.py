#!/usr/bin/env python3
"""Small programs with one defect each, recorded: the first finding of the diagnosis is that defect, at
the rank and region where it was put, and costs what the program itself measured; without the defect
there is no finding.

usage: test_planted.py --program messages|collectives --family openmpi|mpich --lull LULL --source DIR
       test_planted.py --program threads --compiler CC --lull LULL --source DIR
       [--only DEFECT] [--verbose]

The programs keep readings of the clock (programs/planted.h), and truth.py finds in them what was
waited for whom. All is compared with these, not with what was planned: where other programs kept
the cores from a rank, it was late, too. Where that is more than a tenth of what was planted, seconds
are not compared, and where it is as much, not even what comes first. What happens between two
readings stays unknown, and a machine that others use does something there now and then, each time
elsewhere; what is wrong with the diagnosis is wrong each time. So all phases are recorded three
times, and a phase has failed if most of its recordings have. Exit status 77: not possible here, or
disturbed most of the time.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import truth

# Others wait for so many percent of the time of all cores. Below 1 % a report keeps silent, and the
# cores have a little more time than the program's iterations: so the smallest is one and a half.
PERCENTS = ("0", "1.5", "5", "20")
# Small messages wait for cores, too, where four ranks share two: a small share of this is not told apart.
WHERE_MUCH = ("eager_limit",)
SILENT = 0.01
# Readings of the program and of the recorder are not taken at the same moment.
READING = 20e-6
SECONDS = 120
RECORDINGS = 3

# What says something of the machine, not of the program: four ranks on fewer cores.
OF_THE_MACHINE = ("oversubscription", "tracer")
# Where the root alone waits, the other ranks fill their timetable, and the run is not shorter without
# the defect: a report, which begins with what saves most, may tell something smaller before.
ROOT_WAITS = ("early_reduce", "early_gather", "early_gatherv")
OF_MESSAGES = ("transfer", "small_messages", "eager_limit", "contention")


def execute(command, environment, folder):
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder,
                          timeout=SECONDS, check=False)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def phases_of(options):
    return ["%s:%s" % (name, percent) for name, entry in truth.DEFECTS.items()
            for percent in (PERCENTS[-1:] if name in WHERE_MUCH else PERCENTS)
            if entry[0] == options.program and options.only in (None, name)]


def record(options, folder):
    """Where the run is, and the readings."""
    program, run = os.path.join(folder, "program"), os.path.join(folder, "run")
    source = os.path.join(options.source, "tests", "diagnose", "programs", options.program + ".c")
    flags = ["-O1", "-g", "-I" + os.path.join(options.source, "include"), source, "-o", program]
    environment = launch.environment(PLANTED_READINGS=folder, OMP_NUM_THREADS="4",
                                     OMP_WAIT_POLICY="passive", OMP_DYNAMIC="false")
    recorded = [options.lull, "record", "-o", run, "--", program, *phases_of(options)]
    if options.program == "threads":
        execute([options.compiler, "-fopenmp", *flags], environment, folder)
        execute(recorded, environment, folder)
    else:
        execute(["mpicc." + options.family, *flags], environment, folder)
        execute(["mpiexec." + options.family, "-n", "4", *recorded], environment, folder)
    return run, truth.read(folder)


def recorded_events(options, run, folder):
    """The regions and calls of the run: process, name, begin, end, in s, and thread."""
    path = os.path.join(folder, "run.json")
    execute([options.lull, "convert", run, path, "--to", "chrome"], launch.environment(), folder)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    return [(event["pid"], event["name"], event["ts"] * 1e-6,
             (event["ts"] + event["dur"]) * 1e-6, event["tid"]) for event in events if event["ph"] == "X"]


def windows_of(events):
    """phase -> when the first began it, and when the first had ended it and came to the barrier
    behind it."""
    windows = {}
    for _, name, begin, end, _ in events:
        if ":" in name:
            known = windows.get(name, (begin, end))
            windows[name] = min(begin, known[0]), min(end, known[1])
    return windows


def disagreement(events, readings):
    """How much the begins of calls differ between the run and the program's own readings, in s, over
    all calls of a phase: a rank may lose its core between the two."""
    total = 0.0
    for rank in {r.who for r in readings}:
        begin, end = next((b, e) for who, name, b, e, _ in events
                          if who == rank and name == readings[0].phase)
        recorded = sorted(b for who, name, b, _, _ in events
                          if who == rank and name.startswith("MPI_") and begin <= b < end)
        read = sorted(r.begin for r in truth.calls_of(readings) if r.who == rank)
        apart = [a - b for a, b in zip(recorded, read)]
        total += sum(d - min(apart) for d in apart)
    return total


def findings_of(options, run, window, folder):
    words = [options.lull, "report", run, "--format", "json", "--window",
             "%.9fs:%.9fs" % window]
    return json.loads(execute(words, launch.environment(), folder))["findings"]


def longest_thread(events, window):
    """The recorder's number of the thread that is longest in `solve`: it counts threads as they come,
    OpenMP as they are in a team."""
    lengths = {}
    for _, name, begin, end, thread in events:
        if name == "solve" and window[0] <= begin < window[1]:
            lengths[thread] = lengths.get(thread, 0.0) + end - begin
    return max(lengths, key=lengths.get, default=None)


def matches(found, finding, culprit):
    """Whether a finding is the planted one: by rule, rank or thread, and region."""
    place = finding["place"]
    if finding["rule"] not in found.rules:
        return False
    if found.program == "threads":
        return found.culprit is None or place["thread"] in (culprit, None)
    if finding["rule"] in ("imbalance", "eager_limit"):
        return place["region"] == "solve"  # of all ranks
    return (place["process"], place["region"]) == (found.culprit, "solve")


def wrong_seconds(found, finding, apart, in_rest):
    # Up to three others wait for a call that begins late.
    error = READING * found.count + 3 * apart
    low = 0.95 * (found.seconds - found.elsewhere) - error - in_rest
    high = 1.05 * (found.seconds + found.beyond) + error
    if finding["rule"] == "imbalance" and found.program != "threads":
        low, high = low, 1.05 * (found.seconds + found.others) + error
    if low <= finding["seconds"] <= high:
        return ""
    return "%.6f s instead of %.6f to %.6f" % (finding["seconds"], low, high)


def told(finding):
    place = finding["place"]
    return "%s %s %s %.4f s" % (finding["rule"], place["process"], place["region"],
                                finding["seconds"])


def wrong_with(found, findings, core, apart, culprit):
    """What is not as it was put into a phase; nothing, if nothing is."""
    findings = [f for f in findings if f["rule"] not in OF_THE_MACHINE]
    hits = [f for f in findings if found.planted and matches(found, f, culprit)][:1]
    wrong, known = [], 0
    if hits:
        known = found.seconds - found.elsewhere if found.is_exact() else 0
        # Nothing is planted there: who rests too long did not get its core back in time.
        in_rest = sum(f["seconds"] for f in findings if f["place"]["region"] == "rest")
        wrong.append(wrong_seconds(found, hits[0], apart, in_rest) if found.is_exact() else "")
        before = findings[:findings.index(hits[0])]
        if found.defect in ROOT_WAITS:
            before = [f for f in before if f["seconds"] > hits[0]["seconds"]]
        if before and found.is_most(core):
            wrong.append("not the first: " + "; ".join(told(f) for f in findings))
    elif (found.planted and found.is_sure()
          and found.seconds - found.elsewhere > 1.05 * SILENT * core):
        return ["not found; instead: " + ("; ".join(told(f) for f in findings) or "nothing")]
    rest = 1.25 * (found.in_calls - known)
    for finding in findings:
        # What one rank needs for messages, all may lose.
        bound = max(SILENT * core, rest * (4 if finding["rule"] in OF_MESSAGES else 1))
        if finding not in hits and finding["seconds"] > bound:
            wrong.append("told without a cause: %s" % told(finding))
    return [line for line in wrong if line]


def check(options, folder):
    """One recording: phase -> what is wrong with it; how many defects are planted, and how many of these
    the machine did not disturb."""
    run, phases = record(options, folder)
    events = recorded_events(options, run, folder)
    windows = windows_of(events)
    wrong, planted, exact = {}, 0, 0
    for name, readings in phases.items():
        found = truth.Truth(name, readings)
        window = windows[name]
        core = 4 * (window[1] - window[0])
        findings = findings_of(options, run, window, folder)
        apart = disagreement(events, readings) if options.program != "threads" else 0.0
        lines = wrong_with(found, findings, core, apart, longest_thread(events, window))
        planted += found.planted
        exact += found.planted and found.is_exact()
        if options.verbose or lines:
            print("%s: %.4f s waited (%.1f %%), %.4f s perhaps elsewhere, %.4f s perhaps more, %.4f s for "
                  "others, %.4f s in all, readings %.4f s apart; %s" %
                  (name, found.seconds, 100 * found.seconds / core, found.elsewhere, found.beyond,
                   found.others, found.in_calls, apart, "; ".join(told(f) for f in findings)))
        if lines:
            wrong[name] = lines
    print("%d phases, %d with a defect; in %d of these the machine disturbed nothing" %
          (len(phases), planted, exact))
    return wrong, planted, exact


def check_all(options):
    """Whether most recordings of a phase failed, and whether most phases were disturbed."""
    failures, planted, exact = collections.defaultdict(list), 0, 0
    for _ in range(RECORDINGS):
        with tempfile.TemporaryDirectory(prefix="lull-planted-") as folder:
            wrong, defects, undisturbed = check(options, folder)
        planted += defects
        exact += undisturbed
        for name, lines in wrong.items():
            failures[name].append(lines)
    failed = False
    for name, recordings in failures.items():
        failed = failed or 2 * len(recordings) > RECORDINGS
        for lines in recordings:
            print("%s, wrong in %d of %d: %s" % (name, len(recordings), RECORDINGS, "; ".join(lines)))
    return failed, 3 * exact < planted


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "lull", "source"):
        parser.add_argument("--" + name, required=True)
    for name in ("family", "compiler", "only"):
        parser.add_argument("--" + name)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.family and not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    failed, disturbed = check_all(options)
    if disturbed and not failed:
        print("skipped: other programs kept the ranks from their cores in most of the phases")
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
