#!/bin/bash
#SBATCH --job-name=lull
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
# One run of all ranks under Slurm. srun starts `lull record` in front of each of them; it costs no more than that.
# Submit: sbatch slurm.sh
set -eu
app=${APP:-./app}
run=$PWD/app.$SLURM_JOB_ID.lull # on a file system that all nodes see

srun lull record -o "$run" "$app"
lull report "$run"
