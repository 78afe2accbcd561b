"""How recording begins and ends where ranks are not alike, and where room is short.

    start.py WHAT --lull LULL --family openmpi|mpich --program START

WHAT is one of the functions below that begin with `test_`. Each runs its program alone first: what it
prints and its exit status must be the same under the recorder. Exit status 77: this cannot be tested
here.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import launch

SECONDS = 600  # for what hangs
ENVIRONMENT = launch.environment(LULL_RECORD_COUNTERS="none", LULL_RECORD_QUIET="1")
PROGRAM = os.path.join(HERE, "start.c")


class Skip(Exception):
    pass


class Test:
    def __init__(self, settings, folder):
        self.lull, self.family, self.folder = settings.lull, settings.family, folder
        self.built = settings.program
        self.wrong = []

    # ---- tools -------------------------------------------------------------------------------

    def path(self, name):
        return os.path.join(self.folder, name)

    def demand(self, good, *what):
        if not good:
            self.wrong.append(" ".join(str(word) for word in what))

    def compile(self, source, name, *options, compiler=None):
        if source == PROGRAM and not options:
            return shutil.copy(self.built, self.path(name))
        if source == PROGRAM:
            options = [*options, *launch.PATIENT]
        subprocess.run([compiler or "mpicc." + self.family, "-O1", source, "-o", self.path(name),
                        *options], check=True, cwd=self.folder)
        return self.path(name)

    def run(self, command, **more):
        environment = {name: value for name, value in dict(ENVIRONMENT, **more).items()
                       if value is not None}
        try:
            return subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=SECONDS, cwd=self.folder)
        except subprocess.TimeoutExpired as hung:
            self.wrong.append("hangs: " + " ".join(command))
            return subprocess.CompletedProcess(command, -1, "", str(hung.stderr))

    def demand_two_programs(self, mpirun):
        """Open MPI 5.0.7 crashes when it is to start two programs, whatever they are."""
        both = self.run(mpirun + ["-n", "1", "true", ":", "-n", "1", "true"])
        if both.returncode == -signal.SIGSEGV:
            raise Skip("%s crashes with two programs" % mpirun[0])

    def mpirun(self, *parts, **more):
        """Each part is a number of ranks and a command."""
        words = ["mpirun." + self.family]
        if len(parts) > 1:
            self.demand_two_programs(words)
        for number, *command in parts:
            words += ([":"] if len(words) > 1 else []) + ["-n", str(number)] + command
        return self.run(words, **more)

    def record(self, run, *command, options=()):
        return [self.lull, "record", "-o", self.path(run), *options, "--", *command]

    def same(self, alone, recorded):
        """What both print may come in another order of ranks."""
        self.demand((alone.returncode, sorted(alone.stdout.splitlines())) ==
                    (recorded.returncode, sorted(recorded.stdout.splitlines())),
                    "alone:", alone.returncode, alone.stdout, "recorded:", recorded.returncode,
                    recorded.stdout, recorded.stderr)

    def info(self, run):
        done = self.run([self.lull, "info", "--format", "json", self.path(run)])
        self.demand(done.returncode == 0, "lull info:", done.stderr)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def events(self, run):
        """How many there are, by kind."""
        rows = self.info(run).get("tables", {}).get("events", {}).get("rows", [])
        return {row["id"]: row["values"][0] for row in rows}

    def told(self, run):
        done = self.run([self.lull, "info", self.path(run)])
        return done.stdout + done.stderr


# ---- ranks that are not alike ------------------------------------------------------------------

CALLS = {"call": 22, "send": 10, "collective begin": 10}  # of a rank of start.c


def expect_calls(test, run, ranks):
    found = test.events(run)
    for kind, number in CALLS.items():
        test.demand(found.get(kind) == number * ranks, run, kind, "is", found.get(kind), "expected",
                    number * ranks)


def test_part(test):
    """Some ranks run without the recorder: by their command, or because they may not write."""
    program = test.compile(PROGRAM, "start")
    alone = test.mpirun((1, program), (2, program))
    for what, first, rest in (("first", test.record("first", program), [program]),
                              ("rest", [program], test.record("rest", program)),
                              ("refused", test.record("refused", program),
                               [test.lull, "record", "-o", "/proc/sys/none/run", program])):
        recorded = test.mpirun((1, *first), (2, *rest))
        test.same(alone, recorded)
        ranks = 2 if what == "rest" else 1
        expect_calls(test, what, ranks)
        test.demand("'MPI_COMM_WORLD': %d of 3" % (3 - ranks) in test.told(what),
                    what, "does not tell who is missing:", test.told(what))
        metrics = test.run([test.lull, "metrics", test.path(what)])
        test.demand(metrics.returncode == 0, "lull metrics:", metrics.stderr)


def test_limits(test):
    """A rank that may make no files of a size is not recorded; what it does is as it was. So is what a
    rank does that has few descriptors, and one for the recorder, which keeps one file open."""
    program = test.compile(PROGRAM, "start")
    usual = test.mpirun((2, program))

    def limited(limit, command):
        return ["sh", "-c", limit + "; exec \"$@\"", "sh", *command]

    def works(limit):
        # Where MPI_Init fails, what MPICH 4.2's mpirun returns is now 15, now 0.
        alone = test.mpirun((1, program), (1, *limited(limit, [program])))
        return sorted(alone.stdout.splitlines()) == sorted(usual.stdout.splitlines())

    few = next(n for n in (24, 32, 40, 48, 64, 256) if works("ulimit -n %d" % n))
    for what, limit in (("size", "ulimit -f 16"), ("descriptors", "ulimit -n %d" % (few + 1))):
        if what == "size" and not works(limit):
            continue  # MPI itself needs larger ones
        recorded = test.mpirun((1, *test.record(what, program)),
                               (1, *limited(limit, test.record(what, program))))
        test.same(usual, recorded)
        test.demand(test.events(what).get("call", 0) >= CALLS["call"], what, test.events(what))


def test_end(test):
    """A rank that has paused comes to the comparison of clocks all the same: each is a node."""
    program = test.compile(PROGRAM, "start")
    for command in ((3, program), (3, program, "pause", "1"), (3, program, "pause", "0")):
        alone = test.mpirun(command)
        number, *words = command
        run = "end%d" % len(os.listdir(test.folder))
        recorded = test.mpirun((number, *test.record(run, *words)),
                               LULL_RECORD_SKEW="1000000000:40")
        test.same(alone, recorded)
        error = test.info(run).get("facts", {}).get("clock_error", "")
        test.demand(error.startswith("up to "), run, "clocks:", error)
    recorded = test.mpirun((2, *test.record("part", program)), (1, program),
                           LULL_RECORD_SKEW="1000000000:40")
    test.same(test.mpirun((3, program)), recorded)
    error = test.info("part").get("facts", {}).get("clock_error", "")
    test.demand(error.startswith("up to "), "part", "clocks:", error)


# ---- how the program is started ------------------------------------------------------------------

def test_wrapped(test):
    """Behind what only starts a program, the program is recorded, and nothing else."""
    program = test.compile(PROGRAM, "start")
    script, starts = test.path("script.sh"), test.path("starts.sh")
    open(script, "w").write("#!/bin/sh\nls / >/dev/null\n%s | cat\n" % program)
    open(starts, "w").write("#!/bin/bash\nexec %s\n" % program)
    for path in (script, starts):
        os.chmod(path, 0o755)
    mpirun = ["mpirun." + test.family, "-n", "2"]
    for i, words in enumerate((["taskset", "0xffffffff"], ["nice", "-n", "1"],
                               ["env", "-u", "NOBODY", "SOME=thing"], ["timeout", "1000"],
                               ["stdbuf", "-oL", "nice"], ["sh", "-c", program], [script],
                               [starts])):
        command = words if program in words or words[0] in (script, starts) else words + [program]
        run = "run%d" % i
        alone = test.mpirun((2, *command))
        recorded = test.mpirun((2, *test.record(run, *command)))
        test.same(alone, recorded)
        expect_calls(test, run, 2)
    for i, words in enumerate((["env", "SOME=thing", "nice"], ["timeout", "1000"])):
        run = "before%d" % i
        test.same(alone, test.run(test.record(run, *words, *mpirun, "nice", program)))
        expect_calls(test, run, 2)


def behind(test, *words):
    """A tool that is not there everywhere, and starts a program."""
    if not shutil.which(words[0]) or test.run([*words, "true"]).returncode != 0:
        raise Skip("%s was not found or does not work here" % words[0])
    program = test.compile(PROGRAM, "start")
    alone = test.mpirun((2, *words, program))
    test.same(alone, test.mpirun((2, *test.record("run", *words, program))))
    expect_calls(test, "run", 2)
    mpirun = [*words, "mpirun." + test.family, "-n", "2", program]
    test.same(test.run(mpirun), test.run(test.record("before", *mpirun)))
    expect_calls(test, "before", 2)


def test_numactl(test):
    behind(test, "numactl", "--localalloc")


def test_time(test):
    behind(test, "time", "-p")


HIDE = """#!/bin/sh
for name in OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_RANK PMI_SIZE \
        MPI_LOCALRANKID; do
    eval "value=\\$$name"
    [ -n "$value" ] && export "HIDDEN_$name=$value"
    unset $name
