#!/usr/bin/env python3
"""What a notebook shows of a run, in a browser: the frame has the page of the report, its script runs there, draws the
timeline, and follows keys.

usage: notebook.py LULL TESTS; skipped (77) without a browser."""

import os
import pathlib
import sys
import tempfile
import warnings

TESTS = pathlib.Path(sys.argv[2])
sys.path[:0] = [str(TESTS.parent / "python"), str(TESTS / "report")]
os.environ["LULL_PROGRAM"] = sys.argv[1]
import browser  # noqa: E402
import lull  # noqa: E402


PICTURE = "return arguments[0].toDataURL()"
COLOURS = """
const {width, height} = arguments[0];
const bytes = arguments[0].getContext("2d").getImageData(0, 0, width, height).data;
return new Set(new Uint32Array(bytes.buffer)).size;
"""


def enter_frame(page):
    """Talks to the frame from now on, which has a process of its own, as it may not do anything to the notebook."""
    found = []
    while not found:
        found = [message["params"]["sessionId"] for message in page.heard if message["method"] ==
                 "Target.attachedToTarget" and message["params"]["targetInfo"]["type"] == "iframe"]
        if not found:
            page.receive()
    page.session = found[0]
    page.heard.clear()
    for domain in ("Runtime", "Log"):
        page.command(domain + ".enable")


def main():
    page = browser.start()
    try:
        page.command("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True})
        with tempfile.TemporaryDirectory() as folder:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", lull.LullWarning)
                shown = lull.open(TESTS / "data/tape/heat-faults")._repr_html_()
            pathlib.Path(f"{folder}/notebook.html").write_text(f"<!doctype html><meta charset=utf-8>{shown}",
                                                               encoding="utf-8")
            page.get(pathlib.Path(f"{folder}/notebook.html").as_uri())
            enter_frame(page)
            page.run(browser.READY)
            browser.settle(page)
            tree = [cell.text for cell in page.all("table th")]
            assert "Parallel efficiency" in tree, tree
            canvas = page.one(".panel canvas")
            colours = canvas.run(COLOURS)
            assert colours > 5, colours
            before = canvas.run(PICTURE)
            canvas.press("+")
            browser.settle(page)
            assert canvas.run(PICTURE) != before, "the key + zooms nothing"
            said = [message for message in page.heard if message["method"] in (
                "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
                    and "replaceState" not in str(message)]  # the page keeps its view in its address: a frame has none
            assert not said, said
    finally:
        page.quit()


main()
