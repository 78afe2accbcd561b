#!/bin/bash
#SBATCH --job-name=lull-container
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00
# A program in a container. lull stays outside of the image: its folder is mounted where it is, and the container finds it
# by its full path. The C library in the image must not be older than the one that lull was built with (lull says so).
# srun's variables reach the program, so --cleanenv is not to be used.
# Submit: sbatch apptainer.sh
set -eu
app=${APP:-/opt/app/app} # in the image
image=${IMAGE:-app.sif}
lull=$(command -v lull)
folder=$(dirname "$(dirname "$(readlink -f "$lull")")") # that `make install PREFIX=...` has made
run=$PWD/app.$SLURM_JOB_ID.lull

srun apptainer exec --bind "$folder" --bind "$PWD" "$image" "$lull" record -o "$run" "$app"
lull report "$run"