done
exec "$@"
"""


def test_unknown(test):
    """A launcher that tells no rank: one run all the same, and another one the next time."""
    program, hide = test.compile(PROGRAM, "start"), test.path("hide.sh")
    open(hide, "w").write(HIDE)
    os.chmod(hide, 0o755)
    alone = test.mpirun((3, program))
    for options in (["-o", test.path("start.1x1.lull")], []):
        command = [hide, test.lull, "record", *options, program]
        test.same(alone, test.mpirun((3, *command)))
    runs = sorted(name for name in os.listdir(test.folder) if name.endswith(".lull"))
    test.demand(runs == ["start.1x1-2.lull", "start.1x1.lull"], "runs:", runs)
    for run in runs:
        expect_calls(test, run, 3)
        test.demand("not recorded" not in test.told(run), run, "has odd communicators")
        replay = test.run([test.lull, "replay", test.path(run)])
        test.demand(replay.returncode == 0, "lull replay:", replay.stderr)


# ---- where MPI is ------------------------------------------------------------------------------

def test_local(test):
    """MPI that a plug-in keeps to itself; and a loader that binds all names at once."""
    loader = test.compile(os.path.join(HERE, "start_loader.c"), "loader", "-ldl", compiler="cc")
    module = test.compile(PROGRAM, "module.so", "-shared", "-fPIC")
    program = test.compile(PROGRAM, "start")
    for what, command in (("module", (loader, module)), ("program", (program,))):
        for bind in ({}, {"LD_BIND_NOW": "1"}):
            run = what + "".join(bind)
            alone = test.mpirun((2, *command), **bind)
            recorded = test.mpirun((2, *test.record(run, *command, options=(
                "--mpi", test.family))), **bind)
            test.same(alone, recorded)
            expect_calls(test, run, 2)
    alone = test.run(["/bin/echo", "yes"], LD_BIND_NOW="1")
    recorded = test.run(test.record("echo", "/bin/echo", "yes", options=("--mpi", test.family)),
                        LD_BIND_NOW="1")
    test.same(alone, recorded)


SAY = {"openmpi": ("Open MPI v4.1.4, package: Debian OpenMPI", "IBM Spectrum MPI v10.4.0",
                   "FUJITSU MPI Library 4.0.1 (4.0.1fj4.0.0)"),
       "mpich": ("MPICH Version:\t4.0.2\nMPICH Release date", "MVAPICH2 Version      :\t2.3.7",
                 "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)",
                 "Intel(R) MPI Library 2021.10 for Linux* OS", "ParaStation MPI 5.4.8")}
FOREIGN = ("HPE MPT 2.25  08/31/21 15:38:35", "Some other MPI 1.0\nof two lines", "")


def test_families(test):
    """What the library says of itself decides, wherever the words stand."""
    test.compile(os.path.join(HERE, "start_library.c"), "libmpi_gnu_123.so.12", "-shared", "-fPIC",
                 "-Wl,-soname,libmpi_gnu_123.so.12")
    program = test.compile(PROGRAM, "start", "-Wl,--no-as-needed",
                           test.path("libmpi_gnu_123.so.12"), "-Wl,-rpath," + test.folder)
    alone = test.mpirun((2, program))
    other = "mpich" if test.family == "openmpi" else "openmpi"
    options = ("--mpi", test.family)
    for words, fits in ([(words, True) for words in SAY[test.family]] +
                        [(words, False) for words in FOREIGN + SAY[other][:1]]):
        run = "run%d" % len(os.listdir(test.folder))
        recorded = test.mpirun((2, *test.record(run, program, options=options)),
                               LIBRARY_SAYS=words, LULL_RECORD_QUIET=None)
        test.same(alone, recorded)
        refused = "MPI is not recorded" in recorded.stderr
        test.demand(refused != fits, repr(words), "stderr:", recorded.stderr)
        test.demand(recorded.stderr.count("MPI is not recorded") < 2, recorded.stderr)
        if fits:
            expect_calls(test, run, 2)
        else:
            test.demand(not test.events(run).get("call"), repr(words), test.events(run))
    # The library of the other family itself, whose handles and texts have other lengths.
    if shutil.which("mpicc." + other):
        program = test.compile(PROGRAM, "start")
        recorded = test.mpirun((2, *test.record("other", program, options=("--mpi", other))),
                               LULL_RECORD_QUIET=None)
        test.same(test.mpirun((2, program)), recorded)
        test.demand("MPI is not recorded" in recorded.stderr, "stderr:", recorded.stderr)


PYTHON = """
import multiprocessing
from mpi4py import MPI
def square(x): return x * x
if __name__ == "__main__":
    comm = MPI.COMM_WORLD
    total = 0
    for i in range(10):
        total += comm.allreduce(comm.rank)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(comm.rank, comm.size, total, pool.map(square, range(5)), flush=True)
