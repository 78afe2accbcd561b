"""The simulator: events per second, memory, GOAL text, and SimGrid SMPI side by side.

Events are sends, receives, computations and messages. Speeds are by processor time of one thread:
of reading the GOAL text, and of the simulation alone, without and with the longest path. Two threads
are compared with one by wall time, in turns. SMPI is compared by wall time: it runs the
MPI program halo.c, lull reads and simulates the same exchange as GOAL text.
"""
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORK = "loggops"
# name, arguments of bench_goal_cases, least M events/s (None: see below)
CASES = (
    ("stencil 64x64, 100 iterations", "stencil 64 64 100 20000 2048", 10),
    ("dissemination, 64 k ranks", "dissemination 65536 8", 15),
    ("binomial reduce, 1 M ranks", "reduce 1048576 64", 8),
    ("stencil 256x256, 10 iterations", "stencil 256 256 10 20000 2048", 8),
    ("linear alltoall, 1024 ranks", "alltoall 1024 1000", None),
)
# The same as patterns, computed while they are simulated.
PATTERNS = (
    ("stencil 64x64, 100 iterations",
     "grid:ranks=64x64,exec=20us,bytes=2KiB,iterations=100", 20),
    ("dissemination, 64 k ranks",
     "collective:op=barrier,ranks=65536,exec=0,iterations=1", 15),
    ("binomial reduce, 1 M ranks",
     "collective:op=reduce,ranks=1048576,bytes=64,exec=0,iterations=1", 8),
    ("stencil 256x256, 10 iterations",
     "grid:ranks=256x256,exec=20us,bytes=2KiB,iterations=10", 8),
    ("linear alltoall, 1024 ranks",
     "collective:op=alltoall,ranks=1024,bytes=1000,exec=0,iterations=1", None),
    ("next neighbours, 1 M ranks, 100 iterations",
     "chain:ranks=1048576,distances=1,exec=20us,bytes=2KiB,iterations=100", None),
)
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="zone" routing="Full">
    <cluster id="cluster" prefix="n" suffix="" radical="0-1023" speed="1Gf" bw="400MBps" lat="5us"/>
  </zone>
</platform>
"""


def run(command):
    """Words of the output, and the peak memory in MiB."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    words = child.stdout.read().split()
    complaint = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("%s: status %d: %s" % (" ".join(command), status, complaint))
    return words, usage.ru_maxrss / 1024


def spread(values, form="%.2f"):
    return (form + " (" + form + " .. " + form + ")") % (
        statistics.median(values), min(values), max(values))


def tool(bench, name):
    return os.path.join(bench.build, "bench", name)


def write_goal(bench, arguments, name):
    path = bench.path(name)
    with open(path, "w") as out:
        subprocess.run([tool(bench, "bench_goal_cases"), *arguments.split()], stdout=out,
                       stderr=subprocess.DEVNULL, check=True)
    return path


def simulate_once(bench, program, *more):
    """(events, seconds to read, seconds to simulate, MiB, simulated ns, wall seconds)"""
    words, peak = run([tool(bench, "bench_simulate"), NETWORK, program, *more])
    return int(words[0]), float(words[1]), float(words[2]), peak, words[3], float(words[4])


def simulated(bench, program, runs, *more):
    return [simulate_once(bench, program, *more) for _ in range(runs)]


def speed_row(bench, name, taken, least):
    extra = "peak %.0f MiB" % max(t[3] for t in taken)
    if least:
        bench.add(name, spread([t[0] / t[2] / 1e6 for t in taken], "%.1f") + " M events/s",
                  ">= %d" % least, extra)
    else:
        bench.add(name, spread([t[2] for t in taken]) + " s",
                  "<= 2 s" if "alltoall" in name else "<= 1024 MiB", extra)


def further_rows(bench, name, program, least):
    """With the longest path, and on two threads."""
    if not least:
        return
    speed_row(bench, name + ", path", simulated(bench, program, bench.runs, "path"), least)
    ratios = []
    for _ in range(bench.runs):
        one, two = (simulate_once(bench, program, threads) for threads in ("1", "2"))
        if one[4] != two[4]:
            sys.exit("%s: %s ns on one thread, %s ns on two" % (name, one[4], two[4]))
        ratios.append(one[5] / two[5])
    bench.add(name + ", two threads", spread(ratios) + " x", ">= 1.6 x")


def graph_rows(bench):
    for name, arguments, least in CASES:
        if not bench.wanted("simulate: " + name):
            continue
        path = write_goal(bench, arguments, "case.goal")
        megabytes = os.path.getsize(path) / 1e6
        taken = simulated(bench, path, bench.runs)
        bench.add("simulate: GOAL text, " + name,
                  spread([megabytes / t[1] for t in taken], "%.0f") + " MB/s",
                  ">= 200")
        speed_row(bench, "simulate: " + name, taken, least)
        further_rows(bench, "simulate: " + name, path, least)
        os.remove(path)


def pattern_rows(bench):
    for name, pattern, least in PATTERNS:
        if bench.wanted("simulate: pattern " + name):
            # hundreds of millions of events, and memory is what is asked for: once is enough
            runs = 1 if "100 iterations" in name and not least else bench.runs
            speed_row(bench, "simulate: pattern " + name, simulated(bench, pattern, runs), least)
            further_rows(bench, "simulate: pattern " + name, pattern, least)


def smpi_rows(bench):
    if not bench.wanted("simulate: halo exchange against SMPI"):
        return
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        print("SimGrid SMPI is not installed (libsimgrid-dev): not compared")
        return
    program, platform, hosts = (bench.path(n) for n in ("halo", "platform.xml", "hosts"))
    subprocess.run(["smpicc", "-O2", "-w", "-DSMPI", os.path.join(HERE, "halo.c"), "-o", program],
                   check=True)
    with open(platform, "w") as out:
        out.write(PLATFORM)
    with open(hosts, "w") as out:
        out.writelines("n%d\n" % i for i in range(1024))
    for side in (8, 16, 32):
        name = "simulate: halo exchange against SMPI, %d ranks" % (side * side)
        goal = write_goal(bench, "stencil %d %d 20 20000 1024" % (side, side), "halo.goal")
        bench.ratio(name, [tool(bench, "bench_simulate"), NETWORK, goal],
                    ["smpirun", "-np", str(side * side), "-platform", platform, "-hostfile", hosts,
                     "--cfg=smpi/simulate-computation:no", program, str(side), str(side), "20",
                     "1024", "20000"], "> 1 x")


def rows(bench):
    graph_rows(bench)
    pattern_rows(bench)
    smpi_rows(bench)
    if bench.wanted("simulate: LogGOPSim"):
        print("LogGOPSim: about 1 M events/s by its authors' account, not measured here")
