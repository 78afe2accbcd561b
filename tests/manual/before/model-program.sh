# Recorded runs of the model's program, and simulated ones of more processes and of several sizes.
cp "$DATA/machine/measured.json" machine.json
mpicc -O1 -g examples/image.c -Iinclude -o image_program -ldl -lm
printf '#!/bin/sh\nexec ./image_program 200 128\n' >image
chmod +x image
for processes in 1 2 4; do
    mpirun -n $processes lull record --counters processor-time -o run$processes ./image
done
simulated() { # NAME PROCESSES COMPUTATION
    lull simulate -p chain:ranks=$2,exec=$3,iterations=20,collective=allreduce,every=5 --no-path -o "$1" >told
}
simulated run16 16 4ms
simulated run64 64 1ms
simulated run256 256 250us
simulated a 4 1ms
simulated b 4 4ms
simulated c 8 500us
simulated d 8 2ms
