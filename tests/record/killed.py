"""Kills a recorded program at random moments and looks at what is left: all that it had done is
there, and lull reads it.

    killed.py --lull LULL --program KILLED [--rounds N]
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

LONGEST = 0.1  # s from the start of lull record to the end
THREADS = 2


def counts_of(path):
    with open(path, "rb") as file:
        data = file.read()
    return sum(struct.unpack_from("<q", data, 64 * thread)[0] for thread in range(THREADS))


def events_of(lull, run):
    """kind -> number, or why there are none"""
    told = subprocess.run([lull, "info", "--format", "json", run], capture_output=True, text=True)
    if told.returncode != 0:
        return told.stderr
    rows = json.loads(told.stdout)["tables"]["events"]["rows"]
    return {row["id"]: row["values"][0] for row in rows}


def kill_once(settings, folder, after):
    run, counts = os.path.join(folder, "run"), os.path.join(folder, "counts")
    with open(counts, "wb") as file:
        file.write(bytes(4096))
    process = subprocess.Popen([settings.lull, "record", "-o", run,
                                settings.program, counts],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return run, counts_of(counts)


def check(settings, run, done):
    """What is wrong; the calls of a thread that was killed between end and count are more."""
    if not os.path.isdir(os.path.join(run, "0")):
        return "nothing is there, %d regions" % done if done > 0 else ""
    events = events_of(settings.lull, run)
    if isinstance(events, str):
        return events if done > 0 or "Traceback" in events else ""
    sums = subprocess.run([settings.lull, "metrics", "--force", "--by", "region", "--format",
                           "json", run], capture_output=True, text=True)
    if done > 0 and sums.returncode != 0:
        return sums.stderr
    ended = events.get("leave", 0)
    if not done <= ended <= done + THREADS:
        return "%d regions ended, the run has %d" % (done, ended)
    return ""


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    settings = parser.parse_args()
    told = os.environ.get("LULL_TEST_SEED", "1")
    seed = random.SystemRandom().getrandbits(32) if told == "random" else int(told)
    print("LULL_TEST_SEED=%d" % seed)
    draw, done_some = random.Random(seed), 0
    for i in range(settings.rounds):
        with tempfile.TemporaryDirectory() as folder:
            after = draw.uniform(0, LONGEST)
            run, done = kill_once(settings, folder, after)
            wrong = check(settings, run, done)
            done_some += done > 0
            if wrong:
                print("round %d, after %.6f s: %s" % (i, after, wrong))
                return 1
    print("%d of %d were killed at work" % (done_some, settings.rounds))
    return 0 if done_some > 0 else 1


sys.exit(main())
