# SPDX-License-Identifier: BSD-3-Clause
"""Recipe for Spack. It was not built by Spack so far: its syntax, its options and its versions are checked by
tests/packaging. Releases are added as they are made; url and git wait for the place where lull is published."""

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Lull(CMakePackage):
    """lull says why the cores and devices of a parallel program are idle, what that costs, and what would help: it
    records MPI, OpenMP and hybrid programs without recompiling them, reads OTF2 archives and traces of Extrae, and breaks
    down, simulates and models where the time goes. One installation records programs of all MPI libraries of the families
    of Open MPI and MPICH: it does not depend on the MPI of the programs."""

    homepage = "https://lull.invalid"
    git = "https://lull.invalid/lull.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("1.0.0-rc1", tag="v1.0.0-rc1")

    variant("openmpi", default=True, description="Record programs of Open MPI")
    variant("mpich", default=True, description="Record programs of MPICH, Intel MPI, MVAPICH, Cray MPICH")
    variant("otf2", default=True, description="Read and write OTF2 archives")
    variant("callsites", default=True, description="Show call sites with function, file and line")
    variant("bench", default=True, description="Measure machines")
    variant("kernel", default=False, description="Predict the performance of loops in C (libclang)")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")

    depends_on("jansson")
    depends_on("lua@5.4:")
    depends_on("popt")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("isa-l", when="target=x86_64:")
    depends_on("otf2", when="+otf2")
    depends_on("elfutils", when="+callsites")
    depends_on("hwloc", when="+bench")
    depends_on("llvm+clang", when="+kernel")

    # Not "mpi": their mpi.h is what is needed, of both, and programs are recorded with the MPI that they were built with.
    depends_on("openmpi", type="build", when="+openmpi")
    depends_on("mpich", type="build", when="+mpich")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("LULL_TESTS", False),
            self.define("LULL_BENCH", False),
        ]
        for family in ("openmpi", "mpich"):
            # An empty value keeps CMake from looking for another compiler.
            compiler = self.spec[family].prefix.bin.mpicc if self.spec.satisfies("+" + family) else ""
            args.append(self.define("LULL_MPICC_" + family, compiler))
        return args

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.lull.python)
