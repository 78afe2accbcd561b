"""The programs of the campaign: what Debian has of real MPI programs, each with an input that takes
seconds. A program is data: how it is started, what has to lie in its folder, and which part of its
output is a result. Times, rates and dates are no results: they differ from run to run.
"""
import glob
import os
import re
import shutil
import subprocess

SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/%(mpi)s-tests"


class Program:
    def __init__(self, name, mpis, ranks, command, result, package, prepare=None, threads=1,
                 output=None):
        """command is a list in which %(mpi)s is "openmpi" or "mpich". result is a pattern whose
        matches, in the order of the output, have to be the same alone and recorded. output names
        the file that holds them; without it they are searched in what the program prints."""
        self.name, self.mpis, self.ranks = name, mpis, ranks
        self.command, self.package = command, package
        self.result = re.compile(result, re.MULTILINE)
        self.prepare, self.threads, self.output = prepare, threads, output

    def words(self, mpi):
        return [word % {"mpi": mpi} if "%(mpi)" in word else word for word in self.command]

    def results_of(self, text):
        return self.result.findall(text)


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


def missing(program, mpi):
    """Why the program cannot run here, so that it is told as a skip by its name; None: it can."""
    word = program.words(mpi)[0]
    there = glob.glob(word) if word.startswith("/") else shutil.which(word)
    if not there:
        return "package " + program.package
    if mpi == "mpich" and program.ranks > len(os.sched_getaffinity(0)):
        return "%d processors, as MPICH's waiting ranks keep theirs" % program.ranks
    return None
