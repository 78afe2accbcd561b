"""What a user waits for before anything happens: the program's start, alone and in the bundle, the first table,
and the first report."""
import glob
import os
import statistics
import subprocess
import sys
import tempfile

import pack

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STARTS = 20
ASK = """
import sys, time, warnings
begin = time.monotonic()
warnings.simplefilter("ignore")
import lull
lull.open(sys.argv[1]).metrics()
print(time.monotonic() - begin)
"""


def started(bench, name, command, taken, target):
    """Wall time of a command, which `taken` finds out from the end of it or from what it prints."""
    taken(command)
    times = [1e3 * taken(command) for _ in range(STARTS)]
    bench.add(name, "%.1f ms (%.1f .. %.1f)" % (statistics.median(times), min(times), max(times)), target)


def rows(bench):
    if not bench.wanted("start"):
        return
    import run  # after it has imported this module

    def wall(command):
        return run.Usage(command).wall

    started(bench, "start: lull --version", bench.lull("--version"), wall, "<= 10 ms")
    for archive in sorted(glob.glob(os.path.join(ROOT, "build", "lull-*-linux-*.tar.gz"))):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-x", "-C", folder, "-f", archive], check=True)
            program, = glob.glob(os.path.join(folder, "*", "bin", "lull"))
            started(bench, "start: lull --version of the bundle", [program, "--version"], wall, "<= 10 ms")
    epoch = os.path.join(pack.TRACES, "epoch-mpi", "epoch_8proc.prv.gz")
    if not os.path.exists(epoch):
        return
    started(bench, "start: lull metrics of EPOCH 8", bench.lull("metrics", epoch), wall, "<= 60 ms")
    started(bench, "start: lull report of EPOCH 8", bench.lull("report", epoch, "-o", bench.path("start.html")), wall, "<= 300 ms")
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "python"), "LULL_PROGRAM": bench.lull()[0]}

    def told(command):
        return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)

    started(bench, "start: lull.open().metrics() of EPOCH 8 in Python", [python, "-c", ASK, epoch], told, "<= 1000 ms")
