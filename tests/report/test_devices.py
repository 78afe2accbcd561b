#!/usr/bin/env python3
"""What an idle device waits for, on the page: a made-up trace of PyTorch's profiler of which all gaps are known. The page
holds them to the nanosecond, in the form of docs/formats/report.md; in a browser the place at the cursor says them, and
the device's row has their colours.

usage: test_devices.py LULL TESTS
"""

import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import browser as web  # noqa: E402  (after the path; may end the test)
import kineto  # noqa: E402

LULL = str(pathlib.Path(sys.argv[1]).resolve())
KERNEL, CALL, LATENCY, RETURN = 400_000, 2_000, 3_000, 1_000  # ns
COMPUTES = (150_000, 90_000, 250_000, 40_000, 120_000)
HOST, RUNTIME, LAUNCH = ("the host computes before it submits",
                         "the host is in other calls of the runtime before it submits",
                         "from the call that submits to the begin")


def make(path):
    """Returns the gaps: (begin, end, submission of what ends it, its begin, cause)."""
    maker, now, ended, gaps = kineto.Maker(0, 1), 0, 0, []
    for i, compute in enumerate(COMPUTES):
        maker.code("train.py(7): prepare", now, now + compute, category="python_function")
        called = now + compute
        correlation = maker.call("cudaLaunchKernel", called, called + CALL)
        begin = called + LATENCY
        maker.ran("kernel", "smooth", begin, begin + KERNEL, correlation)
        if i:
            gaps.append((ended, now, called, begin, RUNTIME))
        gaps += [(now, called, called, begin, HOST), (called, begin, called, begin, LAUNCH)]
        ended = begin + KERNEL
        maker.call("cudaDeviceSynchronize", called + CALL, ended + RETURN)
        now = ended + RETURN
    path.write_text(json.dumps(maker.document(), default=float))
    return gaps


def block(text, name):
    found = re.search(r'<script type="application/x-lull" id="%s">([^<]*)</script>' % name, text)
    return zlib.decompress(base64.b64decode(found.group(1)))


def varints(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def signed(number):
    return -(number + 1) // 2 if number % 2 else number // 2


def read_gaps(page):
    """The gaps of the page, and the rows of the stream and of the thread that submits."""
    text = page.read_text()
    meta = json.loads(block(text, "timeline-0"))
    index = [one["kind"] for one in meta["blocks"]].index("gaps")
    numbers = varints(block(text, "timeline-0-%d" % index))
    names = {number: name for number, name, _ in meta["regions"]}
    rows = {leaf: row for row, leaf in enumerate(meta["rows"]["leaf"]) if leaf >= 0}
    found, begin, places = [], 0, set()
    for _ in range(next(numbers)):
        begin += next(numbers)
        end = begin + next(numbers)
        until = end + next(numbers)
        submitted = until - signed(next(numbers))
        leaf, submitter, region, cause = (next(numbers) for _ in range(4))
        assert names[region - 1] == "smooth", names
        places.add((rows[leaf], rows[submitter - 1]))
        found.append((begin, end, submitted, until, meta["causes"][cause]["label"]))
    assert next(numbers, None) is None and len(places) == 1
    row, thread = places.pop()
    assert meta["rows"]["kind"][row] == "device" and meta["rows"]["name"][thread].startswith("rank 0"), meta["rows"]
    return found, row, meta["rows"]["name"][thread], {one["label"]: one["paint"] for one in meta["causes"]}


# How many pixels have the colour of a paint, a little behind a share of the timeline's width.
COLOUR = """const [share, paint] = arguments, canvas = document.querySelector("#timelines .panel canvas");
const wanted = getComputedStyle(document.documentElement).getPropertyValue("--paint" + paint).trim();
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
const labels = 150 * canvas.width / parseFloat(canvas.style.width);
const x = Math.round(labels + share * (canvas.width - labels)) + 4, colours = [];
for (let y = 0; y < canvas.height; y++) {
    const at = 4 * (y * canvas.width + x);
    colours.push("#" + [0, 1, 2].map((i) => pixels.data[at + i].toString(16).padStart(2, "0")).join(""));
}
return colours.filter((colour) => colour === wanted).length;"""


def look_at(browser, gap, row):
    begin, end = gap[:2]
    at, around = (begin + end) // 2, 4 * (end - begin)
    browser.run("location.hash = arguments[0]",
                f"#view?from={at - around}&to={at + around}&row={row}&at={at}&messages=0")
    return at - around, at + around


def check_cursor(browser, gaps, row, thread):
    for gap in gaps:
        begin, end, _, _, cause = gap
        look_at(browser, gap, row)
        told = lambda: browser.one("#timelines .readout").text  # noqa: E731
        web.wait(lambda: told().rstrip(".").endswith(cause) or f": {cause};" in told(), f"{cause}: {told()}")
        idle = re.search(r"the device is idle for ([\d.]+) (\S+) before smooth, which (.*) submits at ", told())
        assert idle and idle[3] == thread, told()
        assert abs(float(idle[1]) * {"us": 1e3, "ms": 1e6}[idle[2]] - (end - begin)) <= 0.001 * (end - begin), told()


def check_colours(browser, gaps, row, paints):
    """Of gaps around which the view has room: it does not go beyond the run."""
    length, seen = max(until for _, _, _, until, _ in gaps) + KERNEL + RETURN, 0
    for gap in gaps:
        begin, end = look_at(browser, gap, row)
        web.settle(browser)
        if begin >= 0 and end <= length:
            assert browser.run(COLOUR, 0.5, paints[gap[-1]]) >= 5, gap
            seen += 1
    assert seen >= 5


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        gaps, page = make(folder / "run.json"), folder / "page.html"
        subprocess.run([LULL, "report", folder / "run.json", "-o", page], check=True, capture_output=True)
        found, row, thread, paints = read_gaps(page)
        assert found == sorted(gaps), (found, sorted(gaps))
        browser = web.start()
        try:
            web.open_page(browser, page)
            check_cursor(browser, gaps, row, thread)
            legend = browser.one("#timelines .legend").text
            assert all("device idle: " + cause in legend for cause in paints), legend
            said = web.complaints(browser, folder)
            assert not said, said
            check_colours(browser, gaps, row, paints) # reads pixels back, of which the console complains
        finally:
            browser.quit()
        print(f"{len(gaps)} gaps, {len(paints)} causes")


if __name__ == "__main__":
    main()
