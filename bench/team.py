"""Several processes of lull on one run, which they read, or replay: two of them against two that do the same side by side, one of a
team against one alone, what more of them than there are cores cost, and what is read of each location
to open a run."""
import os
import resource
import shutil
import statistics
import subprocess
import time

from record_mpi import ENVIRONMENT


EVENTS = 100000000
STEPS = 30000000 # of a run whose members have to wait for each other at each step of the program; large enough
                 # that "lull metrics" does not replay it once more
LOCATIONS = 400
REPLAYED = 2000 # ranks
PROCESSES = 1000000


def team_of(members, command):
    """Joined by sockets, so that the start of an MPI is not measured."""
    return ["env", "LULL_TEAM_CHAOS=%d:0" % members, *command]


def team(bench, members, run, ideal=True):
    return team_of(members, bench.metrics(run, ideal=ideal))


def seconds(command, copies=1):
    begin = time.monotonic()
    children = [subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                for _ in range(copies)]
    if any([child.wait() for child in children]):
        raise RuntimeError(" ".join(command) + ": has failed")
    return time.monotonic() - begin


def two_shares(bench, name, command, alone):
    """Two that read a run each are twice as much work as two that share one."""
    seconds(alone, 2)
    found = [seconds(alone, 2) / 2 / seconds(command) for _ in range(bench.runs)]
    bench.add(name, "%.2f (%.2f .. %.2f) x" % (statistics.median(found), min(found), max(found)), ">= 0.85 x")


def forget(run):
    """Has the system drop what it keeps of the files."""
    for folder, _, names in os.walk(run):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def opening(bench, what, run, locations):
    """An application that is not there is told when the run is open."""
    found = []
    for _ in range(bench.runs):
        forget(run)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        subprocess.run(bench.lull("metrics", run, "--application", "9"), check=False, capture_output=True)
        found.append((resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before) * 512 / locations)
    bench.add("team: opening %s, KiB of a location" % what, "%.1f" % (statistics.median(found) / 1024), "<= 8")


def openings(bench):
    """In the file of a process, of a node, and packed."""
    run, program, packed = (bench.path("team-" + name) for name in ("locations", "opening", "packed"))
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-O2", "-pthread", "-I", os.path.join(here, "..", "include"), "-o", program,
                    os.path.join(here, "opening.c")], check=True)
    for store in "process", "node":
        subprocess.run(bench.lull("record", "--store", store, "-o", run, program, str(LOCATIONS), "20000"),
                       check=True, capture_output=True)
        opening(bench, "the file of a " + store, run, LOCATIONS)
        if store == "node":
            subprocess.run(bench.lull("pack", run, "-o", packed), check=True, capture_output=True)
            opening(bench, "a packed one", packed, LOCATIONS)
            shutil.rmtree(packed)
        shutil.rmtree(run)


def million(bench):
    """The sums of a million processes, packed: with two members, which are measured together."""
    one, run = bench.path("team-one"), bench.path("team-million")
    subprocess.run(bench.lull("record", "--profile", "--store", "process", "-o", one, bench.path("team-opening"), "1", "10"),
                   check=True, capture_output=True)
    subprocess.run([os.path.join(bench.build, "bench", "bench_many"), one, str(PROCESSES), run], check=True)
    begin = time.monotonic()
    child = subprocess.Popen(team_of(2, bench.lull("info", run)), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise RuntimeError("lull info of a million processes has failed")
    bench.add("team: info of a million processes, two members", "%.1f s" % (time.monotonic() - begin), "<= 60 s")
    bench.add("team: the larger one's memory", "%.2f GiB" % (usage.ru_maxrss / 2**20), "<= 2 GiB")
    shutil.rmtree(run)
    shutil.rmtree(one)


def replays(bench):
    """What members of a team simulate together, and read again."""
    run = bench.path("team-replays")
    subprocess.run(bench.lull("simulate", "-p", "chain:ranks=%d,exec=1ms+200us,iterations=300,collective=allreduce,"
                              "every=10" % REPLAYED, "--noise", "exponential:mean=50us", "-o", run),
                   check=True, capture_output=True)
    for words, what in (["--network", "ideal"], "on the network ideal"), (["--network", "hockney"], "on the network hockney"), \
                       (["--median", "all"], "with computations cut to the median"):
        alone = bench.lull("replay", run, *words)
        what = ", a replay " + what
        two_shares(bench, "team: two shares against two replays" + what, team_of(2, alone), alone)
        bench.times("team: processor time of eight against one" + what, team_of(8, alone), alone, "<= 1.25 x")
    shutil.rmtree(run)


def waits(bench):
    """Who waits for whom, of processes with six neighbours each."""
    run = bench.path("team-waits")
    subprocess.run(bench.lull("simulate", "-p", "grid:ranks=12x12x12,iterations=150,exec=1ms+200us,bytes=1KiB", "--noise",
                              "exponential:mean=50us", "-o", run), check=True, capture_output=True)
    alone = [*bench.metrics("team-waits", ideal=False), "--by", "wait"]
    two_shares(bench, "team: two shares against two replays, waits", team_of(2, alone), alone)
    bench.times("team: processor time of eight against one, waits", team_of(8, alone), alone, "<= 1.25 x")
    shutil.rmtree(run)


def sequence(bench):
    """Of a Paraver trace the first takes the lines apart, and two on their own do so twice."""
    run, paraver = bench.path("team-tape"), bench.path("team-sequence.prv")
    subprocess.run(bench.lull("simulate", "-p", "chain:ranks=2000,exec=1ms,iterations=300,collective=allreduce,every=10",
                              "-o", run), check=True, capture_output=True)
    subprocess.run(bench.lull("convert", run, paraver, "--to", "paraver"), check=True, capture_output=True)
    alone = bench.metrics("team-sequence.prv")
    two_shares(bench, "team: two shares of a Paraver trace", team_of(2, alone), alone)
    shutil.rmtree(run)
    os.remove(paraver)


def rows(bench):
    if not bench.wanted("team"):
        return
    generate = os.path.join(bench.build, "bench", "bench_generate")
    for run, events, ideal, how in (("team-run", EVENTS, False, ", without the ideal runtime"),
                                    ("team-steps", STEPS, True, "")):
        subprocess.run([generate, "tape", bench.path(run), str(events), "8", "2"], check=True, capture_output=True)
        alone = bench.metrics(run, ideal=ideal)
        two_shares(bench, "team: two shares against two replays" + how, team(bench, 2, run, ideal), alone)
        bench.ratio("team: one share against none" + how, team(bench, 1, run, ideal), alone, ">= 1 x")
        bench.times("team: processor time of eight against one" + how, team(bench, 8, run, ideal), alone,
                    "<= 1.25 x")
    for family in ("openmpi", "mpich"):
        if shutil.which("mpiexec." + family):
            command = bench.metrics("team-run", ideal=False)
            two_shares(bench, "team: two shares of %s, without the ideal runtime" % family,
                       ["mpiexec." + family, "-n", "2", *command], command)
    replays(bench)
    waits(bench)
    sequence(bench)
    openings(bench)
    million(bench)
