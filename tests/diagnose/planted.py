"""Programs with one defect each (programs/): how they are built and recorded, and how the findings of a
run are compared with what the program's own clock says (truth.py).

Seconds are compared with bounds that follow from the readings: what was waited for the planted rank or
thread, less what it may have been late for another reason (also what calls take beside waits), and as much
less or more as the recorder's times may be apart from the readings. Where the readings say that other programs kept the cores from a
rank, a phase is judged by less: `Truth` says by what.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import truth

# Others wait for so many percent of the time of all cores. Below 1 % a report keeps silent, and the
# cores have a little more time than the program's iterations: so the smallest is two.
PERCENTS = ("0", "2", "5", "20")
# Where ranks and threads share cores, small messages and threads that are woken up wait for these, and a
# message that is passed on takes its time: a small share of a defect is not told apart from that.
LARGER = {"eager_limit": PERCENTS[-1:], "hidden": ("0", *PERCENTS[-2:]), "lock": ("0", PERCENTS[-1])}
SILENT = 0.01
# A twin without a defect is undisturbed if its calls take no more of the time of all cores than this. Of
# threads it is what they have beside their work in twelve parallel regions, of which each may be told.
QUIET = {"messages": SILENT, "collectives": SILENT, "threads": 3 * SILENT}
# A report puts parts of a wait down to other places, each too short to be told: so large a share of what is
# found.
WITHIN = 0.01
# A region is told for itself if so much of what is charged to its rank is charged to it; else the region around it is
# (ALONE_LEAST of src/diagnose/rule.c).
ALONE = 0.75
# OpenMP's runtime is entered between two readings of a thread, and nothing beneath it reads the clock.
OF_A_THREAD = 20e-6
SECONDS = 120

# What says something of the machine, not of the program: four ranks on fewer cores.
OF_THE_MACHINE = ("oversubscription", "tracer", "kernel_time")
# Where the root alone waits, the other ranks fill their timetable, and the run is not shorter without
# the defect: a report, which begins with what saves most, may tell something smaller before.
ROOT_WAITS = ("early_reduce", "early_gather", "early_gatherv")
OF_MESSAGES = ("transfer", "small_messages", "eager_limit", "contention")

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
LIMITS = {"OMP_NUM_THREADS": "4", "OMP_WAIT_POLICY": "passive", "OMP_DYNAMIC": "false"}


# ---- recording -------------------------------------------------------------------------------


def execute(command, folder, **more):
    """Its standard output. The test ends here with the command's own words if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=launch.environment(**more),
                              cwd=folder, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        sys.exit("%s: not done after %d s" % (" ".join(command), SECONDS))
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def phases_of(program):
    """The arguments that make the program run each of its defects, and each twin without a defect."""
    return ["%s:%s" % (name, percent) for name, entry in truth.DEFECTS.items()
            for percent in LARGER.get(name, PERCENTS) if entry[0] == program]


def has_mpi(program):
    return program != "threads"


def build(program, variant, folder):
    """Where the executable is. `variant`: the family of MPI, or the compiler."""
    executable = os.path.join(folder, "program")
    words = ["-O1", "-g", "-I" + INCLUDE, os.path.join(SOURCES, program + ".c"), "-o", executable]
    if not has_mpi(program):
        execute([variant, "-fopenmp", *words], folder)
        return executable
    beneath = os.path.join(folder, "libbeneath.so")
    execute(["mpicc." + variant, "-O1", "-fPIC", "-shared", os.path.join(SOURCES, "beneath.c"), "-o", beneath,
             "-ldl"], folder)
    # Four ranks share two cores, and MPICH gives its core to nobody while it waits.
    patient = launch.PATIENT if variant == "mpich" else []
    # It stands before MPI's library whether or not a linker thinks that it is needed.
    execute(["mpicc." + variant, *words, *patient, "-Wl,--no-as-needed", beneath, "-Wl,-rpath," + folder], folder)
    return executable


