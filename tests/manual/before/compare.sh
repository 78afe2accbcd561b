# Five runs before a change and five after it, saved as JSON, a history of earlier ones, and runs of today.
cp "$DATA/history/same.json" old.json
cp "$DATA/history/slow.json" new.json
cp "$DATA/history/slow.json" slow.json
cp "$DATA/history/heat.jsonl" heat.jsonl
for run in run1 run2 run3 new1 new2 new3; do
    cp -r "$DATA/tape/heat-2x1" $run.lull
done
program 10 100
