#!/usr/bin/env python3
"""The wheel and the source distribution of the Python package: built by scripts/python-package, complete, and working where
the wheel is unpacked.

usage: package.py LULL TESTS VERSION FOLDER; skipped (77) where setuptools is missing."""

import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

LULL, TESTS, VERSION, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
SOURCES = TESTS.parent / "python"
MODULES = {path.name for path in (SOURCES / "lull").iterdir() if path.suffix in (".py", ".typed")}
USE = """
import sys
sys.modules["pandas"] = None
import lull
assert lull.__file__.startswith(sys.argv[1]), lull.__file__
assert lull.__version__ == sys.argv[3], lull.__version__
run = lull.open(sys.argv[4], lull=sys.argv[2])
print(len(run.metrics()["id"]))
"""


def check(what, holds):
    if not holds:
        sys.exit(f"package: {what}")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    built = subprocess.run([sys.executable, "-B", TESTS.parent / "scripts/python-package", FOLDER], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if built.returncode == 77:
        print(f"skipped: {built.stdout}")
        return 77
    check(built.stdout, built.returncode == 0)
    wheels, sources = list(FOLDER.glob("*.whl")), list(FOLDER.glob("*.tar.gz"))
    check(f"built {wheels} {sources}", [path.name for path in wheels] == [f"lull-{VERSION}-py3-none-any.whl"]
          and [path.name for path in sources] == [f"lull-{VERSION}.tar.gz"])
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"lull-{VERSION}.dist-info/METADATA").decode()
        licences = [name for name in names if name.endswith("LICENSE")]
        check(f"the wheel has {names}", {name[5:] for name in names if name.startswith("lull/")} == MODULES)
        check("the wheel has not the licence of lull", [wheel.read(name) for name in licences] ==
              [(TESTS.parent / "LICENSE").read_bytes()])
        wheel.extractall(FOLDER / "wheel")
    check(metadata, f"\nVersion: {VERSION}\n" in metadata and "\nRequires-Python: >=3.9\n" in metadata)
    with tarfile.open(sources[0]) as archive:
        names = archive.getnames()
        wanted = {f"lull-{VERSION}/lull/{name}" for name in MODULES} | {f"lull-{VERSION}/{name}" for name in
                                                                        ("LICENSE", "README.md", "pyproject.toml")}
        check(f"the source distribution lacks {wanted - set(names)}", wanted <= set(names))
        check("the licence is a link", archive.getmember(f"lull-{VERSION}/LICENSE").isfile())
    used = subprocess.run([sys.executable, "-B", "-W", "ignore", "-c", USE, str(FOLDER / "wheel"), LULL, VERSION,
                           str(TESTS / "data/tape/exchange-2x1")], env={"PYTHONPATH": str(FOLDER / "wheel")}, text=True,
                          cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(used.stdout, used.returncode == 0 and used.stdout.strip().isdigit() and int(used.stdout) > 10)
    return 0


sys.exit(main())
