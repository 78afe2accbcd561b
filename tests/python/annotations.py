#!/usr/bin/env python3
"""The annotations of the Python package, by mypy --strict.

usage: types.py TESTS; skipped (77) where mypy is missing."""

import pathlib
import shutil
import subprocess
import sys

mypy = shutil.which("mypy", path="/usr/bin") or shutil.which("mypy")
if mypy is None:
    print("skipped: mypy is not installed")
    sys.exit(77)
folder = pathlib.Path(sys.argv[1]).parent / "python"
checked = subprocess.run([mypy, "--strict", "--ignore-missing-imports", "--python-version", "3.9", "--cache-dir=/dev/null",
                          "lull"], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(checked.stdout)
sys.exit(checked.returncode)
