"""What a report costs beside lull metrics --by region on the same run, how long that is: its time, its
memory, the size of its page. The pages of one and of two workers are compared, too."""

import filecmp
import os
import subprocess

import pack

PATTERN = "chain:ranks=%d,iterations=%d,exec=1ms"


def simulate(bench, ranks, iterations):
    run = bench.path("report-run")
    subprocess.run(["rm", "-rf", run], check=True)
    subprocess.run(bench.lull("simulate", "--pattern", PATTERN % (ranks, iterations), "--noise",
                              "exponential:mean=100us", "--no-path", "-o", run),
                   check=True, stdout=subprocess.DEVNULL)
    return run


def report(bench, run, page, threads=1):
    return bench.lull("report", run, "--threads", str(threads), "-o", bench.path(page))


def beside_metrics(bench, name, run, target="<= 1.5 x"):
    """Processor time of both, page included, and the memory of the report."""
    taken = bench.pairs(report(bench, run, "report.html"),
                        bench.lull("metrics", run, "--by", "region", "--threads", "1"))
    ratios = sorted(a.cpu / b.cpu for a, b in taken)
    size = os.path.getsize(bench.path("report.html"))
    bench.add(name, "%.2f (%.2f .. %.2f) x" % (ratios[len(ratios) // 2], ratios[0], ratios[-1]),
              target, "%.2f s, peak %.0f MiB, page %.2f MB" %
              (min(a.cpu for a, _ in taken), max(a.peak_mib for a, _ in taken), size / 1e6))


def same_page(bench, name, run):
    for page, threads in (("one.html", 1), ("two.html", 2), ("five.html", 5)):
        subprocess.run(report(bench, run, page, threads), check=True)
    same = all(filecmp.cmp(bench.path("one.html"), bench.path(other), shallow=False)
               for other in ("two.html", "five.html"))
    bench.add(name, "the same" if same else "DIFFERENT", "the same")


def rows(bench):
    """Ranks x iterations; about 21 events each. Writing a page takes some tenths of a second, however
    short the run."""
    for ranks, iterations in ((1000, 1000), (2000, 2500), (20000, 50)):
        name = "report: %d ranks x %d iterations, %.0e events" % (ranks, iterations,
                                                                 21 * ranks * iterations)
        if not bench.wanted(name):
            continue
        run = simulate(bench, ranks, iterations)
        beside_metrics(bench, name + ", against lull metrics --by region", run)
        same_page(bench, name + ": pages of 1, 2 and 5 workers", run)
    against = "against lull metrics --by region"
    if bench.wanted("report: dense, " + against):
        run = bench.path("report-dense")
        generate = os.path.join(bench.build, "bench", "bench_generate")
        subprocess.run([generate, "tape", run, "6000000", "8", "2"], check=True, capture_output=True)
        beside_metrics(bench, "report: dense, " + against, run, "<= 2 x")
    epoch = os.path.join(pack.TRACES, "epoch-mpi", "epoch_8proc.prv.gz")
    if bench.wanted("report: EPOCH 8, " + against) and os.path.exists(epoch):
        beside_metrics(bench, "report: EPOCH 8, " + against, epoch)
