#!/usr/bin/env python3
"""Programs that `lull record --inject` disturbs: what was asked for is there.

usage: inject.py --family openmpi|mpich --lull LULL PROGRAM.c

The program looks at the moments at which its messages were sent and came itself. Bounds hold by
construction, however busy the machine is; how often noise strikes is what a simulation with the same
seed says. Exit status 77: MPI does not work here."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
LATENCY_US = 5000
MESSAGES, ASKED = 438, 21 # that the program looks at, by waits, and by tests and probes
SECONDS = 600


class Test:
    def __init__(self, options, folder):
        self.options, self.folder, self.runs, self.wrong = options, folder, 0, []
        self.program = os.path.join(folder, "program")

    def execute(self, command, environment):
        return subprocess.run(command, capture_output=True, text=True, env=environment,
                              cwd=self.folder, timeout=SECONDS, check=False)

    def record(self, ranks, specs, arguments, **settings):
        """The program's output and the folder of the run."""
        self.runs += 1
        run = os.path.join(self.folder, "run%d" % self.runs)
        words = [self.options.lull, "record", "-o", run]
        for spec in specs:
            words += ["--inject", spec]
        command = ["mpiexec." + self.options.family, "-n", str(ranks), *words,
                   *(["--seed", settings.pop("seed")] if "seed" in settings else []), "--",
                   self.program, *arguments]
        done = self.execute(command, launch.environment(**settings))
        if done.returncode != 0:
            self.wrong.append("%s: status %d: %s" % (" ".join(command), done.returncode, done.stderr))
        self.errors = done.stderr
        return done.stdout, run

    def lull(self, *arguments):
        done = self.execute([self.options.lull, *arguments, "--format", "json"],
                            launch.environment())
        if done.returncode != 0:
            sys.exit("lull %s: %s" % (" ".join(arguments), done.stderr))
        return json.loads(done.stdout)

    def expect(self, what, found, expected):
        print("%s: %s" % (what, found))
        if found != expected:
            self.wrong.append("%s: %s, expected %s" % (what, found, expected))

    def injected(self, run):
        return self.lull("info", run)["facts"].get("disturbed", "")

    # ---- messages ----------------------------------------------------------------------------

    def messages(self):
        spec = "hockney:latency=%dus,bandwidth=1GB/s" % LATENCY_US
        for ranks, words, count in ((2, [], MESSAGES), (2, ["poll"], ASKED), (4, [], 0)):
            output, run = self.record(ranks, [spec], [str(LATENCY_US), *words])
            what = "%d ranks %s" % (ranks, " ".join(words))
            sys.stdout.write(output)
            self.expect(what + ": messages that came early",
                        re.findall(r"^early (\d+) of (\d+)$", output, re.M), [("0", str(count))])
            soon = re.findall(r"^soon (\d+) of (\d+)$", output, re.M)
            self.expect(what + ": operations that were over soon", [s for s, _ in soon], ["0"])
            if not words and soon and int(soon[0][1]) == 0:
                self.wrong.append(what + ": no operations were looked at")
            self.expect(what + ": what the run says", self.injected(run),
                        "disturbed on purpose: %s (seed 1)" % spec)

    def other_nodes(self):
        """Each rank is on a node of its own, whose clock nobody can compare."""
        output, run = self.record(2, ["hockney:latency=1us"], ["0"], LULL_RECORD_SKEW="0:0")
        self.expect("two nodes: program", "early 0 of %d" % MESSAGES in output, True)
        self.expect("two nodes: the run says it", "could not be held back" in self.injected(run),
                    True)

    def not_recorded(self):
        """One of the ranks knows nothing of all this."""
        two = self.execute(["mpiexec." + self.options.family, "-n", "1", "true", ":", "-n", "1", "true"],
                           launch.environment())
        if two.returncode == -signal.SIGSEGV:
            print("one rank of two: left out: this mpiexec crashes with two programs")
            return
        run = os.path.join(self.folder, "partly")
        command = ["mpiexec." + self.options.family, "-n", "1", self.options.lull, "record", "-o", run,
                   "--inject", "hockney:latency=1us", "--inject", "0@i3:1ms", "--",
                   self.program, "0", ":", "-n", "1", self.program, "0"]
        done = self.execute(command, launch.environment())
        self.expect("one rank of two: status", done.returncode, 0)
        self.expect("one rank of two: program", "early 0 of %d" % MESSAGES in done.stdout, True)

    # ---- computations ------------------------------------------------------------------------

    def visits(self, run, region):
        """Visits, seconds and ranks of a region."""
        table = self.lull("metrics", run, "--by", "region")["tables"]
        rows = [row for name in table if name.startswith("regions") for row in table[name]["rows"]
                if row["label"] == region]
        if not rows:
            return 0, 0.0
        name = next(n for n in table if n.startswith("regions") and rows[0] in table[n]["rows"])
        columns = [column["id"] for column in table[name]["columns"]]
        values = dict(zip(columns, rows[0]["values"]))
        return values["visits"], values["exclusive"]

    def noise(self):
        count, seed = 200, "7"
        for spec in ("bernoulli:mean=30us,p=0.3", "exponential:mean=20us,ranks=1"):
            _, run = self.record(2, [spec], [str(count), "barriers"], seed=seed)
            simulated = os.path.join(self.folder, "sim-" + spec.split(":")[0])
            self.lull("simulate", "--pattern", "collective:op=barrier,ranks=2,exec=1ms,iterations=%d"
                      % count, "--noise", spec, "--seed", seed, "-o", simulated)
            expected, found = self.visits(simulated, "noise"), self.visits(run, "noise")
            self.expect(spec + ": noise strikes", found[0], expected[0])
            if found[1] < expected[1] or expected[0] == 0:
                self.wrong.append("%s: %g s of noise, expected %g s at least" %
                                  (spec, found[1], expected[1]))

    def delays(self):
        cases = ((["1@i20:30ms"], "marks"), (["1@0ms:30ms"], "barriers"),
                 (["iteration:call=MPI_Barrier", "1@i49:30ms"], "barriers"))
        for specs, words in cases:
            _, run = self.record(2, specs, ["50", words])
            visits, seconds = self.visits(run, "delay")
            self.expect("%s: delays" % specs, visits, 1)
            if seconds < 30e-3:
                self.wrong.append("%s: delayed by %g s" % (specs, seconds))
        _, run = self.record(2, ["1@i50:30ms"], ["50", "marks"])
        self.expect("an iteration that never comes", self.visits(run, "delay")[0], 0)
        self.expect("an iteration that never comes: told",
                    "the delay 1@i50 did not come: the last iteration is 49" in self.errors, True)
        self.expect("an iteration that never comes: info", "no delay came" in self.injected(run), True)
        notes = self.lull("replay", run, "--against", run)["notes"]
        self.expect("an iteration that never comes: replay", sum(
            "it has no computation in iteration 50" in note["text"] for note in notes), 1)

    def no_iterations(self):
        _, run = self.record(2, ["1@i20:30ms"], ["50", "barriers"])
        self.expect("no iterations: told", "the delay 1@i20 did not come: the program marks no iterations"
                    in self.errors and "iteration:call=" in self.errors, True)
        self.expect("no iterations: info", "no delay came" in self.injected(run), True)
        done = self.execute([self.options.lull, "replay", run, "--inject", "0@i1:1ms"], launch.environment())
        self.expect("no iterations: replay", done.returncode, 1)
        self.expect("no iterations: replay says what to use", "iteration:call=" in done.stderr, True)

    def against(self):
        _, quiet = self.record(2, [], ["50", "marks"])
        _, run = self.record(2, ["hockney:latency=2ms", "1@i20:30ms"], ["50", "marks"])
        found = self.lull("replay", quiet, "--against", run)["tables"]["against"]
        values = {row["id"]: row["values"] for row in found["rows"]}
        self.expect("--against: rows", sorted(values),
                    ["mpi_share", "mpi_share_0", "mpi_share_1", "runtime", "time_0", "time_1"])
        # A barrier of two is one message each way, at the same time.
        for side, what in enumerate(("predicted", "measured")):
            if values["runtime"][side] < 50 * 2e-3:
                self.wrong.append("%s runtime %g s" % (what, values["runtime"][side]))


def main():
    parser = argparse.ArgumentParser()
    for name in ("family", "lull"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    if not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        test = Test(options, folder)
        done = test.execute(["mpicc." + options.family, "-O1", "-g", "-w", "-I" + INCLUDE,
                             options.program, "-o", test.program, *launch.PATIENT],
                            launch.environment())
        if done.returncode != 0:
            sys.exit(done.stderr)
        for part in (test.messages, test.other_nodes, test.not_recorded, test.noise, test.delays,
                     test.no_iterations,
                     test.against):
            part()
        for line in test.wrong:
            print("wrong: " + line)
    return 1 if test.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
