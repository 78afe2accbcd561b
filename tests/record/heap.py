"""The blocks of a program's heap lie where they do without the recorder: what a runtime's calls cost
hangs on that.

    heap.py --lull LULL PROGRAM...         each prints where its blocks lie
"""
import argparse
import os
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("programs", nargs="+")
    settings = parser.parse_args()
    wrong = 0
    for program in settings.programs:
        alone = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        again = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            recorded = subprocess.run([settings.lull, "record", "-o", run, "--", program], check=True,
                                      capture_output=True, text=True).stdout
        if alone != again:
            print(f"skipped: {program} has another heap each time, also alone")
            return 77
        pairs = list(zip(alone.split(), recorded.split()))
        moved = [i for i, (a, b) in enumerate(pairs) if a != b]
        print(f"{program}: {len(moved)} of {len(pairs)} blocks lie elsewhere", *moved[:10])
        wrong += alone != recorded
    return 1 if wrong else 0


sys.exit(main())
