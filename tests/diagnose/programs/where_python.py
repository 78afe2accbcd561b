"""where.c in Python: ranks compute in functions of Python, and meet in an allreduce. How long each function computes,
the thread's own processor clock decides.

usage: where_python.py even|late|grown FILE

MPI is called by mpi4py, or Open MPI by ctypes where that is not there. FILE.RANK gets the lines that where.c writes.
"""
import array
import ctypes
import sys
import time

CELLS, ITERATIONS = 500, 50


class OpenMPI:
    """What is needed of MPI, by ctypes."""

    def __init__(self):
        library = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
        self.world, self.double, self.sum = (ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, name)))
                                             for name in ("ompi_mpi_comm_world", "ompi_mpi_double", "ompi_mpi_op_sum"))
        self.mpi = ctypes.CDLL(None)
        self.mpi.MPI_Init(None, None)
        rank = ctypes.c_int()
        self.mpi.MPI_Comm_rank(self.world, ctypes.byref(rank))
        self.rank = rank.value

    def allreduce(self, value):
        mine, total = ctypes.c_double(value), ctypes.c_double()
        self.mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, self.double, self.sum, self.world)
        return total.value

    def finish(self):
        self.mpi.MPI_Finalize()


class Mpi4py:
    def __init__(self, mpi):
        self.world = mpi.COMM_WORLD
        self.rank = self.world.Get_rank()

    def allreduce(self, value):
        """By arrays: of objects mpi4py 4 makes sends and receives."""
        total = array.array("d", [0])
        self.world.Allreduce(array.array("d", [value]), total)
        return total[0]

    def finish(self):
        """mpi4py does so at the end."""


class Grid:
    def __init__(self):
        self.cells, self.next = [0.0] * CELLS, [1.0] * CELLS

    def smooth(self, until):  # smooth: first line
        cells, following = self.cells, self.next
        while time.thread_time() < until:
            for i in range(1, CELLS - 1):
                following[i] = (cells[i - 1] + 2 * cells[i] + cells[i + 1]) / 4

    def fill(self, until):
        cells, following = self.cells, self.next
        while time.thread_time() < until:
            for i in range(CELLS):
                cells[i] += 1e-3 * following[i]


def main():
    try:
        from mpi4py import MPI
        mpi = Mpi4py(MPI)
    except ImportError:
        mpi = OpenMPI()
    mode, path = sys.argv[1:]
    late, grown = mode == "late" and mpi.rank == 1, mode == "grown"
    grid, spent = Grid(), [0, 0, 0]
    for _ in range(ITERATIONS):
        began, begin = time.monotonic(), time.thread_time()
        grid.fill(begin + 4e-3 + late * 1.2e-3)
        middle = time.thread_time()
        grid.smooth(middle + 6e-3 + late * 4.8e-3 + grown * 6e-3)
        end = time.thread_time()
        spent = [spent[0] + middle - begin, spent[1] + end - middle, spent[2] + time.monotonic() - began]
        mpi.allreduce(grid.cells[1])
    with open("%s.%d" % (path, mpi.rank), "w") as file:
        file.write("Grid.fill %.9f\nGrid.smooth %.9f\nboth %.9f\n" % tuple(spent))
    mpi.finish()


main()