def record(lull, executable, program, variant, phases, folder, before=()):
    """Where the run is, and the readings by phase. `before`: what the launcher is started with."""
    run = os.path.join(folder, "run")
    start = ["mpiexec." + variant, "-n", "4"] if has_mpi(program) else []
    execute([*before, *start, lull, "record", "-o", run, "--", executable, *phases], folder,
            PLANTED_READINGS=folder, **LIMITS)
    return run, truth.read(folder)


# ---- what lull says --------------------------------------------------------------------------


def events_of(lull, run, folder):
    """The regions, calls and messages of a run, as events of Chrome's format."""
    path = os.path.join(folder, "run.json")
    execute([lull, "convert", run, path, "--to", "chrome"], folder)
    with open(path) as file:
        return json.load(file)["traceEvents"]


def windows_of(events):
    """phase -> when the first began it, and when the first had ended it and came to the barrier
    behind it, in s."""
    windows = {}
    for event in events:
        if event["ph"] == "X" and ":" in event["name"]:
            begin, end = 1e-6 * event["ts"], 1e-6 * (event["ts"] + event["dur"])
            known = windows.get(event["name"], (begin, end))
            windows[event["name"]] = min(begin, known[0]), min(end, known[1])
    return windows


Place = collections.namedtuple("Place", "thread region")


def place_of(events, window):
    """Where the recorder has the defect of a phase with threads: its number of the thread that is longest in
    `solve` (it counts threads as they come, OpenMP as they are in a team), and the parallel region around
    `solve`, or around `update` where there is a lock."""
    lengths, work, regions = collections.Counter(), [], []
    for event in events:
        if event["ph"] == "X" and window[0] <= 1e-6 * event["ts"] < window[1]:
            if event["name"] in ("solve", "update"):
                work.append(event)
            elif event["name"].startswith("!$omp parallel"):
                regions.append(event)
    for event in work:
        lengths[event["tid"]] += event["dur"]
    around = {r["name"] for r in regions for w in work[:1]
              if r["tid"] == w["tid"] and r["ts"] <= w["ts"] <= r["ts"] + r["dur"]}
    return Place(max(lengths, key=lengths.get, default=None), next(iter(around), "solve"))


def findings_of(lull, run, window, folder):
    words = [lull, "report", run, "--format", "json", "--threads", "1", "--window", "%.9fs:%.9fs" % window]
    return json.loads(execute(words, folder))["findings"]


# ---- comparing -------------------------------------------------------------------------------


def is_planted(found, finding, expected):
    """Whether a finding is the planted one: by rule, rank or thread, and region. `expected`: the place of a
    defect with threads."""
    place = finding["place"]
    if finding["rule"] not in found.rules:
        return False
    if found.program == "threads":
        return (place["region"] == expected.region
                and (found.culprit is None or place["thread"] in (expected.thread, None)))
    if finding["rule"] in ("imbalance", "eager_limit"):
        return place["region"] == "solve"  # of all ranks
    if place["region"] == found.name: # the region of the phase, around all that it does
        return place["process"] == found.culprit and found.elsewhere + found.less > (1 - ALONE) * found.seconds
    return (place["process"], place["region"]) == (found.culprit, "solve")


def bounds_of(found, finding, in_rest):
    """The least and the most seconds that the finding may have by the readings. `in_rest`: seconds of
    findings about a region in which nothing is planted; they are of the planted rank, too."""
    error = OF_A_THREAD * found.count if found.program == "threads" else 0
    most = found.seconds + found.beyond
    if finding["rule"] == "imbalance":
        most += found.others
    return ((1 - WITHIN) * found.of_work - found.less - found.beside - error - in_rest,
            (1 + WITHIN) * most + found.more + error)


def told(finding):
    place = finding["place"]
    return "%s %s %s %.6f s" % (finding["rule"], place["process"], place["region"], finding["seconds"])


