# A run of two seconds, and others.
lull simulate -p chain:ranks=4,exec=20ms,iterations=100,collective=allreduce,every=5 --no-path -o run.lull >told
for run in before.lull after.lull heat-4; do
    cp -r "$DATA/tape/heat-2x1" $run
done
for ranks in 1 8; do
    lull simulate -p chain:ranks=$ranks,exec=1ms,iterations=20 --no-path -o heat-$ranks >told
done
