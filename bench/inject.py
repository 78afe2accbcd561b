"""Predictions against measurements: programs are recorded as they are, then disturbed on purpose, and
lull replay predicts the second run from the first and from what was injected.

A thread that could run and had no core takes longer, in one of the two runs and not in the other: what a
prediction misses then is the machine's. The recorder asks the scheduler about that, so that lull says by
itself in which runs it was so. Such pairs are counted, and left out unless there are no others: then it is not judged.
What else the machine does only makes runs longer: so the shortest undisturbed run predicts the shortest
disturbed one.

LULL_BENCH_BEFORE holds words that come before the launcher, such as "chrt -f 10" on a machine that
does other work. Each rank has a core: in real time, ranks that poll would keep others from ever
running."""
import collections
import json
import os
import shutil
import subprocess

from record_mpi import ENVIRONMENT

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "examples")
SOURCES = {"ping-pong": os.path.join(HERE, "pingpong.c"), "heat": os.path.join(EXAMPLES, "heat.c"),
           "chain": os.path.join(EXAMPLES, "wave.c")}
CHAIN = ["--pattern", "chain:exec=2ms,iterations=150", "--work"]
RANKS = max(2, min(8, len(os.sched_getaffinity(0))))
BY_CALL = "iteration:call=MPI_Waitall"
LATENCIES = ("10us", "100us", "1ms", "10ms")
ROUNDS = {"10us": "5000", "100us": "2000", "1ms": "200", "10ms": "30"}
STEPS = {"10us": "1000", "100us": "1000", "1ms": "200", "10ms": "50"}
CASES = ([("ping-pong", 2, [ROUNDS[latency]], ["hockney:latency=" + latency])
          for latency in LATENCIES] +
         [("ping-pong", 2, ["20", "1000000"], ["hockney:latency=10us,bandwidth=100MB/s"])] +
         [("heat", 2, [STEPS[latency], "600"], ["hockney:latency=" + latency])
          for latency in LATENCIES] +
         [("chain", RANKS, CHAIN + ["divide"], [BY_CALL, "0@i40:50ms"]),
          ("chain", RANKS, CHAIN + ["divide"], ["exponential:mean=500us"]),
          ("chain", RANKS, CHAIN + ["divide"], ["bernoulli:mean=100us,p=0.05"]),
          ("chain", RANKS, CHAIN + ["divide"], ["periodic:period=10ms,duration=1ms"]),
          ("chain", RANKS, CHAIN + ["divide"],
           [BY_CALL, "hockney:latency=100us", "exponential:mean=200us", "1@i70:30ms"])])


Compared = collections.namedtuple("Compared", "quiet disturbed without measured predicted own had_cores")


def error_of(pair):
    return 100 * (pair.predicted / pair.measured - 1)


class Case:
    def __init__(self, bench, family, kind, ranks, arguments):
        self.bench = bench
        before = os.environ.get("LULL_BENCH_BEFORE", "").split()
        program = os.path.abspath(bench.path("inject-%s.%s" % (kind, family)))
        if not os.path.exists(program):
            subprocess.run(["mpicc." + family, "-O2", "-w", SOURCES[kind], "-o", program, "-lm"],
                           check=True)
        self.launch = before + ["mpiexec." + family, "-n", str(ranks)]
        self.program = [program, *arguments]

    def record(self, name, specs):
        run = os.path.abspath(self.bench.path(name))
        shutil.rmtree(run, ignore_errors=True)
        words = [word for spec in specs for word in ("--inject", spec)]
        lull = os.path.join(os.path.abspath(self.bench.build), "lull")
        subprocess.run(self.launch + [lull, "record", "-o", run, *words, "--", *self.program],
                       env=dict(ENVIRONMENT, OMP_NUM_THREADS="1", LULL_RECORD_QUIET="1"), check=True,
                       capture_output=True)
        return run

    def replay(self, quiet, disturbed):
        """Of both runs what was measured, what is predicted of the second, the error of the replay of the
        first, and whether all threads had their cores."""
        done = subprocess.run(self.bench.lull("replay", quiet, "--against", disturbed, "--format",
                                              "json"), check=True, capture_output=True, text=True)
        document = json.loads(done.stdout)
        replayed, against = (document["tables"][name]["rows"] for name in ("replay", "against"))
        had_cores = not any("had no core" in note["text"] for note in document["notes"])
        return Compared(quiet, disturbed, replayed[0]["values"][0], against[0]["values"][1],
                        against[0]["values"][0], abs(replayed[1]["values"][1]), had_cores)

    def compare(self, specs, runs):
        """The shortest run as it is with the shortest one that was disturbed, and all pairs."""
        pairs = [self.replay(self.record("quiet-%d" % i, []), self.record("disturbed-%d" % i, specs))
                 for i in range(runs)]
        found = [pair for pair in pairs if pair.had_cores] or pairs
        shortest = self.replay(min(found, key=lambda pair: pair.without).quiet,
                               min(found, key=lambda pair: pair.measured).disturbed)
        for pair in pairs:
            shutil.rmtree(pair.quiet)
            shutil.rmtree(pair.disturbed)
        return shortest, found


def rows(bench):
    for family in ("openmpi", "mpich"):
        for kind, ranks, arguments, specs in CASES:
            words = " ".join(spec for spec in specs if spec != BY_CALL)
            name = "inject: %s %s x %d, %s" % (family, kind, ranks, words)
            if not bench.wanted(name) or not shutil.which("mpicc." + family):
                continue
            case = Case(bench, family, kind, ranks, arguments)
            shortest, pairs = case.compare(specs, bench.runs)
            errors = sorted(error_of(pair) for pair in pairs)
            own = 100 * shortest.own
            bench.add(name, "error %+.1f %%" % error_of(shortest),
                      "<= %.1f %%" % max(5, own) if shortest.had_cores else "",
                      "predicted %.4f s, measured %.4f s, undisturbed %.4f s, its replay %.1f %%; pairs as "
                      "they came %+.1f .. %+.1f %%; %d of %d had their cores" %
                      (shortest.predicted, shortest.measured, shortest.without, own, errors[0], errors[-1],
                       sum(pair.had_cores for pair in pairs), bench.runs))
