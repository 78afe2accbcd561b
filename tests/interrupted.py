#!/usr/bin/env python3
"""A command that is ended by a signal while it has a copy of its trace among the temporary files leaves none of them.

usage: interrupted.py LULL
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Iterations of 16 ranks: 8,000 are a second of work. On a machine that is busy enough the command may be over before
# the signal comes, which says nothing: then a longer run is taken.
LENGTHS = (8000, 32000, 128000)
SECONDS = 300  # for what hangs


def write_trace(lull, folder, iterations):
    """Of a format of which a copy is made, because a thread's events are not together in it."""
    run, trace = str(folder / f"run-{iterations}"), folder / f"run-{iterations}.prv"
    subprocess.run([lull, "simulate", "--pattern", f"chain:ranks=16,iterations={iterations}", "-o", run],
                   stdout=subprocess.DEVNULL, check=True)
    subprocess.run([lull, "convert", run, str(trace), "--to", "paraver"], check=True)
    return trace


def temporary_files(scratch):
    """Without those of the thread sanitizer, which has one for a moment when a program starts."""
    return [path.name for path in scratch.iterdir() if not path.name.startswith("tsan.")]


def interrupt(lull, trace, scratch, number):
    """The status of the command, which gets the signal once it has something among the temporary files; and what it
    leaves there."""
    scratch.mkdir()
    running = subprocess.Popen([lull, "wave", str(trace)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(scratch)))
    while not temporary_files(scratch) and running.poll() is None:
        time.sleep(0.001)
    running.send_signal(number)
    status = running.wait(timeout=SECONDS)
    left = temporary_files(scratch)
    shutil.rmtree(scratch)
    return status, left


def main():
    lull = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT]
        for length in LENGTHS:
            trace = write_trace(lull, folder, length)
            for number in list(wanted):
                status, left = interrupt(lull, trace, folder / "scratch", number)
                if left or status not in (0, -number):
                    sys.exit(f"{number.name}: status {status}, left: {left}")
                if status == -number:
                    wanted.remove(number)
            if not wanted:
                return
    sys.exit(f"ends before the signal comes: {wanted}")


if __name__ == "__main__":
    main()
