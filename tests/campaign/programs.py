"""The programs of the campaign: what Debian has of real MPI programs, and mini-applications that are
built from source trees, each with an input that takes seconds. A program is data: where it comes
from, how it is started, what has to lie in its folder, and which part of its output is a result.
Times, rates and dates are no results: they differ from run to run.
"""
import glob
import os
import re
import shutil
import subprocess

SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/%(mpi)s-tests"


class Program:
    def __init__(self, name, mpis, ranks, command, result, package, prepare=None, threads=1,
                 output=None, tree=None):
        """command is a list in which %(mpi)s is "openmpi" or "mpich", and %(tree)s the folder in
        which `tree`, if there is one, was built. result is a pattern whose matches, in the order of
        the output, have to be the same alone and recorded. output is a pattern of the file's name
        that holds them; without it they are searched in what the program prints. package has the
        program where no tree is built."""
        self.name, self.mpis, self.ranks = name, mpis, ranks
        self.command, self.package = command, package
        self.result = re.compile(result, re.MULTILINE)
        self.prepare, self.threads, self.output, self.tree = prepare, threads, output, tree

    def words(self, mpi, folder=""):
        return [word.replace("%(mpi)s", mpi).replace("%(tree)s", folder) for word in self.command]

    def results_of(self, text):
        return self.result.findall(text)


class Tree:
    """A source tree. `name` is that of its public repository, and of the folder where it is looked
    for; `build` are shell commands that build it there, with %(mpi)s as in a program's command."""

    def __init__(self, name, build):
        self.name, self.build = name, build

    def make(self, sources, mpi, folder):
        """Copies the tree into a new folder and builds it there; returns why not, or None."""
        shutil.copytree(os.path.join(sources, self.name), folder, symlinks=True)
        done = subprocess.run(self.build % {"mpi": mpi}, shell=True, cwd=folder, capture_output=True,
                              text=True, errors="replace")
        lines = (done.stdout + done.stderr).strip().split("\n")
        return None if done.returncode == 0 else "a build without errors (%s)" % lines[-1]


def write(name, text):
    def prepare(folder, mpi):
        with open(folder + "/" + name, "w", encoding="utf-8") as file:
            file.write(text)
    return prepare