def is_undisturbed(found):
    """Whether the readings permit to ask everything of a phase."""
    if not found.planted:
        return (found.seconds + found.others < SILENT * found.core
                and found.in_calls < QUIET[found.program] * found.core)
    return found.is_exact() and found.is_sure() and found.is_most()


class Judgement:
    """What a report says of one phase, beside what the readings say of it."""

    def __init__(self, found, findings, window, expected):
        self.found, self.core = found, 4 * (window[1] - window[0])
        self.all_findings = findings
        self.findings = [f for f in findings if f["rule"] not in OF_THE_MACHINE]
        hits = [f for f in self.findings if found.planted and is_planted(found, f, expected)]
        self.hit = hits[0] if hits else None
        # Nothing is planted there: who rests too long did not get its core back in time.
        self.in_rest = sum(f["seconds"] for f in self.findings if f["place"]["region"] == "rest")
        self.bounds = bounds_of(found, self.hit, self.in_rest) if hits else None

    def is_full(self):
        return is_undisturbed(self.found)

    def before(self):
        """Findings that the report tells before the planted one and should not: about more seconds than
        the machine took from this phase."""
        found = self.found
        machine = found.others + found.elsewhere + found.less + found.more
        ahead = [f for f in self.findings[:self.findings.index(self.hit)] if f["seconds"] > machine]
        if self.found.defect in ROOT_WAITS:
            ahead = [f for f in ahead if f["seconds"] > self.hit["seconds"]]
        return ahead

    def without_cause(self):
        """Findings for which the readings have no time: what the calls took beside the wait that the planted finding
        has to tell, which is shorter where the recorder itself made others wait."""
        found = self.found
        known = found.seconds - found.elsewhere - found.less if self.hit and found.is_exact() else 0
        rest = 1.25 * (self.found.in_calls - known)
        # What one rank needs for messages, all may lose.
        return [f for f in self.findings if f is not self.hit and f["seconds"] > max(
            SILENT * self.core, rest * (4 if f["rule"] in OF_MESSAGES else 1))]

    def wrong(self):
        """Lines that say what is not as it was put into the phase."""
        found, lines = self.found, []
        if self.hit and found.is_exact() and not self.bounds[0] <= self.hit["seconds"] <= self.bounds[1]:
            lines.append("%.6f s instead of %.6f to %.6f" % (self.hit["seconds"], *self.bounds))
        if self.hit and found.is_most() and self.before():
            lines.append("not the first: " + self.all_told())
        if not self.hit and self.has_to_be_told():
            lines.append("not found; instead: " + self.all_told())
        return lines + ["told without a cause: " + told(f) for f in self.without_cause()]

    def has_to_be_told(self):
        found = self.found
        return (found.planted and found.is_sure()
                and found.seconds - found.elsewhere - found.less > (1 + WITHIN) * SILENT * self.core)

    def all_told(self):
        return "; ".join(told(f) for f in self.findings) or "nothing"

    def line(self):
        """All that is known of the phase."""
        found = self.found
        text = ("%.6f s waited (%.1f %%), of these %.6f perhaps elsewhere, %.6f less to %.6f more by the "
                "recorder, %.6f for others, %.6f in all calls" %
                (found.seconds, 100 * found.seconds / self.core, found.elsewhere, found.less,
                 found.more + found.beyond, found.others, found.in_calls))
        if self.bounds:
            text += "; %.6f s found within %.6f to %.6f" % (self.hit["seconds"], *self.bounds)
        return text + "; told: " + self.all_told()


def judge(lull, run, readings, folder):
    """The judgement of each phase of a run."""
    events = events_of(lull, run, folder)
    windows = windows_of(events)
    return {name: Judgement(truth.Truth(name, own), findings_of(lull, run, windows[name], folder), windows[name],
                            place_of(events, windows[name])) for name, own in readings.items()}
