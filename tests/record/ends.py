"""How programs end, alone and recorded: they must behave alike, and the run must hold all that
happened before. Prints the table that docs/record-reference.md shows.

    ends.py --lull LULL --check CHECK_RUN --digest DIGEST --program ENDS --barriers BARRIERS
            --mpirun MPIRUN [--others ENDS...] [--turn N]

The others are the same program by other compilers and bindings. With --turn, each end is that of one of
the programs, and every second one that of one rank of two, too; N is another number for each MPI.
"""
import argparse
import concurrent.futures
import glob
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
import together

LIMIT = 256 << 10
AT_ONCE = 8

# How one rank ends: as ends.c calls it, and the call that it is in then.
ENDS = [("return of one rank", "return", None),
        ("MPI_Abort", "abort", "MPI_Abort"),
        ("SIGSEGV of one rank", "segv", None),
        ("SIGTERM of one rank", "term", None),
        ("SIGKILL of one rank", "kill", None),
        ("exit() without MPI_Finalize", "exit", None),
        ("_exit() without MPI_Finalize", "_exit", None),
        ("MPI_Abort in an error handler", "in-abort", "MPI_Bcast"),
        ("SIGSEGV in an error handler", "in-segv", "MPI_Bcast"),
        ("SIGTERM in an error handler", "in-term", "MPI_Bcast"),
        ("SIGKILL in an error handler", "in-kill", "MPI_Bcast"),
        ("exit() in an error handler", "in-exit", "MPI_Bcast"),
        ("exit() in a signal's handler in a call", "signal-exit", "MPI_Recv"),
        ("SIGKILL in a signal's handler in a call", "signal-kill", "MPI_Recv")]
# The least that a call must take which was left by exit(), ns: half of the time for which ends.c uses
# its core there before the signal comes, so that no load can make it shorter.
LASTS = {"signal-exit": 25_000_000}
PATIENCE = 600 # s for what hangs
# What ends.c makes, however it ends: calls, processes, and processes again.
PLANTED = "atleast %d MPI_Barrier\nprocesses %d\nexpect %d MPI_Init\n"
HINTS = ("atleast", "processes", "expect", "threads")


