#!/usr/bin/env python3
"""Runs each command that a page of the manual shows behind a `$`, and compares what it prints with what the page shows.

usage: commands.py LULL MPICC MPIRUN [--tutorial] PAGE...

Numbers are masked, with their units, and blanks count as one: times differ, words do not. `...` on a line of its own stands for
any lines of standard output. Without it standard output has no other lines than the page; a line of the page may come from standard
error instead, and the order is left open. The commands of a page run in one folder, where the examples of lull are, one after the other.
A page that needs a compiler, mpi4py or a trace that is not there is skipped (77). A block of YAML is the file that its page names above it.

--tutorial: pages whose blocks are commands alone, which a reader pastes into one shell. All must succeed; `lull bench`, which
measures the machine for minutes, gives a kept machine file instead. Of a block that shows output the first column of each line must
be in the output of the commands above it."""

import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^`(examples/[^`]*)`:\n\n```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|%|x)\b|%)?")
MOMENT = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SECONDS = 600  # for what hangs
HOME = "/home/you"  # what pages show in the place of the folder
TRACES = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or ROOT.parent / "shared/traces")
CUDA = "casita-cuda-simple"
PYTHON = "/usr/bin/python3"  # which has mpi4py, if any has


def masked(line):
    return " ".join(NUMBER.sub("#", MOMENT.sub("#", line)).split())


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
    """lull, the compilers and launcher of one MPI, and Python come first by their plain names."""
    tools = folder / ".bin"
    tools.mkdir()
    compilers = {name: shutil.which(mpicc.replace("mpicc", name)) for name in ("mpicc", "mpicxx", "mpif90")}
    for name, path in {"lull": lull, "mpirun": mpirun, "python3": PYTHON, **compilers}.items():
        if not path:
            continue
        (tools / name).write_text(f'#!/bin/sh\nexec "{path}" "$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    return {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{tools}:{os.environ.get('PATH', '')}", "HOME": str(folder), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder),
            "NO_COLOR": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive",
            "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none"}


def lacks(page, mpicc):
    """What the commands of a page need and is not there; None: nothing."""
    text = page.read_text(encoding="utf-8")
    for name in ("mpicxx", "mpif90"):
        if f"$ {name} " in text and not shutil.which(mpicc.replace("mpicc", name)):
            return f"{name} was not found"
    if "$ mpirun" in text and " python3 " in text and subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        return f"{PYTHON} has no mpi4py"
    if "cuda/" in text and not (TRACES / CUDA).is_dir():
        return f"there is no trace {CUDA} (LULL_CONFORMANCE_DIR)"
    return None


def check(page, lull, mpicc, mpirun):
    missing = lacks(page, mpicc)
    if missing:
        print(f"skipped: {page.name}: {missing}")
        sys.exit(77)
    wrong = ran = 0
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        if (ROOT / name).read_text(encoding="utf-8") != text:
            print(f"{page}: {name} has another text")
            wrong += 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for target in ("examples", "include"):
            (folder / target).symlink_to(ROOT / target)
        (folder / "cuda").symlink_to(TRACES / CUDA)
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


TUTORIAL = r"""
set -e
lull() { if [ "$1" = bench ]; then cp "$MACHINE" machine.json; else command lull "$@"; fi; }
"""
# Of pages that measure the machine: one with a network, and one with caches.
MACHINES = {"tutorial-model.md": "tests/data/machine/measured.json",
            "tutorial-node.md": "data/haswell-e5-2695v3-cod.json"}
DEPENDS = {"best"}  # lines that are there for the numbers of some machines only
COMMANDS = re.compile(r"(?:[A-Z]=|(?:lull|mpicc|mpicxx|mpiexec|gcc|cat|cp|for) )")


def first_column(line):
    return re.split(r"  +", line.strip(" ├└─│"))[0]


def check_tutorial(page, lull, mpicc, mpirun):
    script, expected, wrong = [TUTORIAL], [], 0
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        if COMMANDS.match(block):
            script.append(f"echo '@@ {len(expected)}'\n{block}")
            expected.append([])
        else:
            expected[-1] += [first_column(line) for line in block.splitlines()]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for target in ("examples", "data", "include"):
            (folder / target).symlink_to(ROOT / target)
        (folder / "lull").symlink_to(folder)  # ~/lull of the page: sources without a build
        variables = environment(lull, mpicc, mpirun, folder)
        (folder / ".bin/mpiexec").symlink_to(folder / ".bin/mpirun")
        variables["MACHINE"] = str(ROOT / MACHINES.get(page.name, ""))
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", errors="replace", timeout=3 * SECONDS, check=False)
    if done.returncode and ("llvm-mca" in done.stderr or "libclang" in done.stderr):
        print(f"skipped: {done.stderr.strip().splitlines()[-1]}")
        sys.exit(77)
    printed = re.split(r"^@@ \d+\n", done.stdout, flags=re.MULTILINE)[1:]
    if done.returncode or len(printed) != len(expected):
        print(f"{page}: status {done.returncode} in block {len(printed)} of {len(expected)}\n{done.stdout}\n{done.stderr}")
        return False
    for lines, text in zip(expected, printed):
        columns = {masked(first_column(line)) for line in text.splitlines()}
        for line in lines:
            if masked(line) not in columns and line not in DEPENDS:
                wrong += 1
                print(f"{page}: nothing printed begins with '{line}':\n{text}")
    print(f"{page.name}: {len(expected)} blocks of commands, {wrong} lines differ")
    return wrong == 0


def main():
    lull, mpicc, mpirun, *pages = sys.argv[1:]
    one = check_tutorial if "--tutorial" in pages else check
    pages = [pathlib.Path(page) for page in pages if page != "--tutorial"]
    return 0 if all([one(page, lull, mpicc, mpirun) for page in pages]) else 1


if __name__ == "__main__":
    sys.exit(main())
