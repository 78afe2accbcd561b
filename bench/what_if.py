"""What-ifs against programs that were repaired: bench/planted.c is recorded with a fault and without
it, and lull replay predicts the second run from the first. And how long twelve fixes of a run take.

The work of most faults is sleep; that of `chunk` takes cores, and what the recorder adds to each chunk
of half a microsecond is not scheduling. LULL_BENCH_BEFORE as in bench/inject.py: on a machine that does
other work, only runs in real time tell something."""
import json
import os
import re
import shutil
import statistics
import subprocess

from record_mpi import ENVIRONMENT

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = max(2, min(4, len(os.sched_getaffinity(0))))
# Fault, ranks, threads of each, and what undoes it.
CASES = (("slow-rank", RANKS, 1, ["--median", "rank=1"]),
         ("late-rank", RANKS, 1, ["--median", "rank=1"]),
         ("imbalance", 1, 4, ["--balance-threads"]), ("lock", 1, 4, ["--no-locks"]),
         ("chunk", 1, 2, ["--no-scheduling"]), ("serial", 1, 4, ["--no-serial"]))
EPOCH = os.path.join(os.environ.get("LULL_CONFORMANCE_DIR",
                                    os.path.join(HERE, "..", "..", "shared", "traces")),
                     "epoch-mpi", "epoch_8proc.prv.gz")


def record(bench, program, ranks, threads, fault, word):
    run = os.path.abspath(bench.path("%s-%s" % (fault, word)))
    shutil.rmtree(run, ignore_errors=True)
    before = os.environ.get("LULL_BENCH_BEFORE", "").split()
    lull = os.path.join(os.path.abspath(bench.build), "lull")
    subprocess.run(before + ["mpiexec.openmpi", "--bind-to", "none", "-n", str(ranks), lull,
                             "record", "-o", run, "--", program, fault, word],
                   env=dict(ENVIRONMENT, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive",
                            LULL_RECORD_QUIET="1"), check=True, capture_output=True)
    return run


def predict(bench, program, ranks, threads, fault, options):
    """Predicted, measured and faulty runtime, in seconds."""
    faulty = record(bench, program, ranks, threads, fault, "yes")
    repaired = record(bench, program, ranks, threads, fault, "no")
    done = subprocess.run(bench.lull("replay", faulty, *options, "--against", repaired,
                                     "--format", "json"),
                          check=True, capture_output=True, text=True)
    tables = json.loads(done.stdout)["tables"]
    predicted, measured = tables["against"]["rows"][0]["values"][:2]
    return predicted, measured, tables["replay"]["rows"][0]["values"][0]


def repaired(bench):
    program = os.path.abspath(bench.path("planted"))
    for fault, ranks, threads, options in CASES:
        name = "what if: %s repaired by %s" % (fault, " ".join(options))
        if not bench.wanted(name):
            continue
        if not os.path.exists(program):
            subprocess.run(["mpicc.openmpi", "-O2", "-w", "-fopenmp",
                            os.path.join(HERE, "planted.c"), "-o", program], check=True)
        found = [predict(bench, program, ranks, threads, fault, options) for _ in range(bench.runs)]
        # What else the machine does only makes runs longer: the least disturbed are compared.
        faulty, predicted = min((faulty, predicted) for predicted, _, faulty in found)
        measured = min(measured for _, measured, _ in found)
        bench.add(name, "error %+.1f %%" % (100 * (predicted / measured - 1)), "within 5 %",
                  "predicted %.0f ms, measured %.0f ms, with the fault %.0f ms; least disturbed of %d "
                  "runs" % (1e3 * predicted, 1e3 * measured, 1e3 * faulty, len(found)))


def side_by_side(bench):
    name = "what if: twelve fixes of EPOCH 8, all together, with its metrics"
    if not bench.wanted(name) or not os.path.exists(EPOCH):
        return
    before = os.environ.get("LULL_BENCH_BEFORE", "").split()
    command = before + [os.path.join(bench.build, "bench", "bench_fixes"), EPOCH]
    seconds = []
    for _ in range(bench.runs):
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds.append(float(re.search(r"together ([0-9.]+) s", text).group(1)))
    bench.add(name, "%.2f s (%.2f .. %.2f)" % (statistics.median(seconds), min(seconds),
                                              max(seconds)), "< 2 s", "%d runs" % len(seconds))


def rows(bench):
    repaired(bench)
    side_by_side(bench)
