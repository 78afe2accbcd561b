#!/usr/bin/env python3
"""Damaged inputs of every kind, through the command line: lull copes with each.

Each run damages one good input (inputs.py, strokes.py) and gives it to one command. Whatever the
damage is, lull

  * ends with 0, 1 or 2, by no signal, and after no more than 10 s of work (sanitizers take more);
  * keeps below MOST_MEMORY;
  * gives a sanitizer nothing to report (for a build with sanitizers);
  * says why, where it fails, in lines that begin with its name, and leaves no output behind;
  * shows nothing of what it read as control characters or as bad UTF-8.

What is damaged how follows from the seed and the number of the run alone: LULL_TEST_SEED=N, or
`random`. A run that fails is printed with its number; its input is kept with --keep.

usage: run.py --lull PROGRAM [--runs N] [--first N] [--jobs N] [--seconds N] [--kind NAME]
              [--keep FOLDER]
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import inputs
import strokes

STUCK_SECONDS = 600  # of waiting without work: on a busy machine more than enough
MOST_MEMORY = 1 << 30
MOST_OUTPUT = 1 << 26
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
LARGE = re.compile(rb"\d{4,}|\d[eE][-+]?\d+|\d *[kKMGTPE]i?(?![A-Za-z])")

# libotf2 loses memory in many places where it finds damage: what it allocates is not looked at.
SUPPRESSED = "leak:libopen-trace-format2\nleak:libotf2\n"


def limit_commands():
    """What commands inherit. A function between fork and exec would take as long as a command."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_OUTPUT, MOST_OUTPUT))


def limit_work(child, seconds):
    """A child that has ended is still there: nobody has waited for it."""
    resource.prlimit(child.pid, resource.RLIMIT_CPU, (seconds, seconds + 2))


class Run:
    """One damaged input and what a command made of it."""

    def __init__(self, harness, number):
        self.harness, self.number = harness, number
        chance = random.Random(f"{harness.seed}:{number}")
        self.kind = chance.choices(harness.kinds, [kind.weight for kind in harness.kinds])[0]
        files, self.name = chance.choice(self.kind.inputs)
        self.files = strokes.damage(chance, files)
        self.command = chance.choice(self.kind.commands)
        if "spec" in self.kind.name:
            self.files = {name: self.moderate(text) for name, text in self.files.items()}

    def moderate(self, text):
        """Of patterns and sweeps who asks for many gets many: their numbers stay small."""
        asks = isinstance(text, bytes) and (self.kind.modest or text.count(b":") > 2)
        return LARGE.sub(b"9", text) if asks else text

    @classmethod
    def of(cls, harness, kind, good, command):
        """The command on an input as it is."""
        run = cls.__new__(cls)
        run.harness, run.number, run.kind, run.command = harness, -1, kind, command
        run.files, run.name = good
        return run

    def arguments(self, folder):
        if inputs.ARGUMENT in self.files:
            text = self.files[inputs.ARGUMENT]
            run = os.fsdecode(text.replace(b"\0", b"")) if isinstance(text, bytes) else ""
        else:
            run = str(folder / "in" / self.name)
        out = str(folder / "out" / "new")
        return [part.replace("RUN", run).replace("OUT", out) for part in self.command]

    def write(self, folder):
        (folder / "in").mkdir()
        (folder / "out").mkdir()
        for name, content in self.files.items():
            if name != inputs.ARGUMENT:
                path = folder / "in" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if isinstance(content, bytes):
                    path.write_bytes(content)
                elif content == strokes.FOLDER:
                    path.mkdir()
                elif content == strokes.PIPE:
                    os.mkfifo(path)
                elif content == strokes.LOST_LINK:
                    path.symlink_to("nothing")

    def start(self, folder):
        """Returns the status, the output, the errors and the memory that the command took."""
        with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
            child = subprocess.Popen(
                [self.harness.lull, *self.arguments(folder)],
                cwd=folder, env=self.harness.environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            )
            limit_work(child, self.harness.seconds)
            stuck = threading.Timer(STUCK_SECONDS, child.kill)
            stuck.start()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            stuck.cancel()
        return (
            child.returncode,
            (folder / "stdout").read_bytes(),
            (folder / "stderr").read_bytes(),
            usage.ru_maxrss * 1024,
        )

    def faults(self, folder):
        status, out, err, memory = self.start(folder)
        self.harness.statuses[status] += 1
        told = err.decode(errors="replace")
        if status < 0:
            yield f"ended by {signal.Signals(-status).name}"
        elif status > 2:
            yield f"exit status {status}"
        if "Sanitizer" in told or "runtime error:" in told:
            yield "a sanitizer reports"
        if memory > MOST_MEMORY:
            yield f"{memory >> 20} MiB of memory"
        if status in (1, 2) and not re.search(r"^lull( [a-z]+)*: .", told, re.M):
            yield "fails without a word"
        if status and any((folder / "out").iterdir()):
            yield "fails and leaves something behind"
        for name, text in (("output", out), ("errors", err)):
            try:
                odd = CONTROL.search(text.decode())
            except UnicodeDecodeError:
                yield f"bad UTF-8 in its {name}"
            else:
                if odd:
                    yield f"control character {odd.group()!r} in its {name}"

    def check(self):
        with tempfile.TemporaryDirectory(prefix="lull-damage-") as scratch:
            folder = pathlib.Path(scratch)
            self.write(folder)
            found = list(self.faults(folder))
            if not found:
                return None
            if self.harness.keep:
                kept = pathlib.Path(self.harness.keep) / f"{self.harness.seed}-{self.number}"
                shutil.rmtree(kept, ignore_errors=True)
                subprocess.run(["cp", "-a", folder, kept], check=True)
            told = (folder / "stderr").read_text(errors="replace")[-3000:]
            shown = " ".join(map(ascii, self.arguments(folder)))
            head = f"run {self.number} ({self.kind.name}): {'; '.join(found)}"
            return f"{head}\n  lull {shown}\n{told}"


