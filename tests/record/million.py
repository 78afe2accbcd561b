"""A rank of a million spends no more memory, look-ups and bytes on disk on the world, a duplicate and
a split of it than one of two; and what one process leaves of such a run is read.

    million.py --lull LULL --recorder FILE
"""
import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "mock"))
import mock

MANY = 1000000
MOST_KIB = 64
MOST_LOOKED_UP = 4 # one for the first member of the split, if it is another process


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--recorder", required=True)
    settings = parser.parse_args()
    if mock.missing():
        print("skipped: " + mock.missing())
        return 77
    wrong = []
    with tempfile.TemporaryDirectory(prefix="lull-million-") as folder:
        program, where = mock.build(folder), os.path.join(folder, "run")
        few = mock.run(program, 1, 2, settings.recorder, where)
        few_bytes = mock.bytes_of(where)
        for rank in (0, 1, MANY // 2, MANY - 1):
            taken = mock.run(program, rank, MANY, settings.recorder, where)
            print("rank %d: %d KiB, of two ranks %d; %d ranks looked up" % (
                rank, taken[1], few[1], taken[2]))
            if taken[1] > few[1] + MOST_KIB:
                wrong.append("rank %d: %d KiB, of two ranks %d" % (rank, taken[1], few[1]))
            if taken[2] > MOST_LOOKED_UP:
                wrong.append("rank %d: %d ranks looked up" % (rank, taken[2]))
            if mock.bytes_of(where) != few_bytes:
                wrong.append("rank %d: %d bytes, of two ranks %d" % (
                    rank, mock.bytes_of(where), few_bytes))
            read = subprocess.run([settings.lull, "info", where], capture_output=True, text=True,
                                  timeout=600, check=False)
            if read.returncode != 0 or "not recorded" not in read.stdout + read.stderr:
                wrong.append("rank %d: lull info: status %d\n%s" % (
                    rank, read.returncode, read.stdout + read.stderr))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
