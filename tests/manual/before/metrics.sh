# The runs of `make demo`, shorter.
mpicc -O2 -g -fopenmp examples/heat.c -o heat -lm
for shape in 1x1 1x2 2x1 2x2; do
    OMP_NUM_THREADS=${shape#*x} mpirun -n ${shape%x*} lull record --counters none -o build/demo/heat-$shape ./heat 200 500
done
