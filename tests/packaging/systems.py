"""Other systems, which debootstrap makes, and what an installed lull has to do there: programs of the MPI of each system are
built there, recorded and analysed (use.sh), by a user without rights and without network. What the programs have done is known
(ring.c, omp.c)."""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

SOURCES = pathlib.Path(__file__).resolve().parents[2]
BUILD = SOURCES / "build"
HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534
FAMILIES = ("openmpi", "mpich")
APART = {"noble": {"mpich"}}  # mpiexec of MPICH 4.2.0 in Ubuntu 24.04 starts programs of one process, with and without lull
RANKS, MESSAGES, BYTES, REDUCTIONS, BARRIERS = 3, 40, 1000, 25, 3
PACKAGES = "gcc libc6-dev openmpi-bin libopenmpi-dev mpich libmpich-dev"


def run(*words, **more):
    ended = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if ended.returncode != 0:
        sys.exit(f"packaging: {' '.join(map(str, words))}: status {ended.returncode}\n{ended.stdout[-6000:]}")
    return ended.stdout


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"packaging: {what}: {found}, expected {wanted}")


def root(name, *words, options=(), **more):
    return run(SOURCES / "scripts/debian-root", *options, name, *words, **more)


def missing():
    """Why there are no other systems here; an empty text: there are."""
    told = subprocess.run([SOURCES / "scripts/debian-root", "--missing"], stdout=subprocess.PIPE, text=True)
    return told.stdout.strip() if told.returncode != 0 else ""


def prepared(system, **more):
    """The name of the system with compilers and MPI libraries, and its folder. No other test has the system until
    this one asks for another, or ends: two that install packages at the same time fail."""
    global lock_of_system
    name = f"{system}-bare"
    place = BUILD / f"debian-{name}"
    BUILD.mkdir(exist_ok=True)
    lock_of_system = open(BUILD / f"debian-{name}.lock", "w", encoding="utf-8")
    fcntl.flock(lock_of_system, fcntl.LOCK_EX)
    root(name, "true", **more)
    if not (place / "usr/bin/mpicc.mpich").exists():
        install(name, PACKAGES)
    return name, place


def install(name, packages):
    root(name, "sh", "-c", f"apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y install "
                           f"--no-install-recommends {packages} && apt-get clean")


def rows_of(document, table):
    tables = [found for name, found in document["tables"].items() if name.split(":")[0] == table]
    return tables[0]["rows"], [column["id"] for column in tables[0]["columns"]]


def values_of(document, table, column):
    rows, columns = rows_of(document, table)
    return {row["id"]: row["values"][columns.index(column)] for row in rows}


def check_family(folder, what):
    """What lull has found in the programs of one MPI is what these have done."""

    def told(name):
        return json.loads((folder / name).read_text(encoding="utf-8"))

    messages = RANKS * MESSAGES
    program = f"sent {messages} {messages * BYTES}\nallreduce {RANKS * REDUCTIONS}\nbarrier {RANKS * BARRIERS}\n"
    for name in ("said", "said_inside"):
        expect(f"{what}: {name}", (folder / name).read_text(), program)
    for name in ("outside.json", "inside.json", "packed.json", "otf2.json"):
        count, size = (values_of(told(name), "communication", column) for column in ("count", "bytes"))
        expect(f"{what}: {name}", [(count[key], size[key]) for key in ("sent", "received")], [(messages, messages * BYTES)] * 2)
        expect(f"{what}: {name}", (count["allreduce"], count["barrier"]), (RANKS * REDUCTIONS, RANKS * BARRIERS))
    sites = rows_of(told("callsites.json"), "call_sites")
    lines = (HERE / "ring.c").read_text().split("\n")
    line = next(number for number, text in enumerate(lines, 1) if "MPI_Send(" in text)
    found = [row["values"][sites[1].index("site")] for row in sites[0] if row["label"] == "MPI_Send"]
    if len(found) != 1 or not found[0].startswith(f"pass_on (ring.c:{line})"):
        sys.exit(f"packaging: {what}: MPI_Send is called from {found}")
    visits = values_of(told("functions.json"), "regions", "visits")
    expect(f"{what}: functions", (visits.get("pass_on"), visits.get("main")), (messages, None))
    expect(f"{what}: two members of a team", told("team.json"), told("metrics.json"))
    if "Parallel efficiency" not in (folder / "report").read_text(encoding="utf-8"):
        sys.exit(f"packaging: {what}: the report lacks its efficiencies")


def use(name, place, folder, options=()):
    """Uses the lull in a folder of the system. Returns the first and the last line of its --version."""
    test, work = place / "test", place / "home/user"
    for path in (test, work):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    for file in ("use.sh", "ring.c", "omp.c"):
        shutil.copy(HERE / file, test)
    shutil.copy(SOURCES / "data/sandybridge-e5-2680.json", test / "machine.json")
    os.chown(work, NOBODY, NOBODY)
    root(name, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c",
         f'cd /home/user && exec sh /test/use.sh "{folder}"', options=("--offline", *options))
    features = values_of(json.loads((work / "info.json").read_text()), "features", "built")
    expect(f"{name}: features", [feature for feature, built in features.items() if built != "yes"], ["LIBCLANG"])
    apart = {family for family in FAMILIES if not (work / family / "said").exists()}
    expect(f"{name}: mpiexec starts programs apart", apart, APART.get(name.split("-")[0], set()))
    for family in FAMILIES:
        print(f"{name}: {family}: {' '.join((work / family / 'mpi').read_text().split())[:60]}"
              f"{': left out, it starts programs apart' if family in apart else ''}")
        if family not in apart:
            check_family(work / family, f"{name}: {family}")
    regions = values_of(json.loads((work / "omp.json").read_text()), "regions", "visits")
    parallel = [visits for region, visits in regions.items() if region.startswith("!$omp parallel")]
    expect(f"{name}: parallel regions", parallel, [20])
    told = (work / "version").read_text().splitlines()
    return told[0], told[-1]
