"""Programs that samples could harm print and return what they do alone. Where the system refuses samples, that is
told in one line, and in the run; the program goes on.

    unharmed.py --lull LULL --program UNHARMED [--large]

With --large also a crowd of threads that takes minutes on a small machine.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

WAYS = (["threads", "200"], ["crowd", "1000"], ["closefrom"], ["descriptors"], ["sigprof"], ["timers"], ["altstack"], ["sigwait"], ["forks", "60"],
        ["vforks", "30"], ["reads"], ["exec", "3"], ["ptrace"], ["unshare"], ["seal"], ["abort"],
        ["exit-inside", "1"], ["exit-inside", "2"], ["exit-inside", "3"], ["exit-inside", "4"],
        *(["exit-mapping", str(n)] for n in range(2, 6)), ["exit-marked", "1"], ["exit-marked", "2"])
BY_A_SIGNAL = "timer:1000"
# A thread that waits for all signals takes also those of samples: that is why they are not the usual way.
HARMED = {"sigwait"}


class Check:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.runs, self.wrong = settings, folder, 0, []

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=launch.environment())
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        return status, done.stdout, done.stderr

    def recorded(self, way, options, before=()):
        """(status, output, what the recorder says, the run)"""
        self.runs += 1
        run = os.path.join(self.folder, "run%d" % self.runs)
        return (*self.run([*before, self.settings.lull, "record", *options, "-o", run, "--", self.settings.program,
                           *way]), run)

    def facts(self, run):
        done = subprocess.run([self.settings.lull, "info", "--format", "json", run], check=True, capture_output=True,
                              text=True)
        document = json.loads(done.stdout)
        return document["facts"], document.get("facts_absent", {})

    def same(self, what, got, expected):
        if got != expected:
            self.wrong.append("%s: %r, expected %r" % (what, got, expected))

    def way(self, way):
        alone = self.run([self.settings.program, *way])[:2]
        # fake: the same way through the recorder, and samples also where a thread has no core
        for rate in ("1000", "fake:1000") if way[0] in HARMED else ("1000", "fake:1000", BY_A_SIGNAL):
            status, output, said, run = self.recorded(way, ["--sample", rate])
            self.same("%s with --sample %s" % (" ".join(way), rate), (status, output), alone)
            self.same("%s: said" % way[0], [line for line in said.splitlines() if "Next:" not in line
                                            and not line.startswith("lull record: no samples")
                                            and "the system's clock has no more ticks" not in line
                                            and "(seccomp): recording ends here" not in line], [])
            self.same("%s: a run" % way[0], os.path.isdir(run), True)

    def descriptors(self):
        """As many are left to the program as without samples: how many the program can open is counted."""
        opened = [self.recorded(["descriptors", "1"], options)[1].splitlines()[-1]
                  for options in (["--sample", "off"], ["--sample", "1000"], ["--sample", "fake:1000"], ["--sample", BY_A_SIGNAL])]
        self.same("descriptors", opened, opened[:1] * 4)

    def refused(self, how, reason):
        """A filter of system calls refuses perf_event_open, with the reason that a container or a kernel gives."""
        way = ["crowd", "20"]
        status, output, said, run = self.recorded(way, ["--sample", "100"], [self.settings.program, how])
        if status == 77:
            print("skipped: no filters of system calls here")
            return
        self.same(how, (status, output), self.run([self.settings.program, *way])[:2])
        self.same(how + ": said", [line for line in said.splitlines() if "samples" in line],
                  ["lull record: no samples: perf_event: %s; --sample timer:100 takes them by signals" % reason])
        facts, absent = self.facts(run)
        self.same(how + ": samples", facts["samples"], None)
        self.same(how + ": why", absent["samples"], "none could be taken: " + reason)
        # whoever does not ask for any hears nothing
        for options, why in (([], "none could be taken: " + reason),
                             (["--sample", "off"], "none; lull record takes 100 a second of processor time, unless "
                                                   "told --sample off")):
            _, _, said, run = self.recorded(way, options, [self.settings.program, how])
            self.same("not asked: said", "samples" in said, False)
            self.same("not asked: why", self.facts(run)[1]["samples"], why)
        # What the line says is so. The program spins for 1 s of processor time, because a timer of the system looks at the
        # processor time at its ticks alone: where many programs share a core, two of three samples are missing.
        way = ["altstack", "1000"]
        status, output, _, run = self.recorded(way, ["--sample", "timer:100"], [self.settings.program, how])
        self.same(how + ", timer", (status, output), self.run([self.settings.program, *way])[:2])
        facts, absent = self.facts(run)
        self.same(how + ", timer: samples", ((facts["samples"] or 0) > 0, absent.get("samples")), (True, None))

    def traced(self):
        """A debugger that hands on each signal."""
        way = ["threads", "20"]
        for rate in ("1000", BY_A_SIGNAL):
            status, output, _, _ = self.recorded(way, ["--sample", rate], [self.settings.program, "traced"])
            if status == 77:
                print("skipped: no ptrace here")
                return
            self.same("traced, --sample " + rate, (status, output), self.run([self.settings.program, *way])[:2])

    def emulated(self):
        words = ["valgrind", "-q", self.settings.program, "altstack"]
        if not shutil.which("valgrind") or self.run(words)[0] != 0:
            print("skipped: valgrind does not work here")
            return
        alone = self.run(words)[:2]
        for rate in ("1000", "fake:1000", BY_A_SIGNAL):
            run = os.path.join(self.folder, "emulated")
            done = self.run([self.settings.lull, "record", "--force", "--sample", rate, "-o", run, "--", *words])
            self.same("valgrind, --sample " + rate, done[:2], alone)

    def unprivileged(self):
        """No locked memory, or too little for so many threads: threads without samples are counted."""
        way = ["crowd", "600"]
        os.chmod(self.folder, 0o777)
        status, output, said, run = self.recorded(way, ["--sample", "1000"], [self.settings.program, "nobody"])
        if status == 77:
            print("skipped: cannot become nobody")
            return
        self.same("nobody", (status, output), self.run([self.settings.program, *way])[:2])
        facts, absent = self.facts(run)
        if facts.get("samples") is None:
            self.same("nobody: why", absent["samples"].startswith("none"), True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--large", action="store_true")
    settings = parser.parse_args()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with tempfile.TemporaryDirectory() as folder:
        check = Check(settings, folder)
        for way in [["crowd", "5000"]] if settings.large else WAYS:
            check.way(way)
        if not settings.large:
            check.descriptors()
            check.refused("deny", "Operation not permitted")
            check.refused("paranoid", "Permission denied")
            check.traced()
            check.emulated()
            check.unprivileged()
    for line in check.wrong:
        print(line)
    return 1 if check.wrong else 0


sys.exit(main())
