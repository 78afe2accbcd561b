"""What a process spends under the recorder on MPI_Init, a duplicate and a split of the world, more
where the world has a million ranks than where it has two: against a library that claims to be one of
them, and compares processes one by one to find one in a group, as Open MPI does
(tests/record/mock/mock_mpi.c)."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "record", "mock"))
import mock
from record_mpi import spread

MANY = 1000000


def rows(bench):
    name = "ranks: rank %d of a million beyond one of two: "
    if not bench.wanted(name) or mock.missing():
        return
    recorder = os.path.join(os.path.abspath(bench.build), "liblull-record-mpich.so")
    folder = os.path.abspath(bench.path("mock"))
    os.makedirs(folder, exist_ok=True)
    program, where = mock.build(folder), os.path.join(folder, "run")
    before = os.environ.get("LULL_BENCH_BEFORE", "").split()

    def added(rank, size):
        """(ns, KiB) that the recorder adds, and bytes of the run"""
        with_it = mock.run(program, rank, size, recorder, where, before)
        alone = mock.run(program, rank, size, before=before)
        return [with_it[0] - alone[0], with_it[1] - alone[1], mock.bytes_of(where)]

    for rank in (0, MANY - 1):
        taken = []
        for _ in range(4 * bench.runs):
            few, many = added(min(rank, 1), 2), added(rank, MANY)
            taken.append([after - first for after, first in zip(many, few)])
        times, memory, size = zip(*taken)
        bench.add(name % rank + "processor time", spread([ns / 1e6 for ns in times], "%.3f") + " ms", "<= 1 ms")
        bench.add(name % rank + "memory", spread(memory, "%.0f") + " KiB", "<= 64 KiB")
        bench.add(name % rank + "bytes of the run", spread(size, "%.0f"), "0")
