#!/bin/bash
#SBATCH --job-name=lull-coupled
#SBATCH --ntasks=1
#SBATCH --time=00:10:00
#SBATCH hetjob
#SBATCH --ntasks=3
# Two programs of one MPI_COMM_WORLD on different kinds of nodes: one run, because both name the same folder.
# Submit: sbatch slurm-heterogeneous.sh
set -eu
app=${APP:-./app}
other=${OTHER:-$app}
run=$PWD/coupled.$SLURM_JOB_ID.lull

srun --het-group=0 lull record -o "$run" "$other" : --het-group=1 lull record -o "$run" "$app"
lull report "$run"
