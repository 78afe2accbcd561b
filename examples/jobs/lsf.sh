#!/bin/bash
#BSUB -J lull
#BSUB -nnodes 2
#BSUB -W 10
# One run of all ranks under LSF with jsrun. Where the site has mpirun instead, that stands in its place.
# Submit: bsub lsf.sh
set -eu
app=${APP:-./app}
run=$PWD/app.$LSB_JOBID.lull # on a file system that all nodes see

jsrun -n 8 -a 1 -c 1 lull record -o "$run" "$app"
lull report "$run"
