"""One process of a run that claims to have many: see mock_mpi.c."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "support"))
import launch


def missing():
    for tool in ("mpicc.mpich", "cc"):
        if not shutil.which(tool):
            return "%s was not found" % tool
    return None


def build(folder):
    """The program, in that folder."""
    objects = []
    for name in ("mock_mpi", "mock_ranks"):
        objects.append(os.path.join(folder, name + ".o"))
        subprocess.run(["mpicc.mpich", "-O2", "-fPIC", "-w", "-c", os.path.join(HERE, name + ".c"),
                        "-o", objects[-1]], check=True)
    library, program = os.path.join(folder, "libmock.so"), os.path.join(folder, "ranks")
    subprocess.run(["cc", "-shared", objects[0], "-o", library], check=True)
    subprocess.run(["cc", objects[1], "-o", program, "-L" + folder, "-lmock",
                    "-Wl,-rpath," + folder], check=True)
    return program


def run(program, rank, size, recorder=None, where=None, before=()):
    """(ns of processor time, KiB touched, ranks looked up) of MPI_Init, a duplicate and a split of the world; with a
    recorder, which leaves the run `where`."""
    environment = dict(os.environ, MOCK_RANK=str(rank), MOCK_SIZE=str(size), PMI_RANK=str(rank),
                       PMI_SIZE=str(size), LULL_RECORD_QUIET="1")
    if recorder:
        shutil.rmtree(where, ignore_errors=True)
        environment.update(word.split("=", 1) for word in launch.preload(recorder))
        environment["LULL_RECORD_DIR"] = where
    done = subprocess.run([*before, program], env=environment, capture_output=True, text=True,
                          check=True, timeout=60)
    return tuple(int(word) for word in done.stdout.split())


def bytes_of(where):
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(where) for name in names)
