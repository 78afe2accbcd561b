#!/usr/bin/env python3
"""The notebook of the manual (examples/run.ipynb) without anybody who looks at it: the wheel is installed by pip, without network, in a
virtual environment, and each cell of the notebook is run there, by a kernel of Jupyter where nbclient and ipykernel are, else as
plain Python. What cells give is what `lull` itself prints.

usage: tutorial.py LULL TESTS FOLDER; skipped (77) without setuptools, pandas or venv"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

LULL, TESTS, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
NOTEBOOK = TESTS.parent / "examples/run.ipynb"
# Each prints a list with the outputs of each cell of code: a dictionary of texts by kind.
BY_JUPYTER = """
import json, sys, tempfile
import jupyter_client, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
with tempfile.TemporaryDirectory(dir="/tmp") as folder: # paths of sockets are short
    # a port of TCP that is free now may be somebody else's when the kernel takes it
    kernel = jupyter_client.AsyncKernelManager(kernel_name="python3", transport="ipc", ip=folder + "/kernel")
    nbclient.NotebookClient(notebook, timeout=600, km=kernel).execute()
print(json.dumps([[output["data"] for output in cell.outputs if "data" in output] for cell in notebook.cells
                  if cell.cell_type == "code"]))
"""
BY_PYTHON = """
import ast, json, sys
names, told = {}, []
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] != "code":
        continue
    *body, last = ast.parse("".join(cell["source"])).body
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    shown = {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        shown["text/html"] = value._repr_html_()
    told.append([shown])
print(json.dumps(told))
"""


def check(what, holds):
    if not holds:
        sys.exit(f"tutorial: {what}")


def run(*words, **more):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    check(f"{words}: status {ended.returncode}\n{ended.stdout}\n{ended.stderr}", ended.returncode == 0)
    return ended.stdout


def has(python, *modules):
    return subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0


def installed():
    """The Python of an environment with the wheel; None: why not was said."""
    built = subprocess.run([sys.executable, "-B", TESTS.parent / "scripts/python-package", FOLDER / "wheel"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode == 77:
        print(f"skipped: {built.stdout}")
        return None
    check(built.stdout, built.returncode == 0)
    if not has(sys.executable, "venv", "ensurepip", "pandas"):
        print("skipped: venv (package python3-venv) or pandas was not found")
        return None
    run(sys.executable, "-m", "venv", "--system-site-packages", FOLDER / "environment")
    python = FOLDER / "environment/bin/python"
    wheel, = (FOLDER / "wheel").glob("*.whl")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    return python


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    python = installed()
    if not python:
        return 77
    jupyter = has(python, "nbclient", "ipykernel")
    environment = {**os.environ, "LULL_PROGRAM": LULL, "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1",
                   "JUPYTER_PATH": "", "HOME": str(FOLDER), "IPYTHONDIR": str(FOLDER / "ipython")}
    environment.pop("PYTHONPATH", None)
    told = run(python, "-c", "import lull; print(lull.__file__)", env=environment, cwd=FOLDER).strip()
    check(f"lull is {told}", told.startswith(f"{FOLDER.resolve()}/environment/"))
    if jupyter:  # the kernel is Python of this environment
        run(python, "-m", "ipykernel", "install", "--prefix", FOLDER / "environment", env=environment)
    outputs = json.loads(run(python, "-c", BY_JUPYTER if jupyter else BY_PYTHON, NOTEBOOK, env=environment, cwd=FOLDER))
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    check("the notebook is kept with outputs", not any(cell["outputs"] for cell in cells))
    check(f"cells without output: {outputs}", len(outputs) == len(cells) and all(len(shown) == 1 for shown in outputs))
    runtime, metrics, processes, findings, timeline, page = ([text for [text] in outputs])
    # What the program of the notebook is: 40 iterations of 1 ms, and one rank that is 8 ms late once.
    check(runtime, 0.048 <= float(runtime["text/plain"]) < 0.0482)
    said = run(LULL, "report", "app.lull", cwd=FOLDER)
    sentence = "A delay of 8.000 ms on rank 5 in delay went through 15 other ranks, up to 8 away: they wait 120.0 ms."
    check(findings, findings["text/plain"] == repr([sentence]))
    check("the report has another finding", sentence in " ".join(said.split()))
    found = next(line for line in run(LULL, "metrics", "app.lull", cwd=FOLDER).splitlines() if "Parallel efficiency" in line)
    value = float(found.split()[-1])
    shown = [line for line in metrics["text/plain"].splitlines() if line.startswith("parallel_efficiency")]
    check(metrics["text/plain"], len(shown) == 1 and abs(float(shown[0].split()[-1]) - value) <= 0.005)
    useful = [float(line.split()[3]) for line in processes["text/plain"].splitlines() if " rank " in line]
    check(processes["text/plain"], len(useful) == 16 and useful[5] == 0.048 and set(useful[:5] + useful[6:]) == {0.04})
    total = sum(float(line.split()[1]) for line in timeline["text/plain"].splitlines() if line.split()[0].isdigit())
    check(timeline["text/plain"], abs(total - (16 * 0.040 + 0.008)) < 1e-4)
    check("the report is not shown", "<iframe" in page["text/html"] and "Parallel efficiency" in page["text/html"])
    (FOLDER / "report.html").write_text(f"<!doctype html><meta charset=utf-8>{page['text/html']}", encoding="utf-8")
    print(f"{len(cells)} cells, run by {'a kernel of Jupyter' if jupyter else 'plain Python: nbclient or ipykernel was not found'}")
    return 0


sys.exit(main())
