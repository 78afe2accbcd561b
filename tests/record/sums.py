"""What is known of a run without its events: as a profile, when the size budget is reached, and when
the program is killed. Everything must be as the program says, and as in a run with all events.

    sums.py --lull LULL --check CHECK_RUN --program PHASES --mpirun MPIRUN
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import packed

ROUNDS = "4000"
HINTS = ("expect", "processes", "threads")
ENVIRONMENT = launch.environment(LULL_RECORD_QUIET="1",
                                 OMP_WAIT_POLICY="passive")  # fewer cores than threads, perhaps


class Bench:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong = settings, folder, []

    def record(self, name, options, arguments):
        run = os.path.join(self.folder, name)
        done = subprocess.run([self.settings.mpirun, "-n", "2", self.settings.lull, "record", "-o",
                               run] + options + [self.settings.program] + arguments,
                              env=ENVIRONMENT, capture_output=True, text=True, timeout=600)
        if not os.path.isdir(run):
            self.wrong.append(f"{name}: no run, status {done.returncode}: {done.stderr}")
        expected = "\n".join(line for line in done.stdout.splitlines()
                             if line.split(" ")[0] in HINTS)
        return run, expected

    def check(self, name, run, expected, cut):
        done = subprocess.run([self.settings.check] + ["--cut"] * cut + [run], input=expected,
                              capture_output=True, text=True, timeout=600)
        print(name + ": " + done.stdout)
        if done.returncode != 0:
            self.wrong.append(f"{name}: differs from what the program says")
        self.wrong += [f"{name}: packed: {wrong}" for wrong in packed.check(self.settings.lull, run)]

    def json(self, command, run, *options):
        done = subprocess.run([self.settings.lull, command, "--format", "json", run, *options],
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            self.wrong.append(f"lull {command} {run}: {done.stderr}")
            return {"facts": {}, "tables": {}, "notes": []}
        return json.loads(done.stdout)

    def metric_absent(self, run, metric):
        for table in self.json("metrics", run, "--scheme", "all")["tables"].values():
            for row in table["rows"]:
                if row["id"] == metric:
                    return row["values"][0] is None
        return None

    def expect(self, truth, what):
        if not truth:
            self.wrong.append(what)

    def all_events(self):
        run, expected = self.record("complete", [], [ROUNDS])
        self.check("complete", run, expected, False)  # events == sums
        self.known = expected
        self.expect("events_kept" not in self.json("info", run)["facts"], "complete: is said not to be")

    def profile(self):
        run, expected = self.record("profile", ["--profile"], [ROUNDS])
        self.check("profile", run, expected, False)
        facts = self.json("info", run)["facts"]
        self.expect("none" in str(facts.get("events_kept")), "profile: info does not say so")
        self.expect(self.metric_absent(run, "openmp_imbalance") is True, "profile: has an imbalance")
        self.expect(self.metric_absent(run, "openmp_region_efficiency") is False,
                    "profile: has no region efficiency")

    def budget(self):
        run, expected = self.record("budget", ["--max-size", "64KiB"], [ROUNDS])
        self.check("budget", run, expected, True)
        facts = self.json("info", run)["facts"]
        self.expect("until" in str(facts.get("events_kept")), "budget: info does not say so")
        text = json.dumps(self.json("metrics", run))
        self.expect("metrics are those of the whole run" in text, "budget: metrics do not say so")
        self.json("metrics", run, "--window", "0:1ms")

    def killed(self):
        run, _ = self.record("killed", ["--profile"], [ROUNDS, "kill"])
        # rank 0 may be inside MPI_Finalize, and is killed there: all before is known. What it has printed
        # its mpirun may lose.
        self.check("killed", run, self.known, True)
        self.json("metrics", run)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "program", "mpirun"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(settings, folder)
        bench.all_events()
        bench.profile()
        bench.budget()
        bench.killed()
    print("\n".join(bench.wrong))
    return 1 if bench.wrong else 0


sys.exit(main())