class Harness:
    def __init__(self, lull, seed, keep, kind, seconds, folder):
        self.seconds = seconds
        self.statuses = collections.Counter()
        self.lull, self.seed, self.keep = str(pathlib.Path(lull).resolve()), seed, keep
        self.kinds = [k for k in inputs.all_kinds(self.lull) if not kind or kind in k.name]
        if not self.kinds:
            sys.exit(f"no kind is called '{kind}'")
        suppressions = pathlib.Path(folder) / "suppressions"
        suppressions.write_text(SUPPRESSED)
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "LC_ALL": "C.UTF-8",
            "LULL_THREADS": "2",
            "TMPDIR": str(folder),
            "ASAN_OPTIONS": "allocator_may_return_null=1:quarantine_size_mb=16:handle_sigill=1",
            "LSAN_OPTIONS": f"suppressions='{suppressions}':print_suppressions=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }

    def check(self, number):
        return Run(self, number).check()

    def blind_spots(self):
        """Commands that take none of the good inputs: damage would never get past their door."""
        for kind in self.kinds:
            for command in kind.commands:
                for good in kind.inputs:
                    with tempfile.TemporaryDirectory(prefix="lull-damage-") as scratch:
                        folder = pathlib.Path(scratch)
                        run = Run.of(self, kind, good, command)
                        run.write(folder)
                        if run.start(folder)[0] == 0:
                            break
                        said = (folder / "stderr").read_text(errors="replace")
                else:
                    yield f"{kind.name}: {' '.join(command)}: {said}"


def read_seed():
    text = os.environ.get("LULL_TEST_SEED", "1")
    return random.SystemRandom().randrange(1 << 32) if text == "random" else int(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=10, help="of work that one run may take")
    parser.add_argument("--kind", help="only kinds with this in their name")
    parser.add_argument("--keep", help="folder for the inputs of runs that fail")
    options = parser.parse_args()
    seed, begin, failed = read_seed(), time.monotonic(), 0
    limit_commands()
    print(f"LULL_TEST_SEED={seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="lull-damage-") as folder:
        harness = Harness(options.lull, seed, options.keep, options.kind, options.seconds, folder)
        blind = list(harness.blind_spots())
        if blind:
            print("commands that take no good input:", *blind, sep="\n")
            return 1
        numbers = range(options.first, options.first + options.runs)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for fault in pool.map(harness.check, numbers):
                if fault:
                    failed += 1
                    print(fault, flush=True)
    ended = ", ".join(f"{n} ended with {status}" for status, n in sorted(harness.statuses.items()))
    spent = time.monotonic() - begin
    print(f"{options.runs} damaged inputs, {failed} failures, {spent:.0f} s; {ended}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
