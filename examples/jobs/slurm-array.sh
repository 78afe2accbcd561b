#!/bin/bash
#SBATCH --job-name=lull-scaling
#SBATCH --array=1,2,4
#SBATCH --ntasks=4
#SBATCH --time=00:10:00
# How a program scales: one run for each number of ranks, which is the number of the task in the array.
# Submit: sbatch slurm-array.sh; when all are done: lull metrics scaling.*.lull
set -eu
app=${APP:-./app}

srun -n "$SLURM_ARRAY_TASK_ID" lull record -o "$PWD/scaling.$SLURM_ARRAY_TASK_ID.lull" "$app"
