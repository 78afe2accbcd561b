#!/usr/bin/env python3
"""A command that is ended by a signal while it has a copy of its trace among the temporary files leaves none of them.

usage: interrupted.py LULL
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ITERATIONS = 8000  # of 16 ranks: seconds of work
SECONDS = 300  # for what hangs


def write_trace(lull, folder):
    """Of a format of which a copy is made, because a thread's events are not together in it."""
    run, trace = str(folder / "run"), folder / "run.prv"
    subprocess.run([lull, "simulate", "--pattern", f"chain:ranks=16,iterations={ITERATIONS}", "-o", run],
                   stdout=subprocess.DEVNULL, check=True)
    subprocess.run([lull, "convert", run, str(trace), "--to", "paraver"], check=True)
    return trace


def main():
    lull = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scratch = folder / "scratch"
        trace = write_trace(lull, folder)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
            scratch.mkdir()
            running = subprocess.Popen([lull, "wave", str(trace)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=str(scratch)))
            while not any(scratch.iterdir()) and running.poll() is None:
                time.sleep(0.001)
            running.send_signal(number)
            status = running.wait(timeout=SECONDS)
            left = [path.name for path in scratch.iterdir()]
            if status != -number or left:
                sys.exit(f"{number.name}: status {status}, left: {left}")
            scratch.rmdir()


if __name__ == "__main__":
    main()
