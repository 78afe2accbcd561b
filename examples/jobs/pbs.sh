#!/bin/bash
#PBS -N lull
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l walltime=00:10:00
# One run of all ranks under PBS, with the mpiexec of the MPI that the program was built with, or of PALS (HPE Cray).
# Submit: qsub pbs.sh
set -eu
cd "$PBS_O_WORKDIR"
app=${APP:-./app}
run=$PWD/app.${PBS_JOBID%%.*}.lull # on a file system that all nodes see

mpiexec -n 8 lull record -o "$run" "$app"
lull report "$run"