def processes_with(variable):
    """Of this user, those in whose environment NAME=VALUE was when they were started."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if variable.encode() in file.read().split(b"\0"):
                    yield int(path.split("/")[2])
        except OSError:
            pass


def end_all_with(variable):
    """Comes back when there are none any more: a run is compared with itself then."""
    give_up = time.monotonic() + PATIENCE
    while left := list(processes_with(variable)):
        if time.monotonic() > give_up:
            raise TimeoutError("processes %s do not end" % left)
        for number in left:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def start(command, environment, send=None, limit=None):
    """Status and output; `send` is a signal for the launcher once the program says ready, which it does
    when all of its ranks have made their calls."""
    def lower_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    job = "LULL_TEST_JOB", "%d.%d" % (os.getpid(), time.monotonic_ns())
    process = subprocess.Popen(command, env=dict(environment, **dict([job])), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True,
                               preexec_fn=lower_limit if limit else None)
    if send:
        output = ""
        for line in process.stdout:
            output += line
            if line == "ready\n":
                break
        process.send_signal(send)
        rest, errors = process.communicate(timeout=PATIENCE)
        output += rest
        end_all_with("=".join(job))  # what an mpirun that was killed leaves behind
    else:
        output, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, output, errors


def expectations(output):
    return "\n".join(line for line in output.splitlines()
                     if line.split(" ")[0] in HINTS)


# What MPICH's mpirun returns now and then instead of what a rank ended with that did not finalize, also
# without lull: after MPI_Abort 5 of 60 times, after _exit() 1 of 40.
MPICH_INSTEAD = 1
# Open MPI 5's mpirun, prterun, puts a byte 0 before what a rank printed that aborts, 10 of 40 times, or
# loses it, 1 of 40; also without lull.
PRTE_LOSES = ("abort", "in-abort")


def same_lines(output, said, planted, may_lose):
    """Whether two runs printed the same, or where lines may be lost, no more than was planted."""
    if not may_lose:
        return expectations(output) == expectations(said)
    return set(expectations((output + said).replace("\0", "")).splitlines()) <= set(planted.splitlines())


class Bench:
    def __init__(self, settings):
        self.settings = settings
        self.failed = []
        self.environment = launch.environment()
        version = subprocess.run([settings.mpirun, "--version"], env=self.environment,
                                 capture_output=True, text=True, check=False).stdout
        self.is_prte = "(Open MPI) 5." in version
        self.is_mpich = "mpich" in os.path.basename(settings.mpirun)
        print(f"{'end of the program':42} {'alone':>6} {'recorded':>9}  run")

    def row(self, name, alone, recorded, verdict, bad):
        """Prints a row; `bad` says what is wrong, in a few words each."""
        told = "".join(f"FAILED: {what}; " for what in bad)
        print(f"{name:42} {alone:>6} {recorded:>9}  {told}{verdict}")
        if bad:
            self.failed.append(name.strip())

    def check(self, run, expected):
        """What is wrong with the run, and what was found out about it."""
        result = subprocess.run([self.settings.check, "--cut", run], input=expected, text=True,
                                capture_output=True, timeout=PATIENCE)
        verdict = result.stdout.strip().replace("\n", "; ")
        return ["another run than expected"] if result.returncode != 0 else [], verdict

    def one_rank_ends(self, name, how, call):
        """Rows: alone in its world, the rank ends for its launcher as it does without recording. Of
        two, an mpirun returns what it hears of first, rank 1 or what that does to rank 0; but both
        are in the run."""
        turn = self.settings.turn
        programs = [self.settings.program, *self.settings.others]
        if turn is not None:
            turn += [end[1] for end in ENDS].index(how)
            program = programs[turn % len(programs)]
            rows = [(name + ", " + os.path.basename(program), *self.one_rank(program, how, call))]
            if turn % 2 == 0:
                bad, verdict = self.two_ranks(how)
                rows.append(("    of two", "", "", verdict, bad))
            return rows
        alone, status, verdict, bad = self.one_rank(self.settings.program, how, call)
        both_bad, both = self.two_ranks(how)
        rows = [(name, alone, status, verdict + " | " + both, bad + both_bad)]
        for program in self.settings.others:
            rows.append(("    " + os.path.basename(program), *self.one_rank(program, how, call)))
        return rows

    def two_ranks(self, how):
        """What is wrong, and what was found out."""
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            start([self.settings.mpirun, "-n", "2", self.settings.lull, "record", "-o", run,
                   self.settings.program, how], self.environment)
            return self.check(run, PLANTED % (10000, 2, 2))

    def one_rank(self, program, how, call):
        """Status alone, status recorded, what was found out, what is wrong."""
        with tempfile.TemporaryDirectory() as folder:
            run, launcher = os.path.join(folder, "run"), [self.settings.mpirun, "-n", "1"]
            alone, said, _ = start(launcher + [program, how], self.environment)
            status, output, errors = start(
                launcher + [self.settings.lull, "record", "-o", run, program, how],
                self.environment)
            planted = PLANTED % (5000, 1, 1)
            if how in LASTS:
                planted += "lasts %d %s\n" % (LASTS[how], call)
            bad, verdict = self.check(run, planted)
            if not (status == alone or (self.is_mpich and MPICH_INSTEAD in (status, alone))):
                bad.append(f"behaves otherwise: {errors.strip()[-300:]}")
            may_lose = self.is_prte and how in PRTE_LOSES
            if not same_lines(output, said, planted, may_lose):
                bad.append(f"prints something else: {said!r} alone, {output!r} recorded")
            open_call = self.open_call(run)
            if open_call != call:
                bad.append(f"was in {open_call}, expected {call}")
            number = [end[1] for end in ENDS].index(how)
            return alone, status, verdict, bad + self.no_metrics(run, number)

    def open_call(self, run):
        """What the rank is in at the end of its tape."""
        digest = subprocess.run([self.settings.digest, run], capture_output=True, text=True,
                                timeout=PATIENCE, check=True)
        found = [line.split()[2] for line in digest.stdout.splitlines()
                 if line.startswith("0 enters ")]
        return found[0] if found else None

    def no_metrics(self, run, number):
        """Metrics are there; they and what `lull info` says are a team's, too: with --turn, one of the two
        by turns, of which this is that `number`."""
        commands = together.COMMANDS
        if self.settings.turn is not None:
            commands = [commands[(self.settings.turn + number) % len(commands)]]
        metrics = subprocess.run([self.settings.lull, "metrics", "--force", run], timeout=PATIENCE,
                                 capture_output=True, text=True, check=False)
        return [metrics.stderr.strip()] if metrics.returncode != 0 else together.differences(
            self.settings.lull, run, [3], commands)

    def compare(self, name, start_with, program, send=None, limit=None):
        """The launcher, or the program where there is none, ends as it would alone; killed by
        `send`, it leaves a run."""
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            alone, first, _ = start(start_with + program, self.environment, send, limit)
            status, output, errors = start(
                start_with + [self.settings.lull, "record", "-o", run] + program, self.environment,
                send, limit)
            bad, verdict = self.check(run, expectations(output))
            # What a launcher returns that is killed itself, depends on what it hears of first (MPICH's
            # on SIGTERM: 15 or 0). Launchers print process numbers about what has died.
            if status != alone and send is None:
                bad.append(f"behaves otherwise: {errors.strip()[-300:]}")
            if expectations(output) != expectations(first):
                bad.append(f"prints something else: {first!r} alone, {output!r} recorded")
            self.row(name, alone, status, verdict, bad + self.no_metrics(run, len(name)))

    def unwritable(self):
        program = [self.settings.program, "return"]
        alone, first, _ = start([self.settings.mpirun, "-n", "2"] + program, self.environment)
        status, output, errors = start(
            [self.settings.mpirun, "-n", "2", self.settings.lull, "record", "-o",
             "/proc/sys/no-such-folder/run"] + program, self.environment)
        bad = []
        if (status, output) != (alone, first):
            bad.append(f"behaves otherwise: {first!r} alone, {output!r} recorded")
        if errors.count("without recording") != 1:
            bad.append("does not say once that it does not record")
        self.row("folder that cannot be written", alone, status, errors.strip(), bad)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "check", "digest", "program", "barriers", "mpirun"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--others", nargs="*", default=[])
    parser.add_argument("--turn", type=int)
    settings = parser.parse_args()
    if not shutil.which(settings.mpirun):
        return 77
    bench = Bench(settings)
    mpirun = [settings.mpirun, "-n", "2"]
    bench.compare("return", mpirun, [settings.program, "return"])
    # Open MPI's mpirun waits for seconds where a rank has ended otherwise: they wait together.
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for rows in pool.map(lambda end: bench.one_rank_ends(*end), ENDS):
            for row in rows:
                bench.row(*row)
    bench.compare("SIGTERM of mpirun", mpirun, [settings.program, "wait"], send=signal.SIGTERM)
    bench.compare("SIGKILL of mpirun", mpirun, [settings.program, "wait"], send=signal.SIGKILL)
    bench.compare("fork, exec and system()", mpirun, [settings.program, "fork"])
    bench.compare("no room for more than 256 KiB in a file", [], [settings.barriers], limit=LIMIT)
    bench.unwritable()
    if bench.failed:
        print("FAILED rows: " + ", ".join(bench.failed))
    return 1 if bench.failed else 0


sys.exit(main())
