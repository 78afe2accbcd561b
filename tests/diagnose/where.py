"""Programs with a defect in one of their functions (programs/where.c and its like in other languages), recorded with
samples, without and with functions that the compiler instruments: how they are built, recorded and kept, and what a report
has to say of them.

What is true say the sources, whose loops are marked ("smooth: first line"), and the program's own processor
clock, which decides how long each function computes and is written down by function.
"""
import collections
import glob
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import planted

SOURCES = planted.SOURCES
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "where")

# `rule`: of the finding that tells it; None: nothing is planted. `instrumented`: the compiler has instrumented functions.
Case = collections.namedtuple("Case", "source mode rule function instrumented", defaults=(False,))
CASES = {
    "c-late": Case("where.c", "late", "n_to_n", "smooth"),
    "c-even": Case("where.c", "even", None, None),
    "c-grown": Case("where.c", "grown", "computation_scaling", "smooth"),
    "fortran-late": Case("where.f90", "late", "n_to_n", "heat::smooth"),
    "cpp-serial": Case("where.cpp", "serial", "serial", "heat::Grid::assemble"),
    "cpp-uneven": Case("where.cpp", "uneven", "imbalance", "heat::Grid::relax"),
    "cpp-lock": Case("where.cpp", "lock", "lock", "heat::Grid::update"),
    "cpp-even": Case("where.cpp", "even", None, None),
    "fortran-serial": Case("where_threads.f90", "serial", "serial", "plate::assemble"),
    "fortran-uneven": Case("where_threads.f90", "uneven", "imbalance", "plate::relax"),
    "fortran-lock": Case("where_threads.f90", "lock", "lock", "plate::update"),
    "c-late-instrumented": Case("where.c", "late", "n_to_n", "smooth", True),
    "cpp-serial-instrumented": Case("where.cpp", "serial", "serial", "heat::Grid::assemble", True),
    "cpp-uneven-instrumented": Case("where.cpp", "uneven", "imbalance", "heat::Grid::relax", True),
    "cpp-lock-instrumented": Case("where.cpp", "lock", "lock", "heat::Grid::update", True),
}
COMPILERS = {"where.c": "mpicc.openmpi", "where.f90": "mpif90.openmpi", "where.cpp": "g++", "where_threads.f90": "gfortran"}


# What a program calls the time that passed in all of its functions; it is disturbed if that is so much longer than
# the processor time that they took.
ALL, DISTURBED = "both", 0.02


def has_ranks(case):
    return case.source not in ("where.cpp", "where_threads.f90")


def build(case, folder):
    """The executable, "where-c", or "where-c-instrumented"."""
    source = case.source
    executable = os.path.join(folder, source.replace(".", "-") + "-instrumented" * case.instrumented)
    more = ["-finstrument-functions"] * case.instrumented + ["-fopenmp"] * (not has_ranks(case))
    shutil.copy(os.path.join(SOURCES, source), folder)
    planted.execute([COMPILERS[source], "-O2", "-g", "-ffile-prefix-map=%s=." % folder, *more, source, "-o", executable],
                    folder)
    return executable


def record(lull, case, program, folder, before=(), options=()):
    """Where the run is, and what the program says of itself: {(rank or thread, function): seconds}. `program`: words."""
    run, readings = os.path.join(folder, "run"), os.path.join(folder, "readings")
    start = ["mpiexec.openmpi", "-n", "2"] if has_ranks(case) else []
    planted.execute([*before, *start, lull, "record", "--sample", "1000", *options, "-o", run, "--", *program, case.mode,
                     readings], folder, OMP_WAIT_POLICY="passive")
    return run, read(folder)


def read(folder):
    spent = {}
    for path in sorted(glob.glob(os.path.join(folder, "readings*"))):
        with open(path) as file:
            for line in file:
                words = line.split()
                who = int(words[0]) if len(words) == 3 else int(path.rpartition(".")[2])
                spent[who, words[-2]] = float(words[-1])
    return spent


def keep(lull, executable, run, kept):
    """Packs a run, with its readings. Where the run names the program it then says ".///...///where-c", so that
    lull finds that in the folder where it is started."""
    path, name = executable.encode(), os.path.basename(executable).encode()
    beside = b"." + b"/" * (len(path) - len(name) - 1) + name
    for file in glob.glob(os.path.join(run, "**"), recursive=True):
        if os.path.isfile(file):
            with open(file, "r+b") as stream:
                data = stream.read()
                stream.seek(0)
                stream.write(data.replace(path, beside))
    for about in glob.glob(os.path.join(run, "about*")):
        os.remove(about)  # it tells of the machine
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    planted.execute([lull, "pack", run, "-o", os.path.join(kept, "run")], kept)
    for readings in glob.glob(os.path.join(os.path.dirname(run), "readings*")):
        shutil.copy(readings, kept)


def lines_of(case):
    """The first and the last line of the function's loop, which is marked in the source."""
    name = case.function.rpartition(":")[2]
    with open(os.path.join(SOURCES, case.source)) as file:
        lines = [number for number, line in enumerate(file, 1) if re.search(r"\b%s: (first|last) line" % name, line)]
    return lines[0], lines[-1]


def totals(spent):
    """ {rank or thread: seconds of all functions} """
    sums = collections.Counter()
    for (who, function), seconds in spent.items():
        sums[who] += seconds if function != ALL else 0
    return sums


def is_undisturbed(spent):
    """Whether each rank or thread had a core for nearly all of the time in which its functions ran."""
    return all(spent[who, ALL] <= (1 + DISTURBED) * seconds for who, seconds in totals(spent).items())
