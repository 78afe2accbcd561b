#!/usr/bin/env python3
"""The Python package under each Python from 3.9 on that is on PATH, without pandas.

usage: versions.py LULL TESTS; skipped (77) where there is no other than this one."""

import pathlib
import shutil
import subprocess
import sys

LULL, TESTS = sys.argv[1], pathlib.Path(sys.argv[2])


def main():
    tried, failed = [], []
    for minor in range(9, 20):
        python = shutil.which(f"python3.{minor}")
        if python is None or subprocess.run([python, "--version"], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL).returncode != 0:
            continue
        for words in (["methods.py", LULL, TESTS, "--without-pandas"], ["stream.py", TESTS]):
            ended = subprocess.run([python, "-B", TESTS / "python" / words[0], *words[1:]], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if ended.returncode != 0:
                failed.append(f"3.{minor}")
                print(ended.stdout)
        tried.append(minor)
    print("tried:", ", ".join(f"3.{minor}" for minor in tried), "failed:", ", ".join(failed) or "none")
    if not failed and set(tried) <= {sys.version_info.minor}:
        print("skipped: there is no other Python on PATH")
        return 77
    return 1 if failed else 0


sys.exit(main())
