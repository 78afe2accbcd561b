"""Counters from the recorder to the metrics: made-up ones advance at a constant rate, so that what
useful time has counted must be that time times the rate, and rates of two runs give the scaling
factors. Also what is said of counters that are not there.

    counters.py --lull LULL --check CHECK_RUN [--mpirun MPIRUN] [--clock] -- PROGRAM...

With --clock, what hangs on the rate at which clocks go and on who has the cores; without, all else.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

HINTS = ("expect", "processes", "threads", "atleast")
ENVIRONMENT = launch.environment(OMP_WAIT_POLICY="passive")
# Events per ns: instructions, cycles. The clock that the made-up counters follow is calibrated in
# the first fifth of a millisecond of the program, to 1e-3; ratios do not depend on it.
FIRST, SECOND, CLOCK = (4.5, 3.0), (4.0, 2.0), 2e-3
MODES = {"events": [], "profile": ["--profile"], "budget": ["--max-size", "64KiB"]}


class Bench:
    def __init__(self, settings, command, folder):
        self.settings, self.command, self.folder = settings, command, folder
        self.wrong = []

    def close(self, what, got, expected, tolerance):
        if got is None or abs(got - expected) > tolerance * abs(expected):
            self.wrong.append(f"{what}: {got}, expected {expected} +- {tolerance:g} of it")

    def record(self, name, counters, options, command=None):
        run = os.path.join(self.folder, name)
        start = [self.settings.mpirun, "-n", "2"] if self.settings.mpirun else []
        done = subprocess.run(start + [self.settings.lull, "record", "-o", run, "--counters",
                                       counters] + options + (command or self.command), env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr}")
        return run, done.stdout, done.stderr

    def metrics(self, *arguments):
        done = subprocess.run([self.settings.lull, "metrics", "--raw", "--scheme", "all",
                               "--format", "json"] + list(arguments), capture_output=True,
                              text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return {row["id"]: row["values"] for table in json.loads(done.stdout)["tables"].values()
                for row in table["rows"]}

    def check(self, name, run, output, cut):
        expected = "\n".join(line for line in output.splitlines() if line.split(" ")[0] in HINTS)
        done = subprocess.run([self.settings.check] + ["--cut"] * cut + [run], input=expected,
                              capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            self.wrong.append(name + ": " + done.stdout)

    def one(self, mode, options):
        """Counts of useful time are that time's, whether read from events or from sums."""
        instructions, cycles = FIRST
        run, output, _ = self.record(
            mode, f"fake:instructions={instructions},fake:cycles={cycles}", options)
        self.check(mode, run, output, mode != "events")
        found = self.metrics(run)
        useful = 1e9 * found["useful_total"][0]
        counted = found["useful_instructions"][0], found["useful_cycles"][0]
        if self.settings.clock:
            self.close(f"{mode}: instructions", counted[0], instructions * useful, CLOCK)
            self.close(f"{mode}: cycles", counted[1], cycles * useful, CLOCK)
        self.close(f"{mode}: IPC", counted[0] / counted[1], instructions / cycles, 1e-4)
        self.close(f"{mode}: IPC as printed", found["ipc"][0], instructions / cycles, 1e-2)
        return run

    def two(self, first):
        """Factors of the scaling."""
        second, _, _ = self.record("second", f"fake:instructions={SECOND[0]},fake:cycles={SECOND[1]}",
                                   [])
        found = self.metrics(first, second, "--reference", first)
        column = 1 - found["speedup"].index(1.0) if 1.0 in found["speedup"] else 1
        work = found["useful_instructions"]
        self.close("IPC scaling", found["ipc_scaling"][column], (SECOND[0] / SECOND[1]) /
                   (FIRST[0] / FIRST[1]), 1e-4)
        if self.settings.clock:
            self.close("frequency scaling", found["frequency_scaling"][column],
                       SECOND[1] / FIRST[1], CLOCK)
        self.close("instruction scaling", found["instruction_scaling"][column],
                   work[1 - column] / work[column], 1e-9)
        product = 1
        for factor in ("instruction_scaling", "ipc_scaling", "frequency_scaling"):
            product *= found[factor][column]
        self.close("computation scaling", found["computation_scaling"][column], product, 1e-6)

    def absent(self):
        """One line in all, and the program runs; how long, does not matter here."""
        short = self.command[:1] + ["30"] * (len(self.command) - 1)
        for name, lines in (("nosuch", 1), ("papi:nosuch", 1), ("fake:a", 1), ("none", 0)):
            _, _, errors = self.record("absent-" + name, name, [], short)
            said = [line for line in errors.splitlines() if "no counter" in line]
            if len(said) != lines or (lines and name not in said[0]):
                self.wrong.append(f"--counters {name}: says {said}")
        _, _, errors = self.record("usual", "", [], short)
        if "no counter" in errors: # nobody has asked; lull info tells it
            self.wrong.append(f"usual counters: {errors}")

    def kernel(self):
        """Of the kernel's own, those without hardware may be there: a program has page faults."""
        run, _, errors = self.record("kernel", "perf:page-faults", [])
        if "no counter" in errors:
            print("perf_event is not to be had here:", errors.splitlines()[0])
            return
        text = subprocess.run([self.settings.lull, "metrics", "--counters", run],
                              capture_output=True, text=True, timeout=600).stdout
        counts = [line.split()[-1] for line in text.splitlines() if line.startswith("page-faults")]
        if not counts or int(counts[0].replace(",", "")) == 0:
            self.wrong.append(f"no page faults were counted: {counts}")

    def processor(self):
        """Two programs share a core: what each counts is what the system says it had in the end, and
        not the time that went by."""
        core = str(min(os.sched_getaffinity(0)))
        # They begin together, when both are there.
        count = ("import sys; print(flush=True); sys.stdin.read(); s = 0\n"
                 "for i in range(6000000): s += i")
        runs = [os.path.join(self.folder, name) for name in ("shared-a", "shared-b")]
        started = [subprocess.Popen(["taskset", "-c", core, self.settings.lull, "record", "-o", run,
                                     "--counters", "processor-time", sys.executable, "-c", count],
                                    env=ENVIRONMENT, stderr=subprocess.DEVNULL,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE) for run in runs]
        for process in started:
            process.stdout.readline()
        for process in started:
            process.stdin.close()
        usage = [os.wait4(process.pid, 0)[2] for process in started]
        for run, used in zip(runs, usage):
            text = subprocess.run([self.settings.lull, "metrics", "--format", "json", "--counters",
                                   run], capture_output=True, text=True, timeout=600).stdout
            rows = {row["id"]: row["values"] for table in json.loads(text)["tables"].values()
                    for row in table["rows"]}
            had, counted = used.ru_utime + used.ru_stime, rows["processor-time"][0] / 1e9
            if not 0.8 * had - 0.05 < counted <= had:
                self.wrong.append(f"{run}: {counted} s of a core counted, the system says {had}")
            lasted = self.metrics(run)["runtime"][0]
            if lasted < 1.5 * counted:
                self.wrong.append(f"{run}: {counted} s of a core in {lasted} s on half a core")


def main():
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--check", required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--clock", action="store_true")
    settings = parser.parse_args(sys.argv[1:cut])
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(settings, sys.argv[cut + 1:], folder)
        runs = {mode: bench.one(mode, options) for mode, options in MODES.items()}
        bench.two(runs["events"])
        if settings.clock:
            bench.processor()
        else:
            bench.absent()
            bench.kernel()
    print("\n".join(bench.wrong))
    return 1 if bench.wrong else 0


sys.exit(main())
