#!/bin/bash
#flux: --job-name=lull
#flux: --nodes=2
#flux: --time-limit=10m
# One run of all ranks under Flux. `lull record` stands behind `flux run`, not in front of it.
# Submit: flux batch flux.sh
set -eu
app=${APP:-./app}
run=$PWD/app.lull # on a file system that all nodes see

flux run -n 8 lull record -o "$run" "$app"
lull report "$run"
