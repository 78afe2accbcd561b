#!/usr/bin/env python3
"""The bundle (`make bundle`) where others use it: unpacked on other systems, in a folder that cannot be written, beside another
lull (systems.py). And whether the same sources give the same bytes.

usage: bundle.py SOURCES; skipped (77) without root or debootstrap.

Ubuntu is tried where LULL_UBUNTU_MIRROR names a mirror and LULL_UBUNTU_KEYRING the keys of its
packages (of Ubuntu's package ubuntu-keyring; look at their fingerprints)."""

import os
import re
import shutil
import sys

import systems
from systems import BUILD, SOURCES, expect, prepared, run

MOST_BYTES = 64 << 20
SYSTEMS = ("bullseye", "bookworm", "trixie")
UBUNTU = ("jammy", "noble")
# Of the C library, the program, the recorders, and what else lies beside them.
LIBC = re.compile(r"(ld-linux.*|ld64\.so\..*|lib(c|m|dl|rt|pthread)\.so\..*)")
BESIDE_PROGRAMS = re.compile(r"lib(mpi|mpich|gomp|omp)\.so\..*")


def objects_of(folder):
    """All ELF files, with the libraries that they need and the newest version of the C library."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            told = run("objdump", "-p", "-T", path)
            versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", told)]
            yield path, re.findall(r"NEEDED +(\S+)", told), max(versions, default=(0,)), re.findall(r"R(?:UN)?PATH +(\S+)", told)


def check_objects(folder):
    """What is loaded into programs needs the C library alone, all the rest finds what it needs in the bundle."""
    names = set()
    for path, needed, version, paths in objects_of(folder):
        names.add(path.name)
        place = path.relative_to(folder)
        if version > (2, 31):
            sys.exit(f"bundle: {place}: needs GLIBC_{'.'.join(map(str, version))}")
        foreign = [name for name in needed if not LIBC.fullmatch(name)]
        if str(place) == "bin/lull" or path.name.startswith(("liblull-record", "liblull-team")):
            expect(f"{place} needs", foreign, [])
            expect(f"{place}: path", paths, [])
            if str(place) == "bin/lull" and version > (2, 17):
                sys.exit(f"bundle: {place}: needs GLIBC_{'.'.join(map(str, version))}")
        elif str(place) in ("lib/lull/lull", "lib/lull/liblull-filter.so") or place.parent.name == "lib":
            for name in foreign:
                if not (folder / "lib" / name).is_file():
                    sys.exit(f"bundle: {place}: needs {name}, which is not there")
        else:
            expect(f"{place} needs", [name for name in foreign if not BESIDE_PROGRAMS.fullmatch(name)], [])
    for wanted in ("liblull-record.so", "liblull-record-openmpi.so", "liblull-record-mpich.so", "liblull-filter.so",
                   "liblull-record-opencl.so", "liblull-record-nccl.so", "liblull-record-cuda.so", "liblull-record-rocm.so",
                   "liblull-team-openmpi.so", "liblull-team-mpich.so"):
        if wanted not in names:
            sys.exit(f"bundle: {wanted} is missing")
    for library in (folder / "lib").glob("*.so*"):
        if "-lull.so" not in library.name:
            sys.exit(f"bundle: {library.name}: another library may have that name")
        if not (folder / "share/doc/lull/libraries" / f"{library.name}.txt").is_file():
            sys.exit(f"bundle: {library.name}: its licence is missing")


def use(system, bundle, **more):
    """Unpacks the bundle on the system, and uses it there."""
    name, place = prepared(system, **more)
    folder = unpack(bundle, BUILD / "unpacked bundle")
    first, last = systems.use(name, place, "/opt/a folder", ("--share", f"{folder}:/opt/a folder"))
    version = re.fullmatch(r"lull-(.*)-linux-[^-]*", folder.name).group(1)
    expect(f"{system}: version", first, f"lull {version}")
    expect(f"{system}: C library", last.split(" for ")[-1], "glibc 2.31")


def unpack(archive, folder):
    """The only folder in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run("tar", "-x", "-C", folder, "-f", archive)
    unpacked, = folder.iterdir()
    return unpacked


def made(jobs):
    """The archives and their bytes, of a build in which nothing is left of an earlier one."""
    for old in BUILD.glob("lull-*-linux-*.tar.*"):
        old.unlink()
    shutil.rmtree(BUILD / "debian-bullseye-bundle/src", ignore_errors=True)
    run(SOURCES / "scripts/bundle", env={**os.environ, "JOBS": jobs})
    return {path: path.read_bytes() for path in BUILD.glob("lull-*-linux-*.tar.*")}


def main():
    if systems.missing():
        print(f"skipped: {systems.missing()}")
        return 77
    first = made("2")
    bundles = made("1")
    expect("differ when they are made again", [path.name for path in bundles if first.get(path) != bundles[path]], [])
    bundles = sorted(bundles)
    expect("files", [path.name.split(".tar.")[1] for path in bundles], ["gz", "zst"])
    for path in bundles:
        print(f"{path.name}: {path.stat().st_size} bytes")
        if path.stat().st_size > MOST_BYTES:
            sys.exit(f"bundle: {path.name} is larger than 64 MiB")
    folders = [unpack(path, BUILD / f"unpacked-{path.suffix[1:]}") for path in bundles]
    run("diff", "-r", "--no-dereference", *folders)
    check_objects(folders[0])
    for system in SYSTEMS:
        use(system, bundles[1])
    mirror, keyring = os.environ.get("LULL_UBUNTU_MIRROR"), os.environ.get("LULL_UBUNTU_KEYRING")
    for system in UBUNTU if mirror and keyring else ():
        use(system, bundles[1], env={**os.environ, "DEBIAN_MIRROR": mirror, "DEBIAN_KEYRING": keyring,
                                     "DEBIAN_COMPONENTS": "main,universe"})
    if not mirror or not keyring:
        print("left out: Ubuntu (LULL_UBUNTU_MIRROR and LULL_UBUNTU_KEYRING are not set)")
    return 0


sys.exit(main())
