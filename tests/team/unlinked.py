#!/usr/bin/env python3
"""A library of the team that is not linked with MPI, as in a bundle, works with the MPI that is there.

usage: unlinked.py LULL FAMILY CC SOURCES RUN; skipped (77) where the launcher does not work."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LULL, FAMILY, CC, SOURCES, RUN = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]), sys.argv[5]

sys.path.insert(0, str(SOURCES / "tests/support"))
import launch  # noqa: E402


def output_of(*words):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=launch.environment())


def main():
    mpiexec = [f"mpiexec.{FAMILY}", "-n", "2"]
    if output_of(*mpiexec, "true").returncode != 0:
        print(f"skipped: mpiexec.{FAMILY} does not work here")
        return 77
    folders = re.findall(r"-I\S+", output_of(f"mpicc.{FAMILY}", "-show").stdout)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(LULL, folder / "lull")
        library = folder / f"liblull-team-{FAMILY}.so"
        subprocess.run([CC, "-std=c17", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{SOURCES}/src",
                        *folders, SOURCES / "src/team/mpi/library.c", "-o", library], check=True)
        alone = output_of(folder / "lull", "metrics", RUN)
        together = output_of(*mpiexec, folder / "lull", "metrics", RUN)
        if (alone.returncode, together.returncode) != (0, 0) or alone.stdout != together.stdout or not alone.stdout:
            print(f"alone: {alone}\ntogether: {together}")
            return 1
        # One that cannot be opened at all is told once by each member, with its own reason.
        library.write_bytes(b"no library")
        together = output_of(*mpiexec, folder / "lull", "metrics", RUN)
        if together.returncode == 0 or f"{library}: cannot load: {library}: file too short" not in together.stderr:
            print(f"without a library: {together}")
            return 1
    return 0


sys.exit(main())
