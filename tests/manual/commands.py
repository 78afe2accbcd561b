#!/usr/bin/env python3
"""Runs the commands that a page of the manual shows, and compares what they print with what the page shows.

usage: commands.py LULL MPICC MPIRUN [--tutorial] PAGE...

A block with lines that begin with `$` shows commands, and below each what it prints. Numbers are masked, with their units, and
blanks count as one: times differ, words do not. `...` on a line of its own stands for any lines of standard output. Without it
standard output has no other lines than the page; a line of the page may come from standard error instead, and the order is left open.
A command below which nothing stands may print anything.

A block that begins with a command shows commands alone, which must succeed; so must a block in the language sh, as a whole, and those
in Python, which continue each other. Commands that another test runs are counted (ELSEWHERE).

The commands of a page run in one folder, where the examples of lull are, one after the other. What a reader has before, runs and
programs, is made by before/PAGE.sh. `lull bench`, which measures the machine for minutes, gives a kept machine file instead. A page
that needs a compiler, mpi4py or a trace that is not there is skipped (77). A block of YAML is the file that its page names above it.

--tutorial: pages whose blocks are commands alone, which a reader pastes into one shell. All must succeed. Of a block that shows
output the first column of each line must be in the output of the commands above it."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^`(examples/[^`]*)`:\n\n```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|%|x)\b|%)?")
SECONDS = 600  # for what hangs
HOME = "/home/you"  # what pages show in the place of the folder
TRACES = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or ROOT.parent / "shared/traces")
CUDA = "casita-cuda-simple"
PYTHON = "/usr/bin/python3"  # which has mpi4py, if any has
# The first line of a block of commands.
COMMAND = re.compile(r"(?:\w+=\S* )*(?:lull [a-z]+(?: |$)|(?:mpirun|mpiexec|mpicc|mpicxx|gcc|make|tar|export|mkdir|scorep|srun) |make$|examples/)")
ELSEWHERE = {r"make|export|tar|sudo": "install, packaging", r"pip": "python.tutorial", r"scorep|SCOREP_": "none: it is another tool", r"srun": "examples.jobs",
             r"lull record \./app && lull info": "record.opencl",
             r"(KEEP=yes )?PROGRAM=heat |git ": "examples.performance"}
LACKS = re.compile("llvm-mca|libclang|pyarrow|No module named 'polars'|jq: .*not found")  # what a command may need and is not there
VERDICTS = {0, 3, 4}  # of `lull check`
DIES = {"mpirun -n 2 lull record ./crash"}
# What `lull bench` would find: the caches and the memory of one machine, and the network of another.
CACHES, NETWORK = "data/haswell-e5-2695v3-cod.json", "tests/data/machine/measured.json"
# lull as pages start it.
START = r"""#!/bin/sh
if [ "$1" != bench ]; then exec "{lull}" "$@"; fi
case "$*" in *--show*|*--compare*|*--list*) exec "{lull}" "$@" ;; esac
while [ $# -gt 1 ]; do
    [ "$1" != -o ] || cp "{machine}" "$2"
    shift
done
"""
# For the files in before/.
BEFORE = r"""set -eu
program() {{ # ARGUMENT...: ./app is examples/heat.c with these
    mpicc -O1 -g -w -fopenmp examples/heat.c -o heat -lm
    printf '#!/bin/sh\nexec ./heat %s\n' "$*" >app
    chmod +x app
}}
SOURCES="{sources}" DATA="$SOURCES/tests/data"
. "{script}"
"""


def masked(line):
    """A word may tell the sign of a number."""
    line = re.sub(r"\b(less|more) time than measured", "# time than measured", NUMBER.sub("#", line))
    return re.sub("─+", "─", " ".join(line.split()))


def joined(lines):
    """Lines that end with a backslash go on in the next one."""
    whole = ""
    for line in lines:
        whole += line
        if whole.endswith("\\"):
            whole = whole[:-1]
        else:
            yield whole
            whole = ""


def command_of(line):
    return line.split("  #")[0].rstrip()


def shown(page):
    """(command, lines that are shown below it) of a page; of commands whose output is not shown no lines."""
    python = ""
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "sh":
            yield block, []
        if language == "python":
            python += block
            yield f"python3 - <<'END'\n{python}END", []
        if language:
            continue
        lines = list(joined(block.splitlines()))
        if COMMAND.match(lines[0]):
            yield from ((command_of(line), []) for line in lines if line)
            continue
        found = None
        for line in lines:
            if line.startswith("$ "):
                if found:
                    yield found
                found = (command_of(line[2:]), [])
            elif found:
                found[1].append(line)
        if found:
            yield found


def run_elsewhere(command):
    """The test that runs it; None: this one."""
    return next((test for begin, test in ELSEWHERE.items() if re.match(begin, command)), None)


def pattern_of(lines):
    """A regular expression for a text whose lines are masked."""
    parts = [r"(?:.*\n)*?" if line.strip() == "..." else re.escape(masked(line)) + r"\n" for line in lines]
    return re.compile("".join(parts) + r"\Z")


def differs(command, lines, done, folder):
    """What is wrong with what a command printed; None: nothing."""
    out, said = ([masked(line.replace(folder, HOME)) for line in text.splitlines()] for text in (done.stdout, done.stderr))
    if done.returncode not in (VERDICTS if command.startswith("lull check ") else {0}) and command not in DIES:
        return f"status {done.returncode}"
    if not lines:
        return None
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
    for name in ("mpicc", "mpicxx", "mpif90", "mpirun", "mpiexec", "python3"):
        path = {"mpirun": mpirun, "mpiexec": mpirun, "python3": PYTHON}.get(name) or shutil.which(mpicc.replace("mpicc", name))
        if path:
            (tools / name).write_text(f'#!/bin/sh\nexec "{path}" "$@"\n', encoding="utf-8")
    machine = folder / ".machine.json"
    (tools / "lull").write_text(START.format(lull=lull, machine=machine), encoding="utf-8")
    for path in tools.iterdir():
        path.chmod(0o755)
    measured, network = (json.loads((ROOT / name).read_text(encoding="utf-8")) for name in (CACHES, NETWORK))
    machine.write_text(json.dumps({**measured, "network": network["network"]}), encoding="utf-8")
    return {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{tools}:{os.environ.get('PATH', '')}",
            "HOME": str(folder), "LC_ALL": "C.UTF-8", "TMPDIR": str(folder),
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
    under_mpi = any("mpirun" in command and " python3 " in command for command, _ in shown(page))
    if under_mpi and subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode:
        return f"{PYTHON} has no mpi4py"
    if "```python" in text and subprocess.run([PYTHON, "-c", "import pandas"], capture_output=True).returncode:
        return f"{PYTHON} has no pandas"
    if "cuda/" in text and not (TRACES / CUDA).is_dir():
        return f"there is no trace {CUDA} (LULL_CONFORMANCE_DIR)"
    return None


def check(page, lull, mpicc, mpirun):
    missing = lacks(page, mpicc)
    if missing:
        print(f"skipped: {page.name}: {missing}")
        sys.exit(77)
    wrong = ran = left = 0
    for name, text in FILE.findall(page.read_text(encoding="utf-8")):
        if (ROOT / name).read_text(encoding="utf-8") != text:
            print(f"{page}: {name} has another text")
            wrong += 1
    with tempfile.TemporaryDirectory() as name:
        # As deep as the folders of golden tests are, from which kept runs name their programs.
        (pathlib.Path(name) / "data").symlink_to(ROOT / "tests/data")
        folder = pathlib.Path(name) / "manual/pages" / page.stem
        folder.mkdir(parents=True)
        for target in ("examples", "include", "data"):
            (folder / target).symlink_to(ROOT / target)
        (folder / "cuda").symlink_to(TRACES / CUDA)
        (folder / "two-ranks").symlink_to(ROOT / "tests/data/kineto/two-ranks")
        variables = environment(lull, mpicc, mpirun, folder)

        def run(words):
            return subprocess.run(["bash", "-c", words], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                                  capture_output=True, encoding="utf-8", errors="replace", timeout=SECONDS, check=False)

        before = HERE / "before" / f"{page.stem}.sh"
        if before.exists():
            made = run(BEFORE.format(script=before, sources=ROOT))
            if made.returncode:
                sys.exit(f"{before}: status {made.returncode}\n{made.stdout}\n{made.stderr}")
        for command, lines in shown(page):
            if run_elsewhere(command):
                left += 1
                continue
            ran += 1
            done = run(command)
            if done.returncode and LACKS.search(done.stderr):
                print(f"skipped: {page.name}: {command.splitlines()[0]}: {done.stderr.strip().splitlines()[-1]}")
                continue
            problem = differs(command, lines, done, str(folder))
            if problem:
                wrong += 1
                print(f"{page}: $ {command}\n{problem}; the page shows\n" + "\n".join(lines) +
                      f"\n---- but this was printed\n{done.stdout}---- and as error\n{done.stderr}")
    print(f"{page.name}: {ran} commands, {wrong} differ; {left} are run by other tests")
    return wrong == 0 and ran > 0


DEPENDS = {"best"}  # lines that are there for the numbers of some machines only
PASTED = re.compile(r"(?:[A-Z]=|(?:lull|mpicc|mpicxx|mpiexec|gcc|cat|cp|for) )")


def first_column(line):
    return re.split(r"  +", line.strip(" ├└─│"))[0]


def check_tutorial(page, lull, mpicc, mpirun):
    script, expected, wrong = ["set -e"], [], 0
    for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if language:
            continue
        if PASTED.match(block):
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
        done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", errors="replace", timeout=3 * SECONDS, check=False)
    if done.returncode and LACKS.search(done.stderr):
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
