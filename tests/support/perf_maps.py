"""Interpreters of Python that write down for perf what they make stubs for (python -X perf, 3.12 and newer)."""
import glob
import os
import subprocess

NAMES = ("python3.14", "python3.13", "python3.12", "python3")
ABSENT = "no Python 3.12 or newer that writes a map for perf"


def candidates():
    yield from NAMES
    yield from sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")), reverse=True)


def writes_map(python):
    """Whether an interpreter can; it has to be told so at its start, and to be built for it."""
    try:
        done = subprocess.run([python, "-X", "perf", "-c", "import os, sys; print(sys.is_stack_trampoline_active(), os.getpid())"],
                              capture_output=True, text=True, timeout=600)
    except OSError:
        return False
    words = done.stdout.split()
    if len(words) == 2:
        remove_map(words[1])
    return done.returncode == 0 and words[:1] == ["True"]


def remove_map(pid):
    path = "/tmp/perf-%s.map" % pid
    if os.path.exists(path):
        os.remove(path)


def find():
    """The first one; None: there is none."""
    return next(filter(writes_map, candidates()), None)
