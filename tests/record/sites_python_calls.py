"""Calls from known places, for sites_python.py. Writes how often each place was reached, as the interpreter
itself says it.

    sites_python_calls.py RESULT FRAMES mpi4py|ctypes|system

A place is "function (file:line)", with its callers up to FRAMES places. MPI is called by mpi4py, Open MPI
by ctypes, or a function of the system.
"""
import ctypes
import functools
import inspect
import json
import os
import sys
import threading

counts, lock, most = {}, threading.Lock(), int(sys.argv[2])


def here():
    frame, places = inspect.currentframe().f_back, []
    while frame and len(places) < most:
        code = frame.f_code
        if not code.co_filename.startswith("<frozen "):
            places.append("%s (%s:%d)" % (code.co_name, os.path.basename(code.co_filename),
                                          frame.f_lineno))
        frame = frame.f_back
    with lock:
        path = " < ".join(places)
        counts[path] = counts.get(path, 0) + 1


# What is called has no frame of Python of its own.
if sys.argv[3] == "mpi4py":
    from mpi4py import MPI
    call = MPI.COMM_SELF.Barrier
elif sys.argv[3] == "ctypes":
    library = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
    own = ctypes.addressof(ctypes.c_char.in_dll(library, "ompi_mpi_comm_self"))
    mpi = ctypes.CDLL(None)
    mpi.MPI_Init(None, None)
    call = functools.partial(mpi.MPI_Barrier, ctypes.c_void_p(own))
else:
    call = functools.partial(os.pwrite, os.open("/dev/null", os.O_WRONLY), b"x", 0)


def exchange(n):
    for _ in range(n):
        here(); call()
    here(); call()


def recursive(depth):
    if depth > 0:
        recursive(depth - 1)
    else:
        here(); call()


def generate():
    for i in range(3):
        here(); call()
        yield i


class Solver:
    def __init__(self):
        here(); call()

    def step(self):
        inner = lambda: (here(), call())
        inner()
        return [(here(), call()) for _ in range(2)]


exchange(2)
exchange(
    3)
recursive(4)
recursive(2)
list(generate())
Solver().step()
for number in range(50): # the objects of the interpreter lie where others have lain before
    made = {"here": here, "call": call}
    exec(compile("\n" * number + "here(); call()", "<made %d>" % (number % 3), "exec"), made)
threads = [threading.Thread(target=exchange, args=(4,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import größe
größe.messen(here, call)
try:
    here(); call()
    raise KeyError
except KeyError:
    here(); call()
here(); call() # the last line

if sys.argv[3] == "ctypes":
    mpi.MPI_Finalize()
with open(sys.argv[1], "w") as file:
    json.dump(counts, file)
