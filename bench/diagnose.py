"""What a diagnosis promises, against the repaired program: programs with one defect each
(tests/diagnose/programs) are recorded, the gain of the finding is taken from their runtime, and the same
programs without the defect are run. How far the prediction is from that, in percent of it. What else
the machine does only makes runs longer, and differs from run to run: so the shortest with the defect,
less the median of the gains, is compared with the shortest without it."""
import json
import os
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tests", folder) for folder in ("diagnose", "support")]
import launch
import truth

PERCENT = "20"
# The defect removed: 0 % of it, but where the same work stays to be done.
REPAIRED = {"imbalance": "even:" + PERCENT,
            "lock": "free:" + PERCENT, "serial": "parallel:" + PERCENT,
            "eager_limit": "below_limit:" + PERCENT}
# Not one rank alone is uneven; and who takes messages in the wrong order is as fast as in the right one
# when nobody keeps to a timetable, because the sender runs ahead.
LEFT_OUT = ("barrier_linear", "wrong_order", "right_order", "below_limit")


def compiled(bench, program):
    output = os.path.abspath(bench.path("planted-" + program))
    compiler = ["gcc", "-fopenmp"] if program == "threads" else ["mpicc.openmpi"]
    subprocess.run([*compiler, "-O1", "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "tests", "diagnose", "programs", program + ".c"),
                    "-o", output], check=True)
    return output


def run(bench, program, phase):
    """Where the run is, and how long the phase took by its own clocks."""
    where = os.path.abspath(bench.path("planted-run"))
    shutil.rmtree(where, ignore_errors=True)
    os.mkdir(where)
    before = os.environ.get("LULL_BENCH_BEFORE", "").split() # as in inject.py
    if not program.endswith("threads"):
        before += ["mpiexec.openmpi", "--bind-to", "none", "-n", "4"]
    subprocess.run([*before, *bench.lull("record", "-o", os.path.join(where, "run"), "--", program,
                                         "relative", phase)],
                   env=launch.environment(PLANTED_READINGS=where, OMP_WAIT_POLICY="passive"),
                   check=True, capture_output=True)
    readings = [r for r in truth.read(where)[phase] if r.iteration >= 0]
    return (os.path.join(where, "run"),
            max(r.end for r in readings) - min(r.begin for r in readings))


def gain_of(bench, path, culprit, rules):
    """Seconds that the finding about the planted rank promises; or why it does not. Without a timetable
    others wait for that rank elsewhere, too, and the rule is that of where they wait longest."""
    report = subprocess.run(bench.lull("report", path, "--format", "json"), check=True,
                            capture_output=True, text=True).stdout
    found = [f for f in json.loads(report).get("findings", [])
             if f["rule"] in rules or culprit is not None
             and (f["place"]["process"], f["place"]["region"]) == (culprit, "solve")]
    if not found:
        return None, "not found"
    gain = found[0]["gain"]
    return gain.get("seconds"), gain.get("absent")


def rows(bench):
    for defect, (name, _, culprit, rules) in truth.DEFECTS.items():
        row = "diagnose: %s against the repaired program" % defect
        if defect in LEFT_OUT or not bench.wanted(row):
            continue
        program, absent = compiled(bench, name), None
        faulty, repaired, gains = [], [], []
        for _ in range(bench.runs):
            path, seconds = run(bench, program, "%s:%s" % (defect, PERCENT))
            gain, why = gain_of(bench, path, None if name == "threads" else culprit,
                                rules)
            absent = why or absent
            faulty.append(seconds)
            gains += [gain] if gain is not None else []
            repaired.append(run(bench, program, REPAIRED.get(defect, defect + ":0"))[1])
        if not gains:
            bench.add(row, absent, "within 5 %", "")
            continue
        promised = min(faulty) - statistics.median(gains)
        bench.add(row, "%+.1f %%" % (100 * (promised / min(repaired) - 1)), "within 5 %",
                  "%.0f ms, promised %.0f ms, repaired %.0f ms; %d runs" %
                  (1e3 * min(faulty), 1e3 * promised, 1e3 * min(repaired), bench.runs))
