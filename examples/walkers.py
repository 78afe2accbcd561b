"""walkers: an MPI program in Python, to try lull on.

    mpirun -n 2 python3 walkers.py

Walkers go at random. The last rank has three times as many of them as the others, which wait for it. How long they walk
is time that passes, in the place of real work, so that it is the same on every machine."""

import array
import random
import time

from mpi4py import MPI

STEPS, MILLISECONDS = 40, 10


def walk(walkers):
    time.sleep(walkers * MILLISECONDS / 1000)
    return sum(random.choice((-1, 1)) for _ in range(walkers))


def main():
    comm = MPI.COMM_WORLD
    walkers = 3 if comm.rank == comm.size - 1 else 1
    mine, total = array.array("d", [0]), array.array("d", [0])
    for _ in range(STEPS):
        mine[0] += walk(walkers)
        comm.Allreduce(mine, total)
    if comm.rank == 0:
        print(f"{STEPS} steps of {comm.size} ranks")


main()
