"""Programs that samples could harm print and return what they do alone. Where the system refuses samples, that is
told in one line, and in the run; the program goes on.

    unharmed.py --lull LULL --program UNHARMED [--large]

With --large also a crowd of threads that takes minutes on a small machine.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

WAYS = (["threads", "200"], ["crowd", "1000"], ["closefrom"], ["descriptors"], ["sigprof"], ["altstack"], ["forks", "60"],
        ["vforks", "30"], ["reads"], ["exec", "3"], ["ptrace"], ["unshare"], ["seal"], ["abort"])
REFUSED = "no samples: perf_event: Operation not permitted"


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
        for rate in ("1000", "fake:1000"):
            status, output, said, run = self.recorded(way, ["--sample", rate])
            self.same("%s with --sample %s" % (" ".join(way), rate), (status, output), alone)
            self.same("%s: said" % way[0], [line for line in said.splitlines() if "Next:" not in line
                                            and not line.startswith("lull record: no samples")
                                            and "(seccomp): recording ends here" not in line], [])
            self.same("%s: a run" % way[0], os.path.isdir(run), True)

    def descriptors(self):
        """As many are left to the program as without samples: how many the program can open is counted."""
        opened = [self.recorded(["descriptors", "1"], options)[1].splitlines()[-1]
                  for options in ([], ["--sample", "1000"], ["--sample", "fake:1000"])]
        self.same("descriptors", opened, opened[:1] * 3)

    def refused(self):
        """A filter of system calls forbids perf_event_open."""
        way = ["crowd", "20"]
        status, output, said, run = self.recorded(way, ["--sample", "100"], [self.settings.program, "deny"])
        if status == 77:
            print("skipped: no filters of system calls here")
            return
        self.same("refused", (status, output), self.run([self.settings.program, *way])[:2])
        self.same("refused: said", said.count(REFUSED), 1)
        facts, absent = self.facts(run)
        self.same("refused: samples", facts["samples"], None)
        self.same("refused: why", absent["samples"], "none could be taken: Operation not permitted")
        # whoever asks for none hears nothing
        for options in ([], ["--sample", "off"]):
            _, _, said, run = self.recorded(way, options, [self.settings.program, "deny"])
            self.same("not asked: said", "samples" in said, False)
            self.same("not asked: why", self.facts(run)[1]["samples"], "none; lull record --sample 100 takes some")

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
            check.refused()
            check.unprivileged()
    for line in check.wrong:
        print(line)
    return 1 if check.wrong else 0


sys.exit(main())
