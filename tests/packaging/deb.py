#!/usr/bin/env python3
"""Packages of Debian (`make deb`) on the systems that they are for: built there, twice to the same bytes, without complaints of lintian,
installed by apt over an older version, used as the bundle is (systems.py), and removed without a trace.

usage: deb.py SOURCES SYSTEM...; skipped (77) without root or debootstrap."""

import pathlib
import shutil
import sys

import systems
from systems import BUILD, NOBODY, SOURCES, expect, prepared, root, run

PACKAGES = ("lull", "liblull-record", "lull-doc", "python3-lull")
# Whatever differs between those who build it must not show.
PLACES = {"/src/lull": "umask 022; export JOBS=2 TZ=UTC LC_ALL=C.UTF-8",
          "/src/another/lull": "umask 002; export JOBS=1 TZ=Pacific/Auckland LC_ALL=C"}
# What is written by others whatever is installed.
CHANGING = "/proc /sys /dev /run /tmp /var/log /var/cache /var/lib/apt /var/lib/dpkg /home /test /debs /older".split()
LOOK = """
import json, lull, sys
run = lull.open(sys.argv[1])
table = run.metrics()
print(json.dumps([lull.__file__, dict(zip(table["id"], table["value"]))["parallel_efficiency"]]))
"""


def built(system):
    """The folder with the packages."""
    name = f"{system}-deb"
    root(name, "true", options=("--include", "ca-certificates,make"))
    place = BUILD / f"debian-{name}"
    for folder, setting in PLACES.items():
        run(SOURCES / "scripts/tree", f"{place}{folder}")
        root(name, "sh", "-c", f"cd {folder} && {setting} && make deb")
    first, second = (pathlib.Path(f"{place}{folder}/build") for folder in PLACES)
    names = sorted(path.name for path in first.glob("*.*") if path.suffix in (".deb", ".dsc", ".gz", ".xz"))
    for wanted in PACKAGES:
        if len([name for name in names if name.startswith(f"{wanted}_")]) < 1:
            sys.exit(f"deb: {system}: there is no package {wanted}: {names}")
    different = [name for name in names if (first / name).read_bytes() != (second / name).read_bytes()]
    expect(f"{system}: differ when they are built again", different, [])
    told = root(name, "sh", "-c", "lintian --allow-root --fail-on error,warning /src/lull/build/lull_*.changes 2>&1")
    print(f"{system}: {len(names)} files, built twice; lintian: {told.strip() or 'nothing'}")
    return first


def files_of(place):
    """All paths of the system but those that change by themselves."""
    pruned = " -o ".join(f"-path '{place}{folder}'" for folder in CHANGING)
    return set(run("sh", "-c", f"find '{place}' -xdev \\( {pruned} \\) -prune -o -print").splitlines())


def packages_of(name):
    return set(root(name, "dpkg-query", "-W", "-f", "${Package}\n").split())


def make_older(deb, folder):
    """The package as an older version has it, with a file that the new one lacks."""
    package = deb.name.split("_")[0]
    unpacked = folder / package
    run("dpkg-deb", "--raw-extract", deb, unpacked)
    control = unpacked / "DEBIAN/control"
    version = run("dpkg-deb", "--field", deb, "Version").strip()
    control.write_text(control.read_text(encoding="utf-8").replace(version, "0.9-1"), encoding="utf-8")
    (unpacked / f"usr/share/doc/{package}/gone").write_text("of the older version\n", encoding="utf-8")
    run("dpkg-deb", "--root-owner-group", "--build", unpacked, folder / f"{package}.deb")
    shutil.rmtree(unpacked)


def use(system, folder):
    name, place = prepared(system)
    files, packages = files_of(place), packages_of(name)
    for there in (place / "debs", place / "older"):
        shutil.rmtree(there, ignore_errors=True)
        there.mkdir()
    for package in PACKAGES:
        path, = folder.glob(f"{package}_*.deb")
        shutil.copy(path, place / "debs")
        make_older(path, place / "older")
    gone = {f"{place}/usr/share/doc/{package}/gone" for package in PACKAGES}
    systems.install(name, "/older/*.deb")
    expect(f"{system}: of the older version", gone - files_of(place), set())
    systems.install(name, "/debs/*.deb")
    expect(f"{system}: left of the older version", gone & files_of(place), set())
    first, _ = systems.use(name, place, "/usr")
    expect(f"{system}: version", first, f"lull {version_of(folder)}")
    said = root(name, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "python3", "-W", "ignore", "-c", LOOK,
                "/home/user/openmpi/inside.lull", options=("--offline",))
    expect(f"{system}: Python", said.startswith('["/usr/lib/python3/dist-packages/lull/__init__.py", 0.'), True)
    new = sorted(packages_of(name) - packages)
    print(f"{system}: installed with {' '.join(new)}")
    root(name, "sh", "-c", f"DEBIAN_FRONTEND=noninteractive apt-get -qq -y purge {' '.join(new)}")
    expect(f"{system}: left behind", sorted(files_of(place) - files), [])
    expect(f"{system}: gone", sorted(files - files_of(place)), [])


def version_of(folder):
    """1.0.0-rc1, of lull_1.0.0~rc1-1.dsc"""
    dsc, = folder.glob("lull_*.dsc")
    return dsc.stem.split("_")[1].rsplit("-", 1)[0].replace("~", "-")


def main():
    if systems.missing():
        print(f"skipped: {systems.missing()}")
        return 77
    for system in sys.argv[2:]:
        use(system, built(system))
    return 0


sys.exit(main())
