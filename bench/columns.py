"""Tables of columns: how fast a run becomes tables, beside reading it and beside writing its events in another format. The runs
are a synthetic one and EPOCH with eight ranks, where the traces of others are at hand."""
import os

import pack


def rows(bench):
    if not bench.wanted("columns"):
        return
    for name in pack.make_runs(bench):
        run, out = bench.path("pack-" + name), bench.path("columns-out")

        def convert(form):
            return ["sh", "-c", 'rm -rf "$1" && LULL_THREADS=1 exec "$2" convert "$3" "$1" --to "$4"', "sh", out,
                    os.path.join(bench.build, "lull"), run, form]

        read = ["sh", "-c", 'LULL_THREADS=1 exec "$1" info "$2"', "sh", os.path.join(bench.build, "lull"), run]
        bench.ratio("columns %s: tables against reading the run (info)" % name, convert("arrow"), read, ">= 0.1 x")
        bench.ratio("columns %s: tables against Chrome's JSON" % name, convert("arrow"), convert("chrome"), ">= 1 x")
