"""Who records into the file of the node, and who into a file of its own.

    stores.py --lull LULL
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tape_parts


class Test:
    def __init__(self, settings):
        self.settings = settings
        self.program = ["true"]
        self.failed = False

    def demand(self, what, found, expected):
        if found != expected:
            print("%s: %s, expected %s" % (what, found, expected))
            self.failed = True

    def start(self, run, rank, of_node, *options, before=(), **more):
        """A process of a job of 64, of which so many are on this node."""
        environment = dict(os.environ, PMI_RANK=str(rank), PMI_SIZE="64", PMI_JOBID=run,
                           MPI_LOCALRANKID=str(rank), MPI_LOCALNRANKS=str(of_node), **more)
        return subprocess.Popen([*before, self.settings.lull, "record", "-o", run, *options,
                                 *self.program], env=environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def record(self, *arguments, **more):
        process = self.start(*arguments, **more)
        said = process.communicate(timeout=600)[1]
        self.demand("status (%s)" % said, process.returncode, 0)

    def stored(self, run):
        """(numbers in files of nodes, numbers in files of processes), and that lull finds them all"""
        names = [os.path.basename(path)[:-5] for path in glob.glob(run + "/[0-9]*/*.tape")]
        own = sorted(int(name) for name in names)
        of_node = [int(number) for number, _, place in tape_parts.processes(run) if place]
        told = subprocess.run([self.settings.lull, "info", run], capture_output=True, text=True,
                              check=False)
        line = next((line for line in told.stdout.splitlines() if line.startswith("Processes")), "")
        self.demand("lull info (%s)" % told.stderr, line.split()[-1:],
                    [str(len(own) + len(of_node))])
        return sorted(of_node), own

    # ---- what is chosen --------------------------------------------------------------------------

    def chosen(self, folder):
        for name, of_node, options, expected in (
                ("31", 31, [], ([], [0])), ("32", 32, [], ([0], [])), ("64", 64, [], ([0], [])),
                ("process", 64, ["--store", "process"], ([], [0])),
                ("node", 1, ["--store", "node"], ([0], []))):
            run = os.path.join(folder, name)
            self.record(run, 0, of_node, *options)
            self.demand(name, self.stored(run), expected)

    def no_launcher(self, folder):
        run = os.path.join(folder, "no launcher")
        subprocess.run([self.settings.lull, "record", "-o", run, "--store", "node", *self.program],
                       check=True, capture_output=True)
        self.demand("no launcher", self.stored(run), ([0], []))

    # ---- several processes -----------------------------------------------------------------------

    def several(self, folder):
        """Side by side, into two runs at once; then late ones."""
        runs = [os.path.join(folder, name) for name in ("one", "other")]
        processes = [self.start(run, rank, 0, "--store", "node") for rank in range(6) for run in runs]
        for process in processes:
            process.communicate(timeout=600)
            self.demand("status", process.returncode, 0)
        self.record(runs[0], 40, 0, "--store", "node")
        self.demand("one run", self.stored(runs[0]), ([*range(6), 40], []))
        self.demand("the other", self.stored(runs[1]), ([*range(6)], []))

    def twice(self, folder):
        """A script starts a second program in a process, which gets a number and a file of its own."""
        run, script = os.path.join(folder, "twice"), os.path.join(folder, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n/bin/true\n/bin/true\n")
        os.chmod(script, 0o700)
        self.program = [script]
        self.record(run, 0, 0, "--mpi", "none", "--store", "node", "--follow")
        self.demand("twice", self.stored(run), ([0], [1]))

    # ---- where it cannot be had ------------------------------------------------------------------

    def refused(self, folder):
        """Every process writes a file of its own then."""
        run = os.path.join(folder, "limited")
        self.record(run, 0, 0, "--store", "node",
                    before=["prlimit", "--fsize=%d" % (1 << 30)])
        self.demand("limited", self.stored(run), ([], [0]))
        run = os.path.join(folder, "taken")
        self.record(run, 0, 0, "--store", "process")
        os.symlink("/nowhere/at/all", os.path.join(run, os.uname().nodename + ".tapes"))
        self.record(run, 1, 0, "--store", "node")
        os.remove(os.path.join(run, os.uname().nodename + ".tapes"))
        self.demand("taken", self.stored(run), ([], [0, 1]))

    def another_node(self, folder):
        """A node of the same name that has booted by itself has a file of its own."""
        run = os.path.join(folder, "names")
        self.record(run, 0, 0, "--store", "node")
        (path,) = glob.glob(run + "/*.tapes")
        with open(path, "r+b") as file:
            file.seek(24)
            file.write(b"another.")
        self.record(run, 1, 0, "--store", "node")
        self.demand("names", sorted(os.path.basename(path) for path in glob.glob(run + "/*.tapes")),
                    sorted([os.path.basename(path), os.path.basename(path)[:-6] + "-2.tapes"]))
        self.demand("names", self.stored(run), ([0, 1], []))

    # ---- what a file system is asked for ---------------------------------------------------------

    def asked(self, folder):
        """One create for the node, and two names for each process, while the first of them lives: each
        gives back a line when it has begun, and ends when all have. The process that makes the file
        opens it once more, under the name that the file has got when it was ready."""
        self.program = ["cat"]
        log, run = os.path.join(folder, "log"), os.path.join(folder, "asked")
        if not shutil.which("strace") or \
                subprocess.run(["strace", "-o", log, "true"], capture_output=True, check=False).returncode != 0:
            print("left out: strace does not work here")
            return
        processes = [self.start(run, rank, 8, "--store", "node",
                                before=["strace", "-f", "-qq", "-e", "trace=open,openat,creat",
                                        "-o", "%s.%d" % (log, rank)]) for rank in range(8)]
        for process in processes:
            process.stdin.write("begun\n")
            process.stdin.flush()
            self.demand("said", process.stdout.readline(), "begun\n")
        for process in processes:
            process.communicate(timeout=600)
        calls = []
        for rank in range(8):
            with open("%s.%d" % (log, rank), encoding="utf-8") as file:
                calls.append([line for line in file if ".tape" in line])
        made = [line for lines in calls for line in lines if "O_CREAT" in line and ".tapes" in line]
        self.demand("files of nodes that are made", len(made), 1)
        for rank, lines in enumerate(calls):
            opened = [line for line in lines if "O_CREAT" not in line]
            most = 2 + (len(opened) < len(lines))
            if len(opened) > most:
                self.demand("names that rank %d asks for" % rank, opened, "%d at most" % most)
        self.demand("asked", self.stored(run), ([*range(8)], []))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    settings, failed = parser.parse_args(), False
    for part in (Test.chosen, Test.no_launcher, Test.several, Test.twice, Test.refused,
                 Test.another_node, Test.asked):
        with tempfile.TemporaryDirectory() as folder:
            test = Test(settings)
            part(test, folder)
            failed |= test.failed
    return 1 if failed else 0


sys.exit(main())
