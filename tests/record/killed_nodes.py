"""Two nodes with four processes each record the same program, and each process is killed when it has
done a number that was drawn, or some moment after its start: in the files of the nodes every process
has what it has done, and that is what a file of its own has of the same program.

    killed_nodes.py --lull LULL --program KILLED --listing LISTING [--store node|process] [--rounds N]
"""
import argparse
import glob
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import nodes
import packed
from killed import THREADS, counts_of, draw_end, no_counts, wait_for_end

NODES, RANKS = 2, 4   # RANKS: of each node
MOST = 2000           # iterations of a thread
LAST = 3000           # of both, before they are killed
REST_US = 50          # after each
# Of a process that was killed when it had created its file and written nothing: it has no name, either.
EMPTY = re.compile(r"\d+\.0: measurement off 0")


def start(settings, folder, rank):
    """Process `rank`, as a launcher starts it on its node."""
    counts = os.path.join(folder, "counts.%d" % rank)
    no_counts(counts)
    environment = dict(os.environ, PMI_RANK=str(rank), PMI_SIZE=str(NODES * RANKS), PMI_JOBID=folder,
                       MPI_LOCALRANKID=str(rank % RANKS), MPI_LOCALNRANKS=str(RANKS))
    command = [settings.lull, "record", "-o", os.path.join(folder, "run"), "--store",
               settings.store, settings.program, counts, str(MOST), str(REST_US)]
    return subprocess.Popen([nodes.SHELL, "node%d" % (1 + rank // RANKS), *command],
                            env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def kill_at(process, counts, end):
    try:
        wait_for_end(counts, end)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def record(settings, folder, ends):
    """All processes, each of which is killed at an end of its own."""
    killers = []
    for rank, end in enumerate(ends):
        process = start(settings, folder, rank)
        killers.append(threading.Thread(target=kill_at, args=(
            process, os.path.join(folder, "counts.%d" % rank), end)))
        killers[-1].start()
    for killer in killers:
        killer.join()


def events_of(settings, run):
    """(rank, thread) -> its events, in a text each"""
    told = subprocess.run([settings.listing, run], capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise ValueError(told.stderr)
    events = {}
    for line in told.stdout.splitlines():
        name, event = line.split(": ", 1)
        if name == "quirk" or EMPTY.fullmatch(line):
            continue
        words = name.split()
        thread = int(words[3]) if len(words) > 2 else 0
        events.setdefault((int(words[1]), thread), []).append(event.strip())
    return events


def markers(events):
    return [int(event.rsplit(" ", 1)[1]) for event in events if event.startswith("marker ")]


def forms(run):
    """How many files of nodes and of processes there are."""
    return len(glob.glob(run + "/*.tapes")), len(glob.glob(run + "/*/*.tape"))


def differs(found, known):
    """The first event that is not as it is known; None: there is none. A call in which the thread was
    killed is open to the end."""
    at = next((i for i, event in enumerate(found) if known[i:i + 1] != [event]), None)
    if at is not None and found[at].startswith("enter ") and at >= len(found) - 2 and \
            known[at].startswith(found[at].replace("enter ", "call ", 1)):
        return None
    return at


def check(settings, folder, reference):
    """What is wrong, and how many processes had begun to work."""
    run, worked = os.path.join(folder, "run"), 0
    counts = [counts_of(os.path.join(folder, "counts.%d" % rank))
              for rank in range(NODES * RANKS)]
    if sum(map(sum, counts)) == 0:
        return "", 0
    events = events_of(settings, run)
    for rank, done in enumerate(counts):
        worked += sum(done) > 0
        for thread in range(THREADS):
            found = events.get((rank, thread), [])
            numbers = markers(found)
            if not done[thread] <= len(numbers) <= done[thread] + 1:
                return "rank %d thread %d has done %d, the run has %d" % (
                    rank, thread, done[thread], len(numbers)), worked
            at = differs(found, reference[thread])
            if at is not None:
                return "rank %d thread %d: event %d is '%s', in a file of a process %s" % (
                    rank, thread, at, found[at], reference[thread][at:at + 1]), worked
    n_nodes, n_processes = forms(run)
    if settings.store == "node" and (n_nodes > NODES or n_processes > 0):
        return "%d files of nodes, %d of processes" % (n_nodes, n_processes), worked
    return "", worked


def make_reference(settings):
    """What each thread of the program does, by files of processes of one that does all."""
    with tempfile.TemporaryDirectory() as folder:
        own = argparse.Namespace(**dict(vars(settings), store="process"))
        record(own, folder, [(THREADS * MOST, None)])
        events = events_of(own, os.path.join(folder, "run"))
        return [events[0, thread] for thread in range(THREADS)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program", "listing"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--store", default="node")
    parser.add_argument("--rounds", type=int, default=6)
    settings = parser.parse_args()
    probe = subprocess.run([nodes.SHELL, "node1", "hostname"], capture_output=True, text=True,
                           check=False)
    if probe.stdout != "node1\n":
        print("skipped: no name spaces: " + probe.stderr.strip())
        return 77
    told = os.environ.get("LULL_TEST_SEED", "1")
    seed = random.SystemRandom().getrandbits(32) if told == "random" else int(told)
    print("LULL_TEST_SEED=%d" % seed)
    draw, done_some, both = random.Random(seed), 0, 0
    reference = make_reference(settings)
    for i in range(settings.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ends = [draw_end(draw, LAST) for _ in range(NODES * RANKS)]
            record(settings, folder, ends)
            wrong, worked = check(settings, folder, reference)
            done_some += worked
            both += forms(os.path.join(folder, "run"))[0] == NODES
            if not wrong and worked > 0 and i % 8 == 0:
                wrong = "; ".join(packed.check(settings.lull, os.path.join(folder, "run")))
            if wrong:
                print("round %d, killed at %s: %s" % (i, ends, wrong))
                return 1
    print("%d of %d processes were killed at work; %d of %d runs have a file of each node" % (
        done_some, settings.rounds * NODES * RANKS, both, settings.rounds))
    return 0 if done_some > 0 and (both > 0 or settings.store == "process") else 1


if __name__ == "__main__":
    sys.exit(main())
