#!/usr/bin/env python3
"""What the page looks like: pictures of its parts in a real browser, compared with those that somebody looked at.

usage: test_screenshots.py MAKE_PAGE [--accept]

The runs are made up (tests/support/page_case.c), so that their pictures are the same everywhere; letters are
left out of them, because fonts and their smoothing differ between systems. A picture agrees with that in
screenshots/ if it has the same size and no more than 0.5 % of its pixels differ by more than 32 of 255 in a
colour, which is room for smoothed edges. --accept takes the new ones: look at them."""

import base64
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import browser as web  # noqa: E402  (after the path; may end the test)

REFERENCES = HERE / "screenshots"
MOST_PIXELS, MOST_DIFFERENCE = 0.005, 32
WITHOUT_LETTERS = """
CanvasRenderingContext2D.prototype.fillText = () => {};
addEventListener("DOMContentLoaded", () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { color: transparent !important; caret-color: transparent !important } svg text { display: none }");
    document.adoptedStyleSheets = [sheet];
});
"""
KEYS = """
const canvas = document.querySelector(".panel canvas");
canvas.focus({preventScroll: true});
for (const key of arguments[0])
    canvas.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
canvas.blur();
"""
# In the upper left corner, so that its place among texts of unknown height does not matter.
ALONE = """
const element = arguments[0], box = element.getBoundingClientRect();
Object.assign(element.style, {position: "fixed", left: "0", top: "0", zIndex: "9", width: box.width + "px",
                              height: box.height + "px", outline: "none"});
return [box.width, box.height];
"""
# Share of the pixels that differ, or -1 where the sizes do.
COMPARE = """
const [one, other, most, done] = arguments;
async function pixels(data) {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), {width: image.width, height: image.height});
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
}
(async () => {
    const a = await pixels(one), b = await pixels(other);
    if (a.width !== b.width || a.height !== b.height)
        return done(-1);
    let differing = 0;
    for (let i = 0; i < a.data.length; i += 4)
        differing += [0, 1, 2].some((k) => Math.abs(a.data[i + k] - b.data[i + k]) > most);
    done(differing / (a.data.length / 4));
})().catch((error) => done(String(error)));
"""
# name, colours, keys for the timeline, what is looked at
PICTURES = [
    ("timeline", "light", [], ".panel canvas"),
    ("timeline-dark", "dark", [], ".panel canvas"),
    ("timeline-closer", "light", ["w", "m"], ".panel canvas"),
    ("timeline-folded", "light", ["F"], ".panel canvas"),
    ("bars", "light", [], ".stacks tbody svg"),
    ("chart", "light", [], "svg.lull-chart"),
    ("matrix", "light", [], ".matrix canvas"),
]


def take(browser, path, colours, keys, selector):
    browser.command("Emulation.setEmulatedMedia",
                            {"features": [{"name": "prefers-color-scheme", "value": colours}]})
    web.open_page(browser, path)
    browser.run(KEYS, keys)
    web.settle(browser)
    web.settle(browser)
    element = browser.one(selector)
    width, height = browser.run(ALONE, element)
    web.settle(browser)
    picture = browser.command("Page.captureScreenshot", {
        "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
    return picture["data"]


def differ(browser, one, other):
    browser.get("about:blank")
    answer = browser.run_until_done(COMPARE, one, other, MOST_DIFFERENCE)
    assert not isinstance(answer, str), answer
    return answer


def reference(name):
    return base64.b64encode((REFERENCES / f"{name}.png").read_bytes()).decode()


def main():
    make_page, accept = sys.argv[1], "--accept" in sys.argv[2:]
    browser, failed = web.start(), []
    try:
        browser.command("Page.addScriptToEvaluateOnNewDocument", {"source": WITHOUT_LETTERS})
        browser.command("Emulation.setScrollbarsHidden", {"hidden": True})
        browser.command("Emulation.setDeviceMetricsOverride", {
            "width": 1000, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "one.html")
            subprocess.run([make_page, "one", path], check=True)
            for name, *how in PICTURES:
                picture = take(browser, path, *how)
                if accept:
                    REFERENCES.mkdir(exist_ok=True)
                    (REFERENCES / f"{name}.png").write_bytes(base64.b64decode(picture))
                    continue
                share = differ(browser, picture, reference(name))
                good = 0 <= share <= MOST_PIXELS
                print("ok     " if good else "FAILED ", name,
                      "has another size" if share < 0 else f"{100 * share:.2f} % of the pixels differ")
                if not good:
                    kept = pathlib.Path(f"screenshot-{name}.png").resolve()
                    kept.write_bytes(base64.b64decode(picture))
                    failed.append(f"{name}: see {kept}")
        # The comparison itself: other pictures are far from agreeing.
        for one, other in (("timeline", "timeline-dark"), ("timeline", "timeline-closer")):
            share = differ(browser, reference(one), reference(other))
            assert share < 0 or share > 5 * MOST_PIXELS, (one, other, share)
    finally:
        browser.quit()
    for line in failed:
        print(line)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