def shell(commands):
    def prepare(folder, mpi):
        done = subprocess.run(commands % {"mpi": mpi, "scalapack": SCALAPACK % {"mpi": mpi}}, shell=True,
                              cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError("%s: %s" % (commands.split("\n")[0], done.stderr.strip()))
    return prepare


MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 100
run 1000
"""

# Water molecules in a box, relaxed: the topology is written by hand, the box by GROMACS itself.
WATER = """set -e
gmx solvate -cs spc216.gro -box 2.6 2.6 2.6 -o conf.gro
printf '#include "oplsaa.ff/forcefield.itp"\\n#include "oplsaa.ff/spc.itp"\\n' > topol.top
printf '[ system ]\\nwater\\n[ molecules ]\\nSOL %%d\\n' $(($(sed -n 2p conf.gro) / 3)) >> topol.top
printf 'integrator = steep\\nemtol = 1\\nnsteps = 300\\ncutoff-scheme = Verlet\\n' > grompp.mdp
printf 'coulombtype = PME\\nrcoulomb = 0.9\\nrvdw = 0.9\\n' >> grompp.mdp
gmx grompp -o topol.tpr
"""
ENERGY = r"^(?:Potential Energy|Maximum force|Norm of force) .*$"

HYDROGENS = """start water
geometry
O 0 0 0.1173
H 0 0.7572 -0.4692
H 0 -0.7572 -0.4692
end
basis
* library 6-31g*
end
task scf gradient
"""

PYTHON = """from multiprocessing import Pool
from mpi4py import MPI
import sys

def square(x):
    return x * x

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
with Pool(2) as pool:
    mine = sum(pool.map(square, range(rank, 1000, size)))
for i in range(2000):
    mine += i * world.sendrecv(rank, (rank + 1) % size, 1, None, (rank - 1) % size, 1)
half = world.Split(rank % 2, rank)
total = world.allreduce(mine) + half.allreduce(rank)
everybody = world.gather(total)
if rank == 0:
    print("result", everybody)
sys.stdout.flush()
"""

PROGRAMS = [
    Program("hpcc", ["openmpi"], 2, ["hpcc"], r"Success=\d|PASSED|FAILED|Found \d+ errors",
            "hpcc", shell("cp /usr/share/doc/hpcc/examples/_hpccinf.txt hpccinf.txt"),
            output="hpccoutf.txt"),
    Program("lammps", ["openmpi"], 2, ["lmp", "-in", "in.melt"],
            r"^ +\d+(?: +-?[0-9.e+-]+){5} *$", "lammps", write("in.melt", MELT)),
    Program("gromacs", ["openmpi"], 2,
            ["gmx_mpi", "mdrun", "-ntomp", "1", "-reprod", "-s", "topol.tpr"], ENERGY,
            "gromacs", shell(WATER)),
    Program("gromacs, 1 x 2", ["openmpi"], 1,
            ["gmx_mpi", "mdrun", "-ntomp", "2", "-reprod", "-s", "topol.tpr"], ENERGY,
            "gromacs", shell(WATER), threads=2),
    Program("mpi4py", ["openmpi"], 2, ["/usr/bin/python3", "program.py"], r"^result.*$",
            "python3-mpi4py", write("program.py", PYTHON)),
    Program("nwchem", ["openmpi"], 2, ["nwchem.openmpi", "water.nw"], r"^ *Total SCF energy.*$",
            "nwchem-openmpi", write("water.nw", HYDROGENS)),
    Program("netpipe", ["openmpi"], 2, ["NPopenmpi", "-l", "1", "-u", "20000", "-n", "100"],
            r"^ *\d+: +\d+ bytes", "netpipe-openmpi"),
    Program("netpipe", ["mpich"], 2, ["NPmpich2", "-l", "1", "-u", "20000", "-n", "100"],
            r"^ *\d+: +\d+ bytes", "netpipe-mpich2"),
]


def scalapack(name, program, folder, result, ranks=4):
    return Program(name, ["openmpi", "mpich"], ranks,
                   [SCALAPACK + "/" + folder + program], result, "scalapack-mpi-test",
                   shell("cp %(scalapack)s/*.dat %(scalapack)s/PBLAS/*.dat ."))


PASSED = r"PASSED|FAILED|^ +\d+ tests (?:completed|skipped).*$"
PROGRAMS += [
    scalapack("scalapack LU", "xdlu", "", PASSED),
    # Its matrices are random, and now and then one of them misses the program's own bound.
    scalapack("scalapack eigenvalues", "xdsep", "", r"^Finished +\d+ tests"),
    scalapack("scalapack SVD", "xdsvd", "", r"^(?:Passed|Failed)"),
    scalapack("PBLAS level 3", "dpb3tst", "PBLAS/", PASSED),
]


# ---- from source trees -------------------------------------------------------------------------

CLOVER = """*clover
state 1 density=0.2 energy=1.0
state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0
x_cells=120
y_cells=120
xmin=0.0
ymin=0.0
xmax=10.0
ymax=10.0
initial_timestep=0.04
timestep_rise=1.5
max_timestep=0.04
end_step=50
*endclover
"""

TEA = """*tea
state 1 density=100.0 energy=0.0001
state 2 density=0.1 energy=25.0 geometry=rectangle xmin=0.0 xmax=1.0 ymin=1.0 ymax=2.0
state 3 density=0.1 energy=0.1 geometry=rectangle xmin=1.0 xmax=6.0 ymin=1.0 ymax=2.0
x_cells=100
y_cells=100
xmin=0.0
ymin=0.0
xmax=10.0
ymax=10.0
initial_timestep=0.004
end_step=3
tl_max_iters=1000
tl_use_cg
tl_eps=1.0e-12
*endtea
"""

ATOMS = ["-x", "10", "-y", "10", "-z", "10", "-N", "40"]

LULESH = Tree("LULESH", "make CXX='mpicxx.%(mpi)s -DUSE_MPI=1'")
COMD = Tree("CoMD", """set -e
for part in src-mpi src-openmp; do
    cp $part/Makefile.vanilla $part/Makefile
    make -C $part CC=mpicc.%(mpi)s
done""")
QUICKSILVER = Tree("Quicksilver", "make -C src CXX=mpicxx.%(mpi)s CXXFLAGS='-g -O2 -fopenmp' "
                   "CPPFLAGS='-DHAVE_MPI -DHAVE_OPENMP' LDFLAGS=-fopenmp")
AMG = Tree("AMG", "make CC=mpicc.%(mpi)s")
HPCG = Tree("hpcg", "mkdir build && cd build && ../configure MPI_GCC_OMP && "
            "make CXX=mpicxx.%(mpi)s LINKER=mpicxx.%(mpi)s")
MINIFE = Tree("miniFE", "make -C openmp/src CXX=mpicxx.%(mpi)s CC=mpicc.%(mpi)s")
CLOVERLEAF = Tree("CloverLeaf_ref", "make COMPILER=GNU MPI_COMPILER=mpif90.%(mpi)s "
                  "C_MPI_COMPILER=mpicc.%(mpi)s OPTIONS=-g C_OPTIONS=-g")
TEALEAF = Tree("TeaLeaf_ref", "make COMPILER=GNU MPI_COMPILER=mpif90.%(mpi)s "
               "C_MPI_COMPILER=mpicc.%(mpi)s OPTIONS='-g -fallow-argument-mismatch' C_OPTIONS=-g")


def both_ways(tree, command, result, apart=([], []), ranks=2, **more):
    """The program of a tree on some ranks, and on one rank with two threads. `apart` are the words
    that the command has behind its others in each of the two."""
    mpis = ["openmpi", "mpich"]
    return [Program(tree.name, mpis, ranks, command + apart[0], result, None, tree=tree, **more),
            Program(tree.name + ", 1 x 2", mpis, 1, command + apart[1], result, None, tree=tree,
                    threads=2, **more)]


PROGRAMS += [
    # It wants a cube of ranks, which two are not.
    *both_ways(LULESH, ["%(tree)s/lulesh2.0", "-i", "40"],
               r"^ +(?:Iteration count|Final Origin Energy|\w+Diff) += .*$",
               (["-s", "6"], ["-s", "12"]), ranks=8),
    *both_ways(COMD, [], r"^(?: +\d+ +\d+\.\d+(?: +-?\d+\.\d+){3}|  Final energy +: .*$)",
               (["%(tree)s/bin/CoMD-mpi", *ATOMS, "-i", "2"],
                ["%(tree)s/bin/CoMD-openmp-mpi", *ATOMS])),
    *both_ways(QUICKSILVER, ["%(tree)s/src/qs", "-X", "8", "-Y", "8", "-Z", "8", "-x", "4", "-y",
                             "4", "-z", "4", "-n", "2000", "-N", "4"],
               r"^ +\d+(?: +\d+){12}", (["-I", "2", "-J", "1", "-K", "1"],
                                        ["-I", "1", "-J", "1", "-K", "1"])),
    *both_ways(AMG, ["%(tree)s/test/amg", "-problem", "1", "-n", "16", "16", "16"],
               r"^(?:Iterations|Final Relative Residual Norm) = .*$",
               (["-P", "2", "1", "1"], ["-P", "1", "1", "1"])),
    *both_ways(HPCG, ["%(tree)s/build/bin/xhpcg", "--nx=16", "--ny=16", "--nz=16", "--rt=0"],
               r"PASSED|^.*(?:Scaled residual|Departure for|CG iterations per set).*$",
               prepare=write("hpcg.dat", "HPCG\n\n16 16 16\n0\n"),
               output="HPCG-Benchmark*.txt"),
    *both_ways(MINIFE, ["%(tree)s/openmp/src/miniFE.x", "-nx", "16", "-ny", "16", "-nz", "16"],
               r"^(?:Iteration = .*|Final Resid Norm: .*)$"),
    *both_ways(CLOVERLEAF, ["%(tree)s/clover_leaf"], r"^ +step: .*$",
               prepare=write("clover.in", CLOVER), output="clover.out"),
    *both_ways(TEALEAF, ["%(tree)s/tea_leaf"], r"^ +step: .*$", prepare=write("tea.in", TEA),
               output="tea.out"),
]


def missing(program, mpi, sources):
    """Why the program cannot run here, so that it is told as a skip by its name; None: it can.
    `sources` is the folder with the source trees, or None."""
    word = program.words(mpi)[0]
    if program.tree:
        if not sources or not os.path.isdir(os.path.join(sources, program.tree.name)):
            return "source tree %s (--sources)" % program.tree.name
    elif not (glob.glob(word) if word.startswith("/") else shutil.which(word)):
        return "package " + program.package
    if mpi == "mpich" and program.ranks > len(os.sched_getaffinity(0)):
        return "%d processors, as MPICH's waiting ranks keep theirs" % program.ranks
    return None
