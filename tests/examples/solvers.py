#!/usr/bin/env python3
"""The solvers in examples/ solve: compiled, run on one and several threads. The residual that they
print is computed from A x - b, apart from the iteration; that of PCG is there in fewer iterations,
and the number of threads changes nothing but rounding.

usage: solvers.py COMPILER EXAMPLES
"""

import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
GRID = ("60", "40")


def compile_example(compiler, examples, name, folder):
    program = os.path.join(folder, name)
    done = subprocess.run(
        [compiler, "-O2", "-fopenmp", "-o", program, os.path.join(examples, name + ".c"), "-lm"],
        capture_output=True, text=True)
    if done.returncode != 0 and "-fopenmp" in done.stderr or "omp.h" in done.stderr:
        print("skipped: the compiler has no OpenMP")
        sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return program


def residual(program, iterations, threads):
    said = subprocess.run([program, *GRID, str(iterations)], check=True, capture_output=True,
                          text=True, env=dict(os.environ, OMP_NUM_THREADS=str(threads))).stdout
    return float(re.search(r"residual (\S+)", said).group(1))


def main():
    compiler, examples = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: compile_example(compiler, examples, name, folder)
                    for name in ("cg", "pcg")}
        left = {}
        for name, program in programs.items():
            for threads in (1, 2, 3):
                left[name, threads] = [residual(program, n, threads) for n in (40, 150)]
                print(name, threads, left[name, threads])
        for (name, threads), (early, late) in left.items():
            assert late < 1e-12, f"{name} on {threads} threads does not converge"
            assert abs(early / left[name, 1][0] - 1) < 1e-3, f"{name}: {threads} threads differ"
        assert left["pcg", 1][0] < left["cg", 1][0] / 10, "the preconditioner gains nothing"


main()
