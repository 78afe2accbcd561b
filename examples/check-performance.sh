#!/bin/sh
# Measures a program a few times and fails where it has become slower than its history says.
#
# usage: check-performance.sh HISTORY RUNS COMMAND...
#
# COMMAND writes one run to $LULL_RUN, for example
#     sh -c 'mpirun -n 2 lull record -o "$LULL_RUN" ./heat 512 2000'
# With KEEP=yes, as on the main branch, runs that do not fail are added to HISTORY: also those of
# which nothing is certain, because it becomes certain by a longer history. Files for the service
# that tests are written to $REPORTS where that is set. LULL is lull, if it is not to be searched in
# PATH. Ends with the status of lull check: 0 passed, 3 failed, 4 unknown.
set -eu
if [ $# -lt 3 ]; then
    echo "usage: check-performance.sh HISTORY RUNS COMMAND..." >&2
    exit 2
fi
history=$1 count=$2
shift 2
lull=${LULL:-lull}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

i=0
while [ $i -lt "$count" ]; do
    i=$((i + 1))
    LULL_RUN=$folder/run-$i "$@" >&2
done
key="--program ${PROGRAM:-program} --machine ${MACHINE:-ci}"
if [ ! -e "$history" ]; then
    echo "check-performance.sh: $history is not there yet and begins with these runs" >&2
    "$lull" history add "$history" $key "$folder"/run-*
    exit
fi

set -- --against "$history" --fail-if 'runtime > 1.05 * baseline'
[ -z "${REPORTS:-}" ] || set -- "$@" --junit "$REPORTS/performance.xml" \
    --markdown "$REPORTS/performance.md" --github "$REPORTS/annotations.txt" \
    --gitlab "$REPORTS/metrics.txt" --badge "$REPORTS/performance.svg"
status=0
"$lull" check "$@" $key "$folder"/run-* || status=$?
if [ "${KEEP:-no}" = yes ] && { [ $status -eq 0 ] || [ $status -eq 4 ]; }; then
    "$lull" history add "$history" $key "$folder"/run-*
fi
exit $status
