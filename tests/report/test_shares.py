#!/usr/bin/env python3
"""What the page draws against a brute-force raster of the steps, at random places.

usage: test_shares.py MAKE_PAGE

200 views of each run: any row, any part of the time, any number of columns; and as many of cells
alone, where columns are whole numbers of bins. The share of each activity in each column is what
the steps say to 1/255, and nothing that is there has a share of 0. Draws its views from
LULL_TEST_SEED, which it prints.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser as web  # noqa: E402  (after the path; may end the test)

VIEWS = 200
SCRIPT = """
const [number, views, cells, done] = arguments;
(async () => {
    const timeline = new Timeline(number, await readMeta("timeline-" + number));
    await Promise.all(timeline.blocks.map((block) => block.kind === "tile"
        ? timeline.load(block.index, (bytes) => timeline.unpackTile(block, bytes)) : null));
    if (cells) {
        timeline.stepBlocks = [];
        timeline.findStepped();
    }
    await timeline.loadAllSteps();
    const count = timeline.activities.length;
    done({leaf: timeline.rows.leaf, parent: timeline.rows.parent, shares: views.map(([row, from, to, columns]) => {
        const out = new Float64Array(columns * count);
        if (!addShares(timeline, row, {from, to}, columns, out))
            throw new Error("data are missing");
        return [...out];
    })});
})().catch((error) => done(String(error)));
"""


def seed():
    text = os.environ.get("LULL_TEST_SEED", "1")
    value = random.SystemRandom().getrandbits(32) if text == "random" else int(text)
    print(f"LULL_TEST_SEED={value}")
    return value


def leaves_of(row, tree):
    """The leaves below a row, by following parents upwards."""
    found = []
    for other, leaf in enumerate(tree["leaf"]):
        up = other
        while up >= 0 and up != row:
            up = tree["parent"][up]
        if up == row and leaf >= 0:
            found.append(leaf)
    return found


def raster(run, leaves, begin, end, n_activities):
    """Share of each activity between two times, step by step."""
    sums = [0.0] * n_activities
    for leaf in leaves:
        at = 0
        for until, activity in run["leaves"][leaf]:
            overlap = min(until, end) - max(at, begin)
            if overlap > 0:
                sums[activity] += overlap
            at = until
    return [value / (len(leaves) * (end - begin)) for value in sums]


def draw_views(draw, run, n_rows):
    views = []
    for _ in range(VIEWS):
        span = run["length"] / 10 ** draw.uniform(0, 4)
        begin = draw.uniform(0, run["length"] - span)
        views.append([draw.randrange(n_rows), begin, begin + span, draw.choice([1, 7, 60, 300])])
    return views


def draw_cell_views(draw, run, n_rows):
    """Edges of bins are whole ns, which the page does not know: off by 1 ns at most."""
    views, bins = [], 2048
    for _ in range(VIEWS):
        columns, wide = draw.choice([1, 5, 40, 200]), draw.choice([1, 2, 3, 8])
        first = draw.randrange(bins - columns * wide + 1)
        edges = [(first + i * columns * wide) * run["length"] // bins for i in range(2)]
        views.append([draw.randrange(n_rows), *edges, columns])
    return views


def check_view(run, view, tree, shares):
    row, begin, end, columns = view
    leaves, count = leaves_of(row, tree), len(shares) // columns
    for column in range(columns):
        low = begin + column * (end - begin) / columns
        high = begin + (column + 1) * (end - begin) / columns
        expected = raster(run, leaves, low, high, count)
        for activity in range(count):
            drawn = shares[column * count + activity]
            assert abs(drawn - expected[activity]) <= 1 / 255 + 4 / (high - low), (view, column, activity, drawn, expected)
            assert drawn > 0 or expected[activity] < 4 / (high - low), (view, column, activity, "has vanished")


def main():
    make_page, draw = sys.argv[1], random.Random(seed())
    browser = web.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind, name in (("two", "two.html"), ("steps", "steps.json")):
                subprocess.run([make_page, kind, pathlib.Path(folder, name)], check=True)
            runs = json.loads(pathlib.Path(folder, "steps.json").read_text())
            web.open_page(browser, pathlib.Path(folder, "two.html"))
            for number, run in enumerate(runs):
                for cells, views_of in ((False, draw_views), (True, draw_cell_views)):
                    views = views_of(draw, run, 26)  # 2 nodes, 8 ranks, 16 threads
                    answer = browser.run_until_done(SCRIPT, number, views, cells)
                    assert isinstance(answer, dict), answer
                    for view, shares in zip(views, answer["shares"]):
                        check_view(run, view, answer, shares)
                    print("run", number, len(views), "views of", "cells" if cells else "steps", "agree")
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
