"""Kills a recorded program and looks at what is left: all that it had done is there, and lull reads
it. In a ring, it is the newest that are there. The program counts what it does in a file: it is killed
when that says that it has done a number that was drawn, or some moment after its start, however far it
has come by then.

    killed.py --lull LULL --program KILLED [--rounds N] [--keep KIB --listing LISTING]
"""
import argparse
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import packed

MOST = 100000       # iterations of a thread: more than it makes before anybody notices the last number drawn
LAST = 40000        # of all threads, before they are killed
LONGEST_START = 0.05  # s from the start of lull record to the end, where that is drawn
PATIENCE = 600      # s for what hangs
THREADS = 2
OF_CHUNK = 65536 // 64 - 4  # iterations, each of three records, without what else a chunk has


def counts_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return [struct.unpack_from("<q", data, 64 * thread)[0] for thread in range(THREADS)]


def events_of(lull, run):
    """kind -> number, or why there are none"""
    told = subprocess.run([lull, "info", "--format", "json", run], capture_output=True, text=True)
    if told.returncode != 0:
        return told.stderr
    rows = json.loads(told.stdout)["tables"]["events"]["rows"]
    return {row["id"]: row["values"][0] for row in rows}


def no_counts(path):
    with open(path, "wb") as file:
        file.write(bytes(4096))


def draw_end(draw, last):
    """(number, None): when all threads have done so many; (0, s): so long after the start. Small numbers
    are as frequent as large ones of the same length."""
    if draw.random() < 0.25:
        return 0, draw.uniform(0, LONGEST_START)
    return int(last ** draw.random()), None


def wait_for_end(counts, end):
    """Until a process is to be killed."""
    number, after = end
    if after is not None:
        time.sleep(after)
    give_up = time.monotonic() + PATIENCE
    while sum(counts_of(counts)) < number:
        if time.monotonic() > give_up:
            raise TimeoutError("%s: %s, expected %d" % (counts, counts_of(counts), number))
        time.sleep(0.001)


def kill_once(settings, folder, end):
    run, counts = os.path.join(folder, "run"), os.path.join(folder, "counts")
    no_counts(counts)
    options = ["--keep", "last:%dKiB" % settings.keep] if settings.keep else []
    process = subprocess.Popen([settings.lull, "record", "-o", run, *options,
                                settings.program, counts, str(MOST)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_end(counts, end)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    return run, counts_of(counts)


def markers_of(settings, run, thread):
    name = "rank 0: marker 0 " if thread == 0 else "rank 0 thread %d: marker 0 " % thread
    told = subprocess.run([settings.listing, run], capture_output=True, text=True, check=True)
    return [int(line[len(name):]) for line in told.stdout.splitlines() if line.startswith(name)]


def check_ring(settings, run, counts):
    """Each thread has its last iterations, without a gap, and all together fill the ring but for the
    chunk that each thread may have been about to write. Where a thread had no core for as long as the
    other one has filled the ring in, that holds nothing of it."""
    kept, full = 0, (settings.keep // 64 - THREADS) * OF_CHUNK
    least = min(sum(counts), full)
    for thread, count in enumerate(counts):
        numbers = markers_of(settings, run, thread) if count > 0 else []
        kept += len(numbers)
        if not numbers:
            least = full if count > 0 else least
        elif numbers != list(range(numbers[0], numbers[-1] + 1)) or \
                numbers[-1] not in (count - 1, count):
            return "thread %d has done %d, and of the run's %d the last are %s" % (
                thread, count, len(numbers), numbers[-3:])
    return "" if kept >= least else "%d iterations are kept, expected %d" % (kept, least)


def visits_of(sums):
    tables = json.loads(sums)["tables"]
    rows = next(table["rows"] for name, table in tables.items() if name.startswith("regions"))
    return sum(row["values"][1] for row in rows if row["id"] == "mark")


def check(settings, run, counts):
    """What is wrong; the calls of a thread that was killed between end and count are more."""
    done = sum(counts)
    if not os.path.isdir(os.path.join(run, "0")):
        return "nothing is there, %d regions" % done if done > 0 else ""
    events = events_of(settings.lull, run)
    if isinstance(events, str):
        return events if done > 0 or "Traceback" in events else ""
    sums = subprocess.run([settings.lull, "metrics", "--force", "--by", "region", "--format",
                           "json", run], capture_output=True, text=True)
    if done > 0 and sums.returncode != 0:
        return sums.stderr
    if settings.keep and done > 0:
        visits = visits_of(sums.stdout)
        if not done <= visits <= done + THREADS:
            return "%d regions ended, the sums have %d" % (done, visits)
        return check_ring(settings, run, counts)
    ended = events.get("leave", 0)
    if not done <= ended <= done + THREADS:
        return "%d regions ended, the run has %d" % (done, ended)
    return ""


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--keep", type=int)
    parser.add_argument("--listing")
    settings = parser.parse_args()
    told = os.environ.get("LULL_TEST_SEED", "1")
    seed = random.SystemRandom().getrandbits(32) if told == "random" else int(told)
    print("LULL_TEST_SEED=%d" % seed)
    draw, done_some = random.Random(seed), 0
    for i in range(settings.rounds):
        with tempfile.TemporaryDirectory() as folder:
            end = draw_end(draw, LAST)
            run, counts = kill_once(settings, folder, end)
            wrong = check(settings, run, counts)
            done_some += sum(counts) > 0
            if not wrong and sum(counts) > 0 and done_some % 4 == 1:
                wrong = "; ".join(packed.check(settings.lull, run))
            if wrong:
                print("round %d, killed at %s, when %s were done: %s" % (i, end, counts, wrong))
                return 1
    print("%d of %d were killed at work" % (done_some, settings.rounds))
    return 0 if done_some > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