"""


def test_python(test):
    """mpi4py, with processes of Python's own beside it."""
    python = "/usr/bin/python3"
    script = test.path("script.py")
    open(script, "w").write(PYTHON)
    library = test.run([python, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"])
    if library.returncode != 0:
        raise Skip("mpi4py was not found (package python3-mpi4py)")
    if ("Open MPI" in library.stdout) != (test.family == "openmpi"):
        raise Skip("mpi4py is of another MPI")
    alone = test.mpirun((2, python, script))
    recorded = test.mpirun((2, *test.record("run", python, script)))
    test.same(alone, recorded)
    found = test.events("run")
    test.demand(found.get("collective begin", 0) >= 20, found)


# ---- where lull lies ---------------------------------------------------------------------------

def test_blank(test):
    """lull lies in a folder with a blank in its name, the run in another: the program is recorded, it sees of the
    recorder what it always sees, and processes that it spawns are recorded. With a colon in its name, which
    the dynamic linker cannot be told, it is not recorded, which one line says."""
    beside = os.path.dirname(test.lull)
    for name in "a folder", "a:folder":
        os.mkdir(test.path(name))
        for file in [os.path.basename(test.lull)] + [file for file in os.listdir(beside) if file.endswith(".so")]:
            shutil.copy(os.path.join(beside, file), test.path(name))
    program = test.compile(PROGRAM, "start")
    alone = test.mpirun((2, program))
    test.lull = test.path("a folder/lull")
    test.same(alone, test.mpirun((2, *test.record("a run", program))))
    expect_calls(test, "a run", 2)
    for paths in {}, {"LD_LIBRARY_PATH": "/usr/lib"}:
        seen = [[line for line in test.run(command, **paths).stdout.splitlines() if line.startswith("LD_")]
                for command in (["printenv"], test.record("shown%d" % len(paths), "printenv"))]
        test.demand(seen[0] == seen[1] == [name + "=" + value for name, value in paths.items()], seen)
    followed = test.run(test.record("followed", script(test, "calls", program), options=["--mpi", test.family]))
    test.demand(followed.returncode == 0, followed.stderr)
    expect_calls(test, "followed", 1)
    test.lull = test.path("a:folder/lull")
    refused = test.run(test.record("refused", program))
    test.demand(refused.returncode == 0 and "':' or ';' in it" in refused.stderr and
                not os.path.exists(test.path("refused")), refused.returncode, refused.stderr)


# ---- several programs --------------------------------------------------------------------------

def script(test, name, *lines):
    with open(test.path(name), "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\n" + "\n".join(lines) + "\n")
    os.chmod(test.path(name), 0o755)
    return test.path(name)


def metrics(test, run, *options):
    done = test.run([test.lull, "metrics", "--format", "json", test.path(run), *options])
    return done.returncode, done.stderr


def test_several(test):
    """Programs of MPI one after the other in a script: as applications of a run where each is one
    process by itself; jobs of several ranks cannot be told apart, and a line says what to do."""
    program = test.compile(PROGRAM, "start")
    one_by_one = script(test, "one_by_one", program, program, program)
    alone = test.run([one_by_one])
    recorded = test.run(test.record("run", one_by_one, options=["--mpi", test.family]))
    test.same(alone, recorded)
    found = test.info("run").get("facts", {})
    test.demand(found.get("applications") == 3 and found.get("processes") == 3, "info:", found)
    expect_calls(test, "run", 3)
    for application in "1", "2", "3":
        code, said = metrics(test, "run", "--application", application)
        test.demand(code == 0, "metrics of", application, code, said)
    mpirun = "mpirun.%s -n 2 %s" % (test.family, program)
    jobs = script(test, "jobs", mpirun, mpirun)
    alone = test.run([jobs])
    recorded = test.run(test.record("twice", jobs, options=["--mpi", test.family]))
    test.same(alone, recorded)
    for command in "info", "metrics":
        done = test.run([test.lull, command, test.path("twice")])
        test.demand(done.returncode == 1 and len(done.stderr.splitlines()) == 1 and
                    "holds several jobs of MPI" in done.stderr and
                    "record each by itself" in done.stderr, command, done.stdout, done.stderr)


# ---- a full disk -------------------------------------------------------------------------------

def inside_full_disks(test):
    program = test.compile(PROGRAM, "start")
    alone = test.mpirun((2, program))
    place = test.path("disk")
    os.mkdir(place)
    # from no room at all over that for one rank alone to that for both
    for kib in (8, 16, 64, 100, 140, 160, 200, 240, 280, 300, 400, 600):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % kib, "tmpfs", place], check=True)
        recorded = test.mpirun((2, *test.record("disk/run", program)), LULL_RECORD_QUIET=None)
        test.same(alone, recorded)
        said = [line for line in recorded.stderr.splitlines()
                if "cannot" in line or "not recorded" in line]
        read = test.run([test.lull, "info", place + "/run"])
        whole = read.returncode == 0 and test.events("disk/run").get("call") == 2 * CALLS["call"]
        lacks = "'MPI_COMM_WORLD': 1 of 2" in read.stdout
        test.demand((whole or lacks or said) and not (whole and (lacks or said)) and len(said) < 2,
                    kib, "KiB:", recorded.stderr, read.stdout, read.stderr)
        subprocess.run(["umount", place], check=True)


def test_full_disk(test):
    """Little room: as alone, and a word of it."""
    probe = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=16k tmpfs /mnt"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        raise Skip("a file system cannot be mounted here, not even in a name space")
    if "--inside" not in sys.argv:
        done = subprocess.run(["unshare", "-rm", sys.executable, "-B"] + sys.argv + ["--inside"])
        test.demand(done.returncode == 0, "in a name space of its own")
    else:
        inside_full_disks(test)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    parser.add_argument("--lull", required=True)
    parser.add_argument("--family", required=True)
    parser.add_argument("--program", required=True, help="start.c, compiled")
    parser.add_argument("--inside", action="store_true", help="of a name space")
    settings = parser.parse_args()
    for tool in ("mpicc." + settings.family, "mpirun." + settings.family):
        if not shutil.which(tool):
            print("skipped: %s was not found" % tool)
            return 77
    with tempfile.TemporaryDirectory(prefix="lull-start-") as folder:
        test = Test(settings, folder)
        try:
            globals()["test_" + settings.what](test)
        except Skip as reason:
            print("skipped: %s" % reason)
            return 77
    for line in test.wrong:
        print(line)
    return 1 if test.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
