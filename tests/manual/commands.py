#!/usr/bin/env python3
"""Runs each command that a page of the manual shows behind a `$`, and compares what it prints with what the page shows.

usage: commands.py LULL MPICC MPIRUN PAGE...

Numbers are masked, with their units, and blanks count as one: times differ, words do not. `...` on a line of its own stands for
any lines of standard output. Without it standard output has no other lines than the page; a line of the page may come from standard
error instead, and the order is left open. The commands of a page run in one folder, where the examples of lull are, one after the other."""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|%|x)\b|%)?")
SECONDS = 600  # for what hangs
HOME = "/home/you"  # what pages show in the place of the folder


def masked(line):
    return " ".join(NUMBER.sub("#", line).split())


def shown(page):
    """(command, lines that are shown below it) of a page."""
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        found = None
        for line in block.splitlines():
            if line.startswith("$ "):
                if found:
                    yield found
                found = (line[2:].split("    #")[0].rstrip(), [])
            elif found:
                found[1].append(line)
        if found:
            yield found


def pattern_of(lines):
    """A regular expression for a text whose lines are masked."""
    parts = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(masked(line)) + r"\n" for line in lines]
    return re.compile("".join(parts) + r"\Z")


def differs(lines, done, folder):
    """What is wrong with what a command printed; None: nothing."""
    out, said = ([masked(line.replace(folder, HOME)) for line in text.splitlines()] for text in (done.stdout, done.stderr))
    if done.returncode != 0:
        return f"status {done.returncode}"
    if any(line.strip() == "..." for line in lines):
        return None if pattern_of(lines).match("".join(f"{line}\n" for line in out)) else "another output"
    missing = collections.Counter(masked(line) for line in lines)
    missing.subtract(out)
    if min(missing.values(), default=0) < 0:
        return "more output"
    missing.subtract(line for line in said if missing[line] > 0)  # a machine may give cause for further warnings
    return "less output" if +missing else None


def environment(lull, mpicc, mpirun, folder):
    """lull, and the compiler and launcher of one MPI, come first by their plain names."""
    tools = folder / ".bin"
    tools.mkdir()
    for name, path in (("lull", lull), ("mpicc", mpicc), ("mpirun", mpirun)):
        (tools / name).write_text(f'#!/bin/sh\nexec "{path}" "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    return {"PATH": f"{tools}:{os.environ.get('PATH', '')}", "HOME": str(folder), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder),
            "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none"}


def check(page, lull, mpicc, mpirun):
    wrong = ran = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        variables = environment(lull, mpicc, mpirun, folder)
        for command, lines in shown(page):
            ran += 1
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                  capture_output=True, encoding="utf-8", errors="replace", timeout=SECONDS, check=False)
            problem = differs(lines, done, name)
            if problem:
                wrong += 1
                print(f"{page}: $ {command}\n{problem}; the page shows\n" + "\n".join(lines) +
                      f"\n---- but this was printed\n{done.stdout}---- and as error\n{done.stderr}")
    print(f"{page.name}: {ran} commands, {wrong} differ")
    return wrong == 0 and ran > 0


def main():
    lull, mpicc, mpirun = sys.argv[1:4]
    return 0 if all([check(pathlib.Path(page), lull, mpicc, mpirun) for page in sys.argv[4:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
