# Runs of 1 to 8 ranks whose work is divided, and tables of measurements.
for ranks in 1 2 4 8; do
    lull simulate -p chain:ranks=$ranks,exec=$((8 / ranks))ms,iterations=20,collective=allreduce,every=1 --no-path -o run$ranks >told
done
printf 'processes,time\n' >times.csv
for processes in 1 2 4 8 16 32 64 128; do
    awk -v p=$processes 'BEGIN {printf "%d,%g\n", p, 10 * (0.02 + 0.98 / p)}' >>times.csv
done
cp "$DATA/fit/usl.csv" throughput.csv
sed 's|main->solve|solve|' "$DATA/fit/extrap.txt" >experiment.txt
