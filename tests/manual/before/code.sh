# A program that computes for half a second, two runs of it, and a program in Python.
program 200 600
for run in code-2x2 before.lull after.lull; do
    cp -r "$DATA/tape/code-2x2" $run
done
echo 'print(sum(i * i for i in range(3000000)))' >app.py
