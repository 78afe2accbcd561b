"""Functions of instrumented programs: each is recorded, and the call tree of the run compared with
the one that the sources have, which was counted by hand.

    functions.py --lull LULL --check CHECK_RUN [--names]     --names: lull was built with libdw
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions")
INCLUDE = os.path.join(HERE, "..", "..", "..", "include")
ENVIRONMENT = launch.environment()


def nested(path, *children):
    """The tree of one function that is called `path[1]` times in all: {path: calls}."""
    name, calls = path
    tree = {(name,): calls}
    for child in children:
        for below, times in child.items():
            tree[(name,) + below] = times
    return tree


def joined(*trees):
    return {path: calls for tree in trees for path, calls in tree.items()}


def outer(times):
    return nested(("outer", times),
                  nested(("twice", 4 * times), nested(("inner", 8 * times))),
                  nested(("helper", times), nested(("help", 3 * times))))


def chain(name, depth, times):
    """A function that calls itself."""
    return {(name,) * (i + 1): times for i in range(depth)}


CALLS = joined(
    nested(("main", 1), outer(3), chain("down", 5, 1),
           nested(("leaps", 1), chain("leap", 3, 3), nested(("landed", 3), nested(("inner", 3))),
                  nested(("inner", 1))),
           nested(("inner", 1)), nested(("landed", 1), nested(("inner", 1)))),
    nested(("in_thread", 1), outer(1)))

OBJECTS = nested(
    ("main", 1),
    nested(("attempt(int)", 5),
           nested(("heat::solve(int)", 5),
                  nested(("heat::Grid::Grid(int)", 5)), nested(("heat::Grid::~Grid()", 5)),
                  nested(("heat::Grid::step(int)", 5),
                         nested(("int heat::Grid::fill<int>(int)", 3)),
                         nested(("int heat::Grid::fill<double>(double)", 3)))),
           nested(("caught()", 2))))

MODULES = nested(("main", 1),
                 nested(("prog", 1), nested(("outer", 1), nested(("heat::step", 4))),
                        chain("heat::factorial", 3, 1)))

# Of a team: what is called in a parallel region stands below what began it on the master alone.
THREADS = {"main": 1, "round_of": 5, "row": 10, "job": 20, "cell": 3 * 10 + 20 + 10}


def without(tree, names):
    """The tree in which these functions are left out: their callers call what they call."""
    kept = {}
    for path, calls in tree.items():
        if path[-1] not in names:
            short = tuple(name for name in path if name not in names)
            kept[short] = kept.get(short, 0) + calls
    return kept


class Bench:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong, self.done = settings, folder, [], 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, **more):
        return subprocess.run(command, env=dict(ENVIRONMENT, **more), capture_output=True,
                              text=True, timeout=600)

    def build(self, compiler, source, level, *flags):
        program = self.path("%s.%s%s" % (source, compiler, level))
        command = [compiler, "-g", level, "-finstrument-functions", "-I" + INCLUDE, *flags,
                   os.path.join(HERE, source), "-o", program]
        if source.endswith(".f90"):
            command += ["-J", self.folder]
        done = self.run(command)
        if done.returncode != 0:
            raise RuntimeError("%s: %s" % (" ".join(command), done.stderr))
        return program

    def record(self, program, *options, before=()):
        """The run, and what is said when it is read."""
        target = self.path("run")
        shutil.rmtree(target, ignore_errors=True)
        alone = self.run([*before, program])
        done = self.run([*before, self.settings.lull, "record", "-o", target, *options, program])
        if done.returncode != 0 or done.stdout != alone.stdout:
            raise RuntimeError("%s: status %d, alone %d: %s" % (program, done.returncode,
                                                                alone.returncode, done.stderr))
        return target

    def expect(self, what, is_, expected):
        self.done += 1
        if is_ != expected:
            self.wrong.append("%s:\n  expected %s\n  is       %s" % (what, expected, is_))

    def tree(self, target, kinds=("compiler",)):
        """{path of names: calls} of the regions of these kinds, by the events of the run."""
        output = self.path("run.json")
        done = self.run([self.settings.lull, "convert", "--force", "--to", "chrome", target, output])
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        events = [event for event in json.load(open(output))["traceEvents"]
                  if event["ph"] == "X" and event["cat"] in kinds]
        # In ns; of two that begin together the longer one is around the other.
        spans = sorted((event["pid"], event["tid"], round(1000 * event["ts"]),
                        -round(1000 * event["dur"]), event["name"]) for event in events)
        found, above = {}, []
        for process, thread, begin, length, name in spans:
            while above and (above[-1][0] != (process, thread) or above[-1][1] <= begin):
                above.pop()
            above.append(((process, thread), begin - length, name))
            path = tuple(one[2] for one in above)
            found[path] = found.get(path, 0) + 1
        return found

    def table(self, target, name):
        """A table that `lull info` prints: {label: values}."""
        done = self.run([self.settings.lull, "info", "--format", "json", target])
        rows = json.loads(done.stdout)["tables"].get(name, {"rows": []})["rows"]
        return {row["label"]: row["values"] for row in rows}

    def expect_sums(self, what, target, tree):
        """Sums equal events, and both the calls of each function."""
        calls = {}
        for path, times in tree.items():
            calls[path[-1]] = calls.get(path[-1], 0) + times
        lines = "".join("expect %d %s\n" % (times, name) for name, times in calls.items())
        done = subprocess.run([self.settings.check, target], input=lines, capture_output=True,
                              text=True, timeout=600)
        self.expect(what + ": sums", (done.returncode, done.stdout.split("\n")[-2]),
                    (0, "%d checked, 0 differ, 0 oddities" % len(calls)))
        if done.returncode:
            self.wrong.append(done.stdout)


def plain(bench, compiler, source, expected, *flags):
    for level in ("-O0", "-O2"):
        target = bench.record(bench.build(compiler, source, level, *flags))
        what = "%s %s %s" % (source, compiler, level)
        tree = bench.tree(target)
        if not bench.settings.names:
            bench.expect(what, sorted(tree.values()), sorted(expected.values()))
            continue
        bench.expect(what, tree, expected)
        bench.expect_sums(what, target, expected)


def teams(bench, compiler, _):
    target = bench.record(bench.build(compiler, "threads.c", "-O1", "-fopenmp"))
    calls, inside = {}, 0
    for path, times in bench.tree(target, ("compiler", "OpenMP")).items():
        calls[path[-1]] = calls.get(path[-1], 0) + times
        if path[-1] in ("row", "job"):
            inside += times * any(name.startswith("!$omp parallel") for name in path)
    what = "threads.c " + compiler
    bench.expect(what, {name: calls.get(name, 0) for name in THREADS}, THREADS)
    bench.expect(what + ": in parallel regions", inside, THREADS["row"] + THREADS["job"])
    bench.expect(what + ": oddities", bench.table(target, "quirks"), {})


FILTERS = [
    # text, functions that are left out, of calls.c
    ("SCOREP_REGION_NAMES_BEGIN EXCLUDE inner help* SCOREP_REGION_NAMES_END\n",
     {"inner", "help", "helper"}),
    ("SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE * # all\n  INCLUDE main\n          lea[a-z]\n"
     "SCOREP_REGION_NAMES_END", {name for path in CALLS for name in path} - {"main", "leap"}),
    ("SCOREP_FILE_NAMES_BEGIN\n EXCLUDE */helper.h\nSCOREP_FILE_NAMES_END\n", {"help", "helper"}),
    ("SCOREP_FILE_NAMES_BEGIN\n EXCLUDE *\n INCLUDE */calls.c\nSCOREP_FILE_NAMES_END\n"
     "SCOREP_REGION_NAMES_BEGIN\n INCLUDE help\n EXCLUDE down\nSCOREP_REGION_NAMES_END",
     {"help", "helper", "down"}),
]


def filtered(bench, compiler, cpp):
    rules = bench.path("filter")
    program = bench.build(compiler, "calls.c", "-O1")
    for text, names in FILTERS:
        open(rules, "w").write(text)
        target = bench.record(program, "--filter", rules)
        bench.expect("filter %r" % text, bench.tree(target), without(CALLS, names))
    program = bench.build(cpp, "objects.cc", "-O1")
    open(rules, "w").write("SCOREP_REGION_NAMES_BEGIN EXCLUDE MANGLED *4stepEi\n"
                           "EXCLUDE *fill<double>* INCLUDE MANGLED *solve(int)\n"
                           "SCOREP_REGION_NAMES_END")
    target = bench.record(program, "--filter", rules)
    names = {"heat::Grid::step(int)", "int heat::Grid::fill<double>(double)"}
    bench.expect("filter of C++", bench.tree(target), without(OBJECTS, names))


def refused(bench, program):
    rules = bench.path("filter")
    for text, said in (("EXCLUDE a", "line 1: unexpected 'EXCLUDE'"),
                       ("\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE *", "line 2: SCOREP_FILE_NAMES_BEGIN"),
                       ("SCOREP_REGION_NAMES_BEGIN a", "line 1: unexpected 'a'")):
        open(rules, "w").write(text)
        done = bench.run([bench.settings.lull, "record", "--filter", rules, "-o",
                          bench.path("none"), program])
        good = re.fullmatch("lull record: %s: %s.*\n" % (re.escape(rules), re.escape(said)),
                            done.stderr)
        bench.expect("refused %r" % text, (done.returncode, bool(good)), (1, True))
        bench.expect("no run", os.path.exists(bench.path("none")), False)


def short(bench, compiler, _):
    """What is recorded and what is said to be left out are all calls."""
    program = bench.build(compiler, "short.c", "-O1")
    every = {"main": 1, "in_thread": 2, "work": 3, "tiny": 3000, "busy": 21, "deep": 500}
    for option, recorded in ((("--throttle", "100:1s"), ("main", "in_thread", "work", "busy")),
                             (("--throttle", "100:1ns"), every), (("--throttle", "none"), every)):
        some = recorded is not every
        target = bench.record(program, *option)
        calls = {}
        for path, times in bench.tree(target).items():
            calls[path[-1]] = calls.get(path[-1], 0) + times
        for name in recorded:
            bench.expect("%s of %s" % (name, option), calls[name], every[name])
        left_out = {name: values[0] for name, values in bench.table(target, "left-out").items()}
        bench.expect("oddities of %s" % (option,), len(bench.table(target, "quirks")),
                     int(some))
        bench.expect("left out", set(left_out), {"tiny", "deep"} if some else set())
        for name, count in left_out.items():
            # Who decides has recorded 100 calls that have ended; other threads have begun as many
            # at most, and calls that are inside of each other go on.
            bench.expect(name + " is recorded", 100 <= calls[name] <= 500, True)
            bench.expect("all calls of " + name, calls[name] + count, every[name])


def signals(bench, compiler, _):
    """A signal may come while a call is being recorded: then its handler is not, but all else is."""
    target = bench.record(bench.build(compiler, "signals.c", "-O1"), "--throttle", "none")
    tree = bench.tree(target)
    calls = {}
    for path, times in tree.items():
        calls[path[-1]] = calls.get(path[-1], 0) + times
    bench.expect("ticks", (calls["main"], calls["tick"]), (1, 100000))
    bench.expect("handlers nest", calls.get("handle", 0), calls.get("in_handler", 0))
    bench.expect("oddities with signals", bench.table(target, "quirks"), {})


def unharmed(bench, compiler, _):
    """What a program may count on holds: it prints the same as alone, and comes to its end."""
    for source in ("errors.c", "pauses.c", "joins.c", "allocator.c", "cancelled.c"):
        program = bench.build(compiler, source, "-O2", "-pthread")
        options = [()]
        if bench.settings.names:
            open(bench.path("filter"), "w").write(FILTERS[0][0])
            options += [("--filter", bench.path("filter"))]
        for some in options:
            target = bench.record(program, "--throttle", "none", *some)
            bench.expect("%s %s" % (source, some), check(bench, target, "expect 1 main\n"),
                         "1 checked, 0 differ, 0 oddities\n")


def check(bench, target, lines):
    """What check_run says of the run."""
    return subprocess.run([bench.settings.check, target], input=lines, capture_output=True,
                          text=True, timeout=600).stdout


def many_files(bench, compiler, _):
    """A filter holds for every file that a program loads."""
    files, rules = 1100, bench.path("filter")
    library = bench.build(compiler, "many_files.c", "-O0", "-DLIBRARY", "-fPIC", "-shared")
    for i in range(files):
        shutil.copy(library, bench.path("%d.so" % i))
    program = bench.build(compiler, "many_files.c", "-O1", "-DFILES=%d" % files,
                          '-DFOLDER="%s"' % bench.folder)
    open(rules, "w").write("SCOREP_REGION_NAMES_BEGIN EXCLUDE left_out SCOREP_REGION_NAMES_END")
    target = bench.record(program, "--filter", rules)
    bench.expect("many files", check(bench, target, "expect %d kept\nexpect 0 left_out\n" % files),
                 "2 checked, 0 differ, 0 oddities\n")


def many_functions(bench, compiler, _):
    """That they are too many to be told apart is said, once."""
    program = bench.path("many")
    target = bench.path("many." + compiler + ".run")
    bench.run([compiler, os.path.join(HERE, "many.c"), "-o", program])
    done = bench.run([bench.settings.lull, "record", "-o", target, "--throttle", "none", program])
    said = [line for line in done.stderr.split("\n") if "told apart" in line]
    bench.expect("many functions: said", (done.returncode, len(said)), (0, 1))
    bench.expect("many functions", "more than 65536" in "".join(said), True)


def with_mpi(bench, family):
    compiler, mpirun = "mpicc." + family, "mpirun." + family
    if not shutil.which(compiler) or not shutil.which(mpirun):
        return
    target = bench.record(bench.build(compiler, "exchange.c", "-O1"), before=(mpirun, "-n", "2"))
    expected = nested(("main", 2), nested(("MPI_Init", 2)), nested(("MPI_Finalize", 2)),
                      nested(("exchange", 10), nested(("MPI_Barrier", 10)),
                             nested(("sum_up", 30), nested(("MPI_Allreduce", 30)))))
    bench.expect("exchange.c " + family, bench.tree(target, ("compiler", "MPI")), expected)


def calls(bench, compiler, _):
    plain(bench, compiler, "calls.c", CALLS, "-pthread")


def objects(bench, _, cpp):
    plain(bench, cpp, "objects.cc", OBJECTS)


# What is done, whether it needs the names of functions, and with which compilers; the first one alone with
# --turns. How many files or functions there are has nothing to do with the compiler.
PARTS = [(calls, False, "gcc", "clang"), (objects, False, "clang", "gcc"),
         (signals, False, "gcc", "clang"), (unharmed, False, "clang", "gcc"),
         (teams, True, "gcc", "clang"), (short, True, "clang", "gcc"),
         (many_files, True, "gcc"), (many_functions, True, "gcc"), (filtered, True, "clang", "gcc")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--lull", required=True)
    parser.add_argument("--check", required=True)
    parser.add_argument("--names", action="store_true")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(settings, folder)
        for part, needs_names, *compilers in PARTS:
            both = [(c, cpp) for c, cpp in (("gcc", "g++"), ("clang", "clang++"))
                    if shutil.which(c) and shutil.which(cpp)]
            chosen = [pair for pair in both if pair[0] in compilers[:1 if settings.turns else 2]]
            for compiler, cpp in chosen or both[:1]:
                if settings.names or not needs_names:
                    part(bench, compiler, cpp)
        if shutil.which("gfortran"):
            plain(bench, "gfortran", "modules.f90", MODULES)
        if settings.names:
            refused(bench, "true")
            with_mpi(bench, "openmpi")
            with_mpi(bench, "mpich")
        for line in bench.wrong:
            print(line)
        print("%d compared, %d differ" % (bench.done, len(bench.wrong)))
        if not both and not shutil.which("gfortran"):
            print("skipped: gcc with g++, clang with clang++ and gfortran are not here")
            return 77
        return bool(bench.wrong) or bench.done == 0


sys.exit(main())
