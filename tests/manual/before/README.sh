# An MPI program, and the run with planted faults that `make demo` records.
program 10 100
mkdir -p build/demo
cp -r "$DATA/tape/heat-functions" build/demo/heat-faults
