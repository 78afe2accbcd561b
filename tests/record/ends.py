"""How programs end, alone and recorded: they must behave alike, and the run must hold all that
happened before. Prints the table that docs/record.md shows.

    ends.py --lull LULL --check CHECK_RUN --program ENDS --barriers BARRIERS
            --mpirun MPIRUN
"""
import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

LIMIT = 256 << 10
# What an mpirun returns when ranks die depends on which of them it hears of first: a recorded run
# must end as one of so many runs without recording does.
TRIES = 8
HINTS = ("atleast", "processes", "expect", "threads")


def start(command, environment, send=None, limit=None):
    """Status and output; `send` is a signal for the launcher once the program says ready."""
    def prepare():
        os.setsid()
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=prepare)
    if send:
        output = ""
        for line in process.stdout:
            output += line
            if line == "ready\n":
                break
        time.sleep(0.3)
        process.send_signal(send)
        rest, errors = process.communicate(timeout=60)
        output += rest
        try:  # what an mpirun that was killed leaves behind
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        time.sleep(0.5)
    else:
        output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def expectations(output):
    return "\n".join(line for line in output.splitlines()
                     if line.split(" ")[0] in HINTS)


class Bench:
    def __init__(self, settings):
        self.settings = settings
        self.failed = False
        self.environment = launch.environment()
        print(f"{'end of the program':42} {'alone':>6} {'recorded':>9}  run")

    def row(self, name, alone, recorded, verdict, bad):
        print(f"{name:42} {alone:>6} {recorded:>9}  {verdict}")
        self.failed |= bad

    def check(self, run, expected):
        result = subprocess.run([self.settings.check, "--cut", run], input=expected, text=True,
                                capture_output=True, timeout=120)
        return result.returncode == 0, result.stdout.strip().replace("\n", "; ")

    def case(self, name, how, send=None):
        """The program under mpirun."""
        self.compare(name, [self.settings.mpirun, "-n", "2"], [self.settings.program, how], send)

    def compare(self, name, beginning, program, send=None, limit=None):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            alone, first, _ = start(beginning + program, self.environment, send, limit)
            status, output, errors = start(
                beginning + [self.settings.lull, "record", "-o", run] + program, self.environment,
                send, limit)
            good, verdict = self.check(run, expectations(output))
            # launchers print process numbers about what has died
            def alike():
                return (status, expectations(output)) == (alone, expectations(first))

            for _ in range(TRIES):
                if alike():
                    break
                alone, first, _ = start(beginning + program, self.environment, send, limit)
            if not alike():
                verdict += f"; behaves otherwise: {errors.strip()[-300:]}"
            metrics = subprocess.run([self.settings.lull, "metrics", run], capture_output=True,
                                     timeout=120)
            if metrics.returncode != 0:
                verdict += "; lull metrics fails: " + metrics.stderr.decode().strip()
            self.row(name, alone, status, verdict, not good or not alike() or metrics.returncode)

    def unwritable(self):
        program = [self.settings.program, "return"]
        alone, first, _ = start([self.settings.mpirun, "-n", "2"] + program, self.environment)
        status, output, errors = start(
            [self.settings.mpirun, "-n", "2", self.settings.lull, "record", "-o",
             "/proc/sys/no-such-folder/run"] + program, self.environment)
        good = (status, output) == (alone, first) and errors.count("without recording") == 1
        self.row("folder that cannot be written", alone, status, errors.strip(), not good)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "program", "barriers", "mpirun"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    if not shutil.which(settings.mpirun):
        return 77
    bench = Bench(settings)
    bench.case("return", "return")
    bench.case("MPI_Abort", "abort")
    bench.case("SIGSEGV of one rank", "segv")
    bench.case("SIGTERM of one rank", "term")
    bench.case("SIGKILL of one rank", "kill")
    bench.case("exit() without MPI_Finalize", "exit")
    bench.case("_exit() without MPI_Finalize", "_exit")
    bench.case("SIGTERM of mpirun", "wait", send=signal.SIGTERM)
    bench.case("SIGKILL of mpirun", "wait", send=signal.SIGKILL)
    bench.case("fork, exec and system()", "fork")
    bench.compare("no room for more than 256 KiB in a file", [], [settings.barriers], limit=LIMIT)
    bench.unwritable()
    return 1 if bench.failed else 0


sys.exit(main())
