"""Tables of columns: how fast a run becomes tables, beside reading it and beside writing its events in another format. The runs
are a synthetic one and EPOCH with eight ranks, where the traces of others are at hand. Pipit reads the same OTF2 archive where PIPIT names
the folders, separated by colons, that Python finds it and the module otf2 in (no package of Debian has them)."""
import os
import subprocess

import pack

PIPIT = os.environ.get("PIPIT")
READ = """
import sys
from pipit.readers.otf2_reader import OTF2Reader
OTF2Reader(sys.argv[1], num_processes=1).read()
"""


def beside_pipit(bench):
    run, archive, out = (bench.path(name) for name in ("columns-pipit", "columns-pipit-otf2", "columns-out"))
    subprocess.run(bench.lull("simulate", "--pattern", "chain:ranks=4,exec=100us,iterations=4000", "--no-path", "-o", run), check=True,
                   capture_output=True)
    subprocess.run(bench.lull("convert", run, archive, "--to", "otf2"), check=True, capture_output=True)
    bench.ratio("columns OTF2: tables against Pipit's reading",
                ["sh", "-c", 'rm -rf "$1" && LULL_THREADS=1 exec "$2" convert "$3" "$1" --to arrow', "sh", out,
                 bench.lull()[0], os.path.join(archive, "traces.otf2")],
                ["env", "PYTHONPATH=" + PIPIT, "/usr/bin/python3", "-c", READ, archive], ">= 50 x")


def rows(bench):
    if not bench.wanted("columns"):
        return
    for name in pack.make_runs(bench):
        run, out = bench.path("pack-" + name), bench.path("columns-out")

        def convert(form):
            return ["sh", "-c", 'rm -rf "$1" && LULL_THREADS=1 exec "$2" convert "$3" "$1" --to "$4"', "sh", out,
                    os.path.join(bench.build, "lull"), run, form]

        read = ["sh", "-c", 'LULL_THREADS=1 exec "$1" info "$2"', "sh", os.path.join(bench.build, "lull"), run]
        bench.ratio("columns %s: tables against reading the run (info)" % name, convert("arrow"), read, ">= 0.5 x")
        bench.ratio("columns %s: tables against Chrome's JSON" % name, convert("arrow"), convert("chrome"), ">= 1 x")
    if PIPIT:
        beside_pipit(bench)
