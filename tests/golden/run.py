#!/usr/bin/env python3
"""Golden tests: run a command, compare what it says with what it said when somebody looked.

A case is a folder tests/golden/AREA/NAME with

  command    one line for the shell, run inside the folder; $LULL is the program, $DATA the folder
             tests/data, $OUT an empty folder for outputs
  stdout     what it prints (no file: nothing)
  stderr     what it says there (no file: nothing)
  status     its exit status (no file: 0)
  tolerance  relative tolerance of numbers (no file: 0, everything is compared literally)
  requires   features of `lull info` that the case needs, separated by blanks; skipped without

The version of lull is written as VERSION in the expected files.

usage: run.py --lull PROGRAM [--accept] [--share N] [CASE...]      (a CASE is AREA or AREA/NAME)
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import features  # noqa: E402

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
SECONDS = 600  # for what hangs: a million ranks take long under sanitizers on a busy machine


def read(path):
    return path.read_text() if path.exists() else ""


def same(expected, actual, tolerance):
    """Whether the texts agree: numbers within the tolerance, the rest literally."""
    if expected == actual:
        return True
    if tolerance == 0 or NUMBER.split(expected) != NUMBER.split(actual):
        return False
    pairs = zip(NUMBER.findall(expected), NUMBER.findall(actual))
    return all(
        abs(float(a) - float(b)) <= tolerance * max(abs(float(a)), abs(float(b))) for a, b in pairs
    )


class Program:
    def __init__(self, path):
        self.path = str(pathlib.Path(path).resolve())
        self.version = self.ask("--version").split()[1]
        self.features = features.of(self.path)

    def ask(self, *arguments):
        return subprocess.run(
            [self.path, *arguments], check=True, capture_output=True, text=True, timeout=SECONDS
        ).stdout

    def run(self, case):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder: # commands name both without quotes
            out, program = f"{folder}/out", f"{folder}/lull"
            os.mkdir(out)
            os.symlink(self.path, program)
            environment = {
                "PATH": os.environ.get("PATH", ""),
                "LULL": program,
                "DATA": os.path.relpath(HERE.parent / "data", case),
                "OUT": out,
                "LC_ALL": "C",
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", ""),
            }
            done = subprocess.run(
                ["sh", "-c", read(case / "command")],
                cwd=case,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
            )
        texts = [
            raw.decode(errors="backslashreplace").replace(out, "$OUT").replace(self.version, "VERSION")
            for raw in (done.stdout, done.stderr)
        ]
        return {"stdout": texts[0], "stderr": texts[1], "status": f"{done.returncode}\n"}


def differences(case, actual):
    """Unified diffs of what differs."""
    tolerance = float(read(case / "tolerance") or 0)
    lines = []
    for name, text in actual.items():
        expected = read(case / name) or ("0\n" if name == "status" else "")
        if not same(expected, text, tolerance):
            lines += difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"expected {name}", f"actual {name}", lineterm=""
            )
    return lines


def accept(case, actual):
    for name, text in actual.items():
        path = case / name
        if text == ("0\n" if name == "status" else ""):
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--accept", action="store_true", help="rewrite what is expected")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="run one case of N")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    program = Program(options.lull)
    folders = sorted(path.parent for path in HERE.glob("*/*/command"))
    if options.cases:
        wanted = [(HERE / name.rstrip("/")).resolve() for name in options.cases]
        folders = [f for f in folders if f in wanted or f.parent in wanted]
    folders = folders[:: options.share]
    if not folders:
        sys.exit("run.py: no such case")
    failed = 0
    for case in folders:
        name = case.relative_to(HERE)
        missing = set(read(case / "requires").split()) - program.features
        if missing:
            print(f"skipped  {name}: built without {' '.join(sorted(missing))}")
            continue
        actual = program.run(case)
        lines = differences(case, actual)
        if not lines:
            continue
        if options.accept:
            accept(case, actual)
            print(f"accepted {name}")
            continue
        failed += 1
        print(f"FAILED   {name}\n" + "\n".join("    " + line for line in lines))
    print(f"{len(folders)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
