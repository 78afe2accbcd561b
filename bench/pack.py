"""Packed runs: how fast they are made and read, and what they take. The runs are a synthetic one
and EPOCH with eight ranks, converted, where the traces of others are at hand."""
import os
import shutil
import subprocess

TRACES = os.environ.get("LULL_CONFORMANCE_DIR", os.path.join(os.path.dirname(__file__), "..", "..",
                                                             "shared", "traces"))
EVENTS = 20000000


def size_of(run):
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(run) for name in names)


def make_runs(bench):
    generate = os.path.join(bench.build, "bench", "bench_generate")
    subprocess.run([generate, "tape", bench.path("pack-synthetic"), str(EVENTS), "8", "2"], check=True,
                   capture_output=True)
    yield "synthetic"
    epoch = os.path.join(TRACES, "epoch-mpi", "epoch_8proc.prv.gz")
    if os.path.exists(epoch):
        subprocess.run(bench.lull("convert", "--to", "tape", epoch, bench.path("pack-EPOCH-8")),
                       check=True, capture_output=True)
        yield "EPOCH-8"


def rows(bench):
    if not bench.wanted("pack"):
        return
    for name in make_runs(bench):
        run, packed = bench.path("pack-" + name), bench.path("packed-" + name)
        before = size_of(run)
        subprocess.run(bench.lull("pack", run, "-o", packed), check=True)
        bench.add("pack %s: bytes of what they were" % name, "%.3f" % (size_of(packed) / before), "",
                  "%.1f MB from %.1f MB" % (size_of(packed) / 1e6, before / 1e6))
        for ideal, how in ((True, ""), (False, ", without the ideal runtime")):
            bench.ratio("pack %s: metrics packed against not packed%s" % (name, how),
                        bench.metrics(os.path.basename(packed), ideal=ideal),
                        bench.metrics(os.path.basename(run), ideal=ideal), ">= 0.7 x")
        speed(bench, name, run, before)


def speed(bench, name, run, size):
    """MB of the run per second of processor time, with one thread."""
    out = bench.path("pack-out")
    again = ["sh", "-c", 'rm -rf "$1" && LULL_THREADS=1 exec "$2" pack "$3" -o "$1"', "sh", out,
             os.path.join(bench.build, "lull"), run]
    bench.rate("pack %s: one thread" % name, again, size / 1e6, "MB/s", ">= 200")
    shutil.rmtree(out, ignore_errors=True)
