"""How long lull takes to name and add up 10,000,000 samples (`lull metrics --by line`). Recording so many takes 1,000 s of
processor time, so a run of lull itself is recorded with 10,000 samples a second, and each of its samples becomes many,
with the same place and their share of its weight, in a copy of the run."""
import os
import re
import shutil
import struct
import subprocess

from record_mpi import ENVIRONMENT

SAMPLES = 10000000
PAGE, SAMPLES_PART = 4096, 7 # docs/formats/tape.md, "A file of a process" and "Samples"
FIRST_ENTRY, TABLES_AT, TABLES, FIRST_TABLE = 200, 40, 20, 243


def entries(tape):
    """Where each entry of the file's tables stands."""
    for i in range(FIRST_TABLE):
        yield FIRST_ENTRY + 16 * i
    for k in range(TABLES):
        table, = struct.unpack_from("<Q", tape, TABLES_AT + 8 * k)
        for i in range(256 << k if table else 0):
            yield table + 16 * i


def repeat_samples(path, times):
    """Puts `times` samples in the place of each into the file of a process. Returns how many there are then."""
    tape = bytearray(open(path, "rb").read())
    of_location = {} # its samples, from all of their extents
    for at in entries(tape):
        page, pages, location, part = struct.unpack_from("<IIII", tape, at)
        if part != SAMPLES_PART:
            continue
        first, area = of_location.setdefault(location, (at, bytearray()))
        area += tape[page * PAGE:(page + pages) * PAGE]
        if at != first:
            struct.pack_into("<IIII", tape, at, 0, 0, 0, 0)
    count = 0
    for location, (at, area) in of_location.items():
        header_size, size = struct.unpack_from("<II", area, 16)
        recorded, = struct.unpack_from("<Q", area, 64)
        if area[:8] != b"LULLSAMP" or size != 24 or recorded >> 32:
            raise SystemExit("%s: samples of another size, or being thinned" % path)
        n = recorded * times
        struct.pack_into("<QQQ", area, 56, n, n, n)
        new = bytearray(area[:header_size])
        for i in range(recorded):
            time, place, weight = struct.unpack_from("<QQQ", area, header_size + size * i)
            new += struct.pack("<QQQ", time, place, max(1, weight // times)) * times
        new += bytes(-len(new) % PAGE)
        tape += bytes(-len(tape) % PAGE)
        struct.pack_into("<IIII", tape, at, len(tape) // PAGE, len(new) // PAGE, location, SAMPLES_PART)
        tape += new
        count += n
    struct.pack_into("<Q", tape, 24, len(tape))
    with open(path, "wb") as out:
        out.write(tape)
    return count


def rows(bench):
    if not bench.wanted("samples: "):
        return
    run = bench.path("samples.lull")
    shutil.rmtree(run, ignore_errors=True)
    subprocess.run(bench.lull("record", "--sample", "10000:4MiB", "-o", run, *bench.lull(
        "simulate", "--pattern", "grid:ranks=24x24x24,iterations=40,exec=1ms+200us,bytes=1KiB")), env=ENVIRONMENT, check=True,
        capture_output=True)
    tape = os.path.join(run, "0", "0.tape")
    info = subprocess.run(bench.lull("info", run), check=True, capture_output=True, text=True).stdout
    recorded = int(re.search(r"^Samples +([0-9,]+)", info, re.M)[1].replace(",", ""))
    count = repeat_samples(tape, -(-SAMPLES // recorded))
    for by in "line", "function":
        command = bench.lull("metrics", "--threads", "2", "--by", by, run)
        taken = [a for a, _ in bench.pairs(command, None)]
        bench.add("samples: --by %s of %.1f million" % (by, count / 1e6), "%.2f s (%.2f .. %.2f)" % tuple(
            f([a.wall for a in taken]) for f in (lambda x: sorted(x)[len(x) // 2], min, max)), "<= 2 s",
            "two threads; processor time %.2f s, peak %.0f MiB"
            % (sorted(a.cpu for a in taken)[len(taken) // 2], max(a.peak_mib for a in taken)))
