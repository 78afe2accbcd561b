# What systems.py runs on another system, as a user without rights, in an empty folder: programs of each MPI, built here,
# recorded and analysed by the lull in the folder $1.
#
#     sh use.sh FOLDER
set -eux
lull=$1/bin/lull
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe HOME="$PWD"
export OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_hwloc_default_binding_policy=none
# Another lull comes first.
mkdir other
printf '#!/bin/sh\necho another lull >&2\nexit 99\n' >other/lull
chmod +x other/lull
PATH=$PWD/other:$PATH

"$lull" --version >version
"$lull" info --format json >info.json
touch "$1/written" 2>/dev/null && { echo "$1 can be written"; exit 1; }

for family in openmpi mpich; do
    mkdir $family
    (
        cd $family
        mpicc.$family -g -O1 /test/ring.c -o ring
        mpicc.$family -show >compiler
        mpiexec.$family --version >mpi 2>&1
        mpiexec.$family -n 3 ./ring 40 1000 25 3 >alone
        # Where the system's own mpiexec starts each process as a program of its own, there is nothing to record.
        [ "$(grep -c sent alone)" -eq 1 ] || exit 0
        mpiexec.$family -n 3 "$lull" record -o outside.lull ./ring 40 1000 25 3 >said
        "$lull" record -o inside.lull mpiexec.$family -n 3 ./ring 40 1000 25 3 >said_inside
        mpicc.$family -g -O1 -finstrument-functions /test/ring.c -o ring_functions
        printf 'SCOREP_REGION_NAMES_BEGIN\n EXCLUDE *\n INCLUDE pass_on\nSCOREP_REGION_NAMES_END\n' >filter
        mpiexec.$family -n 3 "$lull" record --filter filter -o filtered.lull ./ring_functions 40 1000 25 3
        "$lull" metrics filtered.lull --by region --format json >functions.json
        for run in outside inside; do
            "$lull" info $run.lull --format json >$run.json
        done
        "$lull" metrics inside.lull --format json >metrics.json
        "$lull" metrics inside.lull --by callsite --format json >callsites.json
        "$lull" report inside.lull >report
        "$lull" report inside.lull -o report.html
        "$lull" replay inside.lull --network ideal >replay
        "$lull" convert inside.lull otf2 --to otf2
        "$lull" info otf2/*.otf2 --format json >otf2.json
        "$lull" pack inside.lull
        "$lull" info inside.lull.packed --format json >packed.json
        mpiexec.$family -n 2 "$lull" metrics inside.lull --format json >team.json
    )
done
gcc -g -O1 -fopenmp -pthread /test/omp.c -o omp
OMP_NUM_THREADS=2 "$lull" record -o omp.lull ./omp
"$lull" metrics omp.lull --by region --format json >omp.json
"$lull" simulate --pattern chain:ranks=16,exec=1ms,iterations=20 >simulated
"$lull" model solver "$1/share/lull/solvers/cg.lua" --machine /test/machine.json >solver
