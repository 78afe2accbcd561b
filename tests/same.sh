#!/usr/bin/env bash
# Whether two builds of lull say the same: for a change that is not to change any result.
#
#     tests/same.sh OLD NEW [DRAW_RUNS [COUNT [SEED]]]
#
# OLD and NEW are two programs lull. Each command is given to both, on the kept runs (tests/data), on real traces
# (LULL_CONFORMANCE_DIR), on simulated runs, and on COUNT (2,000) runs that DRAW_RUNS draws (the target draw_runs of
# NEW's build). Standard output, standard error, the status and all files that are written must be the same to the byte.
# Every fifth command is given to teams of 1, 2, 3 and 7 processes, too. With SAME_SHARE=N only one of N commands is
# compared. Prints each command that differs, how many were compared, and how many of them failed; exits with 1 if any
# differs.
#
# With SAME_METRICS=1 only the metrics of COUNT drawn runs are compared, half of which are simulated; NEW reads them with
# 1, 2 and 3 threads and by teams. SAME_METRICS=results compares only their integers (tests/same/drawn.py says more).
set -euo pipefail
[ $# -ge 2 ] || {
    sed -n '2,6p' "$0" >&2
    exit 2
}
old=$(realpath "$1") new=$(realpath "$2")
draw=${3:+$(realpath "$3")} count=${4:-2000} seed=${5:-1}
tests=$(cd "$(dirname "$0")" && pwd)
traces=${LULL_CONFORMANCE_DIR:-$tests/../../shared/traces}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -n "${SAME_METRICS:-}" ]; then
    words=(${draw:+"$draw"})
    [ "$SAME_METRICS" != results ] || words+=(--results)
    python3 "$tests/same/drawn.py" "$old" "$new" "$folder" "$count" "$seed" "${words[@]}"
    exit
fi
cases=$folder/cases
export old new folder

# One command: its number, the members of its team (0: none), its words. OUT is a path to write to.
compare() {
    local number=$1 members=$2 side program
    shift 2
    local team=()
    [ "$members" = 0 ] || team=("LULL_TEAM_CHAOS=$members:$number")
    for side in old new; do
        program=${!side}
        local place=$folder/$number.$members
        mkdir -p "$place"
        (
            cd "$place"
            local status=0
            env "${team[@]}" timeout 300 "$program" "${@/#OUT/$place/out}" >stdout 2>stderr </dev/null || status=$?
            echo "$status" >status
        )
        mv "$place" "$place.$side"
    done
    # traces.otf2 holds an identity that libotf2 draws.
    if ! diff -r -x traces.otf2 "$place.old" "$place.new" >"$place.diff" 2>&1; then
        echo "differs ($members members): lull $*: $(head -c 300 "$place.diff" | tr '\n' ' ')"
    fi
    [ "$(<"$place.new/status")" = 0 ] || echo "$*" >>"$folder/failures"
    rm -rf "$place.old" "$place.new" "$place.diff"
}
export -f compare

n=0
add() {
    n=$((n + 1))
    printf '%s\t0' $n >>"$cases"
    printf '\t%s' "$@" >>"$cases"
    printf '\n' >>"$cases"
    if [ $((n % 5)) = 0 ]; then
        local members
        for members in 1 2 3 7; do
            printf '%s\t%s' $n $members >>"$cases"
            printf '\t%s' "$@" >>"$cases"
            printf '\n' >>"$cases"
        done
    fi
}

add_run() { # all that can be asked of a run
    local run=$1 by format
    for by in region process thread callsite wait file; do add metrics "$run" -f json --raw --by $by; done
    add metrics "$run" -f json --window 1us: --no-replay
    add metrics "$run"
    add info "$run" -f json
    add report "$run" -f json
    add report "$run" -f json --no-prices --max-size 100KB
    add report "$run" -f html -o OUT.html
    add wave "$run" -f json
    add wave "$run" --no-replay --chart OUT.svg
    add replay "$run" -f json
    add replay "$run" -f json --network ideal --balance --no-noise
    add replay "$run" -f json --network hockney:latency=3us,eager=100,bandwidth=1e8 --output OUT.lull
    add replay "$run" -f json --median all --no-scheduling --balance-threads --network ideal --eager
    add replay "$run" --inject exponential:mean=50us --inject 1@1us:3ms
    add diff "$run" -- "$run" -f json
    for format in tape otf2 paraver chrome arrow; do add convert "$run" OUT.$format --to $format; done
    add pack "$run" -o OUT.packed
}

while read -r run; do add_run "$run"; done < <(
    find "$tests/data/tape" -mindepth 1 -maxdepth 1 -type d
    find "$tests/data/planted" -mindepth 2 -maxdepth 2 -name run
    find "$tests/data/paraver" "$tests/data/golden" -name '*.prv*'
    [ ! -d "$traces" ] || find "$traces" -name '*.otf2' -o -name '*.prv' -o -name '*.prv.gz'
)

for pattern in chain:ranks=9,exec=1ms+2ms,iterations=20,collective=allreduce,every=3 grid:ranks=4x4,bytes=128KiB,iterations=10 \
    collective:op=allreduce,ranks=13,exec=1ms collective:op=scan,ranks=8,exec=1ms collective:op=bcast,ranks=32; do
    for network in ideal hockney loggops dimemas; do
        add simulate -p $pattern -n $network -f json --noise exponential:mean=50us --seed $n -o OUT.lull
        "$old" simulate -p $pattern -n $network --noise exponential:mean=50us --seed $n -o "$folder/simulated$n.lull" \
            >/dev/null 2>&1 && simulated+=("$folder/simulated$n.lull") || true
    done
done
for run in "${simulated[@]:-}"; do [ -z "$run" ] || add_run "$run"; done

if [ -n "$draw" ]; then
    mkdir "$folder/drawn"
    "$draw" "$folder/drawn" "$count" "$seed"
    for ((i = 0; i < count; i++)); do
        run=$folder/drawn/$i.lull
        add metrics "$run" -f json --raw
        case $((i % 8)) in
        0) add report "$run" -f json ;;
        1) add replay "$run" -f json ;;
        2) add convert "$run" OUT.otf2 --to otf2 ;;
        3) add metrics "$run" -f json --by wait ;;
        4) add convert "$run" OUT.prv --to paraver ;;
        5) add wave "$run" -f json ;;
        6) add metrics "$run" -f json --by callsite --no-replay ;;
        7) add pack "$run" -o OUT.packed ;;
        esac
    done
fi

result=$folder/result
awk -v share="${SAME_SHARE:-1}" 'NR % share == 0' "$cases" >"$cases.chosen"
mv "$cases.chosen" "$cases"
xargs -a "$cases" -d '\n' -P "$(nproc)" -n 16 bash -c \
    'for line; do IFS=$'"'\t'"' read -ra words <<<"$line"; compare "${words[@]}"; done' compare >"$result" || true
cat "$result"
touch "$folder/failures"
printf '%d commands compared, %d differ; %d failed\n' "$(wc -l <"$cases")" "$(wc -l <"$result")" "$(wc -l <"$folder/failures")"
[ ! -s "$result" ]
