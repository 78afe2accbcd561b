"""Predictions against measurements: programs are recorded as they are, then disturbed on purpose, and
lull replay predicts the second run from the first and from what was injected.

A thread that could run and had no core takes longer, in one of the two runs and not in the other: what a
prediction misses then is the machine's. The recorder asks the scheduler about that, so that lull says by
itself in which runs it was so. Such pairs are counted, and left out of the error unless there are no others: then it is
not judged.

LULL_BENCH_BEFORE holds words that come before the launcher, such as "chrt -f 10" on a machine that
does other work. Each rank has a core: in real time, ranks that poll would keep others from ever
running."""
import json
import os
import shutil
import statistics
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
CASES = ([("ping-pong", 2, [ROUNDS[latency]], ["hockney:latency=" + latency])
          for latency in LATENCIES] +
         [("ping-pong", 2, ["20", "1000000"], ["hockney:latency=10us,bandwidth=100MB/s"])] +
         [("heat", 2, ["100", "600"], ["hockney:latency=" + latency]) for latency in LATENCIES] +
         [("chain", RANKS, CHAIN + ["divide"], [BY_CALL, "0@i40:50ms"]),
          ("chain", RANKS, CHAIN + ["divide"], ["exponential:mean=500us"]),
          ("chain", RANKS, CHAIN + ["divide"], ["bernoulli:mean=100us,p=0.05"]),
          ("chain", RANKS, CHAIN + ["divide"], ["periodic:period=10ms,duration=1ms"]),
          ("chain", RANKS, CHAIN + ["divide"],
           [BY_CALL, "hockney:latency=100us", "exponential:mean=200us", "1@i70:30ms"])])


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

    def compare(self, specs):
        """Predicted, measured, the error of the replay of the undisturbed run, and whether all threads
        had their cores."""
        quiet, disturbed = self.record("quiet", []), self.record("disturbed", specs)
        done = subprocess.run(self.bench.lull("replay", quiet, "--against", disturbed, "--format",
                                              "json"), check=True, capture_output=True, text=True)
        document = json.loads(done.stdout)
        tables = document["tables"]
        predicted, measured = tables["against"]["rows"][0]["values"][:2]
        quiet = not any("had no core" in note["text"] for note in document["notes"])
        return predicted, measured, abs(tables["replay"]["rows"][1]["values"][1]), quiet


def rows(bench):
    for family in ("openmpi", "mpich"):
        for kind, ranks, arguments, specs in CASES:
            words = " ".join(spec for spec in specs if spec != BY_CALL)
            name = "inject: %s %s x %d, %s" % (family, kind, ranks, words)
            if not bench.wanted(name) or not shutil.which("mpicc." + family):
                continue
            case = Case(bench, family, kind, ranks, arguments)
            pairs = [case.compare(specs) for _ in range(bench.runs)]
            had_cores = [pair for pair in pairs if pair[3]]
            found = had_cores or pairs
            errors = sorted(100 * (predicted / measured - 1) for predicted, measured, _, _ in found)
            own = 100 * statistics.median(replay for _, _, replay, _ in found)
            bench.add(name, "error %+.1f %% (%+.1f .. %+.1f)" %
                      (statistics.median(errors), errors[0], errors[-1]),
                      "<= %.1f %%" % max(5, own) if had_cores else "",
                      "predicted %.4f s, measured %.4f s; replay of the undisturbed run %.1f %%; %s" %
                      (statistics.median(pair[0] for pair in found),
                       statistics.median(pair[1] for pair in found), own,
                       "%d of %d pairs had their cores" % (len(had_cores), len(pairs))))
