#!/usr/bin/env python3
"""The section Code of a page in a browser: the picture of call paths is what `lull convert --to folded` says of the
same run, the table of functions what `lull metrics --by function` says, and source lines what `--by line` says.

usage: test_code.py LULL TESTS [MPIEXEC]          (MPIEXEC: starts several processes of lull, too)
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import browser as web  # noqa: E402  (after the path; may end the test)
import features  # noqa: E402
import launch  # noqa: E402

LULL = str(pathlib.Path(sys.argv[1]).resolve())
TESTS = pathlib.Path(sys.argv[2]).resolve()
HERE = TESTS / "golden" / "report" / "functions"  # kept runs name their programs as they are found from here
TAPE = "../../../data/tape/"
WIDTH, ROW = 1000, 18  # of the picture, of a function in it
CUT = 0.001  # of the width: what is narrower is left out


def lull(*words):
    return subprocess.run([LULL, *map(str, words)], cwd=HERE, check=True, capture_output=True, text=True).stdout


def paths_of(run, folder):
    """{path: share}, of each path with all that goes on from it."""
    weights, out = {}, folder / "folded"
    lull("convert", "--force", "--to", "folded", TAPE + run, out)
    for line in out.read_text().splitlines():
        path, weight = line.rsplit(" ", 1)
        frames = tuple(path.split(";")[1:])  # without the name of the thread
        for depth in range(1, len(frames) + 1):
            weights[frames[:depth]] = weights.get(frames[:depth], 0) + int(weight)
    total = sum(weight for path, weight in weights.items() if len(path) == 1)
    return {path: weight / total for path, weight in weights.items()}


FRAMES = """return [...document.querySelectorAll("svg.icicle g")].map((g) => {
    const rect = g.querySelector("rect"), text = g.querySelector("text");
    const seen = rect.getBoundingClientRect(), written = text && text.getBoundingClientRect();
    return {title: g.querySelector("title").textContent, x: rect.x.baseVal.value, y: rect.y.baseVal.value,
            width: rect.width.baseVal.value, shown: seen.width, fits: !written || written.right <= seen.right + 1}; })"""


def check_paths(browser, run, folder):
    page = folder / "page.html"
    lull("report", "--force", TAPE + run, "-o", page)
    web.open_page(browser, page)
    details = browser.run("return document.querySelector('svg.icicle').closest('details')")
    assert not browser.run("return arguments[0].open", details)
    browser.run("arguments[0].querySelector('summary').scrollIntoView({block: 'center'})", details)
    browser.one("#code details:has(svg.icicle) summary").click()
    web.settle(browser)
    assert browser.run("return arguments[0].open", details), "a click opens it"
    drawn, above = {}, {}
    for frame in browser.run(FRAMES):
        depth = round(frame["y"] / ROW)
        name, _, share = frame["title"].rpartition(", ")
        name = name.rsplit(" (", 1)[0] if name.endswith(")") and ".c" in name.rsplit(" (", 1)[-1] else name
        # a function hangs below the one that surrounds it
        outer = above.get(depth - 1)
        assert depth == 0 or (outer["x"] - 0.02 <= frame["x"] and
                              frame["x"] + frame["width"] <= outer["x"] + outer["width"] + 0.02), frame
        path = (outer["path"] if depth else ()) + (name,)
        above[depth] = dict(frame, path=path)
        assert path not in drawn, path
        drawn[path] = frame["width"] / WIDTH
        assert abs(float(share.rstrip(" %")) / 100 - drawn[path]) < 0.001, frame
        assert frame["shown"] > 0 and frame["fits"], frame
    expected = paths_of(run, folder)
    for path, share in expected.items():
        assert share < CUT * 1.01 or path in drawn, path
    for path, share in drawn.items():
        assert abs(share - expected[path]) < 1e-4, (path, share, expected[path])
    return drawn


def check_stacks(browser, folder):
    """The call graph of tests/record/stacks/stack.c."""
    drawn = check_paths(browser, "stacks-1x1", folder)
    for wanted in (("main", "outer", "middle", "recursive", "recursive", "recursive", "recursive", "leaf"),
                   ("main", "other", "leaf"), ("main", "aligned", "leaf")):
        assert any(path[-len(wanted):] == wanted for path in drawn), wanted
    print("call paths of stacks:", len(drawn))


def check_members(browser, folder):
    """Of a run of two ranks two processes of lull make the same page as one: paths come from member to member."""
    if len(sys.argv) < 4:
        return
    pages = []
    for start in ([], [sys.argv[3], "-n", "2"]):
        page = folder / ("page%d.html" % len(pages))
        subprocess.run([*start, LULL, "report", TAPE + "stacks-2x1", "-o", page], cwd=HERE, check=True, capture_output=True,
                       env=launch.environment())
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert b"relax (stacks-2x1.c)" in pages[0] and b"finish (stacks-2x1.c)" in pages[0]
    print("members: the same", len(pages[0]), "bytes")


def rows_of(run, level, *options):
    """{label: {column: value}} of the table of functions or lines."""
    document = json.loads(lull("metrics", TAPE + run, "--by", level, "--no-replay", "--format", "json", *options))
    told = next((table for name, table in document["tables"].items() if name.startswith(level + "s:")),
                {"columns": [], "rows": []})
    ids = [column["id"] for column in told["columns"]]
    return {row["label"]: dict(zip(ids, row["values"])) for row in told["rows"]}


def duration(run):
    return json.loads(lull("info", "--format", "json", TAPE + run))["facts"]["duration"]


def shows(cell, value, rank=None):
    """Whether a cell has so many seconds, of that rank; nothing stands for none."""
    if not cell:
        return value == 0
    words = cell.split(" ", 1)
    return abs(float(words[0]) - value) <= 0.00051 and words[1:] == ([] if rank is None else ["(rank %d)" % rank])


def check_functions(browser, folder):
    """The table of functions, and the picture of a run without stacks."""
    run = "code-2x2"
    lull("report", "--force", TAPE + run, "-o", folder / "page.html")
    web.open_page(browser, folder / "page.html")
    table = browser.run("""const table = document.querySelector("#code table.stacks");
        return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));""")
    rows = rows_of(run, "function")
    head, body = table[0], table[1:]
    assert len(body) >= 5, body
    for cells in body:
        shown, row = dict(zip(head, cells)), rows[cells[0]]
        for heading, value in (("useful, s", row["useful"]), ("in MPI, s", row["mpi"]), ("in OpenMP, s", row["openmp"]),
                               ("idle, s", row["idle"]), ("waiting in calls, s", row["waiting"] + row["waiting_openmp"]),
                               ("share of useful time, %", 100 * row["share"]), ("median", row["median"])):
            assert abs(float(shown[heading]) - value) <= (0.051 if "%" in heading else 0.00051), (cells, heading, value)
        for heading, value, rank in (("least of a rank, s", row["min"], row["min_rank"]), ("most", row["max"], row["max_rank"])):
            assert shows(shown[heading], value, rank), (cells, heading, value, rank)
    print("functions:", len(body))
    check_lines(browser, rows, rows_of(run, "line"))
    # measure() has some ms of each iteration: a window has a sample of it, or none
    for name, least in (("weigh", 0.5), ("measure", 0)):
        check_spot(browser, run, name, rows[name]["max_rank"], least)


def check_spot(browser, run, name, rank, least):
    """A link leads to the rank with most of a function, at that part of the time in which the function computed most, or
    nearly so (`least` of it): shares of samples and of useful time differ. It shows as much time again on both sides. From there a link
    leads back."""
    row = next(row for row in browser.all("#code table.stacks tbody tr") if row.all("th")[0].text == name)
    (link,) = row.all("a")
    view = dict(part.split("=") for part in link.attribute("href").split("?")[1].split("&"))
    begin, length = round(float(link.text.split()[0]) * 1e9), (int(view["to"]) - int(view["from"])) // 3
    useful = {}
    for first in range(begin % length, int(duration(run) * 1e9) - length, length):
        window = "%dns:%dns" % (first, first + length)
        useful[first] = rows_of(run, "function", "--window", window).get(name, {"useful": 0})["useful"]
    assert useful[begin] > least * max(useful.values()), (name, view, useful)
    link.click()
    back = web.wait(lambda: next(iter(browser.all("#timelines .back a")), None), "the way back")
    assert back.text == "Back to " + name, back.text
    web.wait(lambda: browser.one("#timelines .readout").text.startswith("rank %d" % rank), "the rank with most")
    back.click()
    web.wait(lambda: browser.run("return location.hash") == "#" + row.attribute("id"), "the function")
    print("most of", name, "at", view["at"], "ns")


def check_lines(browser, functions, lines):
    """Source lines of the page that is open. There are some that wait, and some that compute."""
    tables = browser.run("""return [...document.querySelectorAll("#code table.source")].map((table) => ({
        title: table.closest("details").querySelector("summary").textContent,
        rows: [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))}))""")
    seen = {"waits": 0, "computes": 0}
    for table in tables:
        name, file = re.match(r"(.*) \(([^():]*):\d+\), ", table["title"]).groups()
        head, body = table["rows"][0], table["rows"][1:]
        assert head == ["line", "time", "useful, %", "waiting in calls, s", "median of a rank, s", "most", "source"], head
        for cells in body:
            row = lines["%s:%s" % (file, cells[0])]
            share = 100 * row["useful"] / functions[name]["useful"] if row["useful"] else 0
            assert abs(float(cells[2] or 0) - share) <= 0.051, (cells, share)
            assert shows(cells[3], row["waiting"] + row["waiting_openmp"]), (cells, row)
            assert shows(cells[4], row["median"]), (cells, row)
            assert shows(cells[5], row["max"], row["max_rank"]), (cells, row)
            seen["waits"] += row["waiting"] > 0
            seen["computes"] += row["max"] > 0
    assert all(seen.values()), seen
    print("lines:", seen)


def main():
    if "LIBDW" not in features.of(LULL):
        print("skipped: lull was built without libdw")
        sys.exit(77)
    browser = web.start()
    with tempfile.TemporaryDirectory() as folder:
        try:
            for check in (check_stacks, check_members, check_functions):
                check(browser, pathlib.Path(folder))
                said = web.complaints(browser, folder)
                assert not said, said
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
