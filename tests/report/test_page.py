#!/usr/bin/env python3
"""What a user does with a page, by mouse and by key, in a real browser.

usage: test_page.py MAKE_PAGE [--keep FOLDER]

Each check is a function; it gets a browser with the page of two runs open, anew. The runs are made
up (tests/support/page_case.c): a ring of 8 ranks with 2 threads, 12 iterations, in which rank 3
computes 1.9 times as long in "before" and no longer in "after".
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser as web  # noqa: E402  (after the path; may end the test)
from browser import Keys  # noqa: E402
from page_matrix import check_matrix  # noqa: E402, F401  (found by its name)

MAKE_PAGE = sys.argv[1]


class Page:
    def __init__(self, browser, folder):
        self.browser, self.folder = browser, folder

    def open(self, kind="two", fragment=""):
        web.open_page(self.browser, self.folder / f"{kind}.html", fragment)

    def all(self, selector):
        return self.browser.all(selector)

    def one(self, selector):
        return self.browser.one(selector)

    def run(self, script, *arguments):
        return self.browser.run(script, *arguments)

    def canvas(self, number=0):
        """Focused and in the middle of the window, where the mouse, which is moved away, does not
        come to lie on it."""
        self.browser.command("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 1, "y": 1})
        canvas = self.all(".panel canvas")[number]
        self.run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus({preventScroll: true})", canvas)
        web.settle(self.browser)
        return canvas

    def key(self, *keys):
        canvas = self.run("return document.activeElement")
        # In one message, but for keys that hold another one down.
        for some in ["".join(keys)] if all(len(key) == 1 for key in keys) else keys:
            canvas.press(some)
        web.settle(self.browser)

    def button(self, text):
        texts = self.run("return [...document.querySelectorAll('.toolbar button')].map((one) => one.innerText)")
        for button, its in zip(self.all(".toolbar button"), texts):
            if its == text:
                self.run("arguments[0].scrollIntoView({block: 'center'})", button)
                button.click()
                web.settle(self.browser)
                return
        raise AssertionError(f"no button {text}")

    def text(self, selector):
        """In one step, because elements are replaced while the page is drawn."""
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    @property
    def readout(self):
        return self.text("#timelines .readout")

    @property
    def found(self):
        return self.text(".found")

    @property
    def window(self):
        """What is seen, in seconds, as the command for a closer look says it."""
        text = self.text(".command code")
        return tuple(float(number) for number in re.search(r"--window ([\d.]+)s:([\d.]+)s", text).groups())

    @property
    def row(self):
        return self.readout.split(" at ")[0]

    def mouse(self, x, y, number=0):
        """A hand with the mouse at a place of the canvas, in CSS pixels."""
        return self.canvas(number).hand(x, y)

    def do(self, _):
        """Until what a hand did is drawn: it has done it by now."""
        web.settle(self.browser)

    def row_y(self, number):
        return 40 + 13 * number + 6


# ---- zoom and pan ---------------------------------------------------------------------------


def check_zoom_keys(page):
    page.canvas()
    whole = page.window
    page.key("+", "+")
    closer = page.window
    assert abs((closer[1] - closer[0]) * 4 - (whole[1] - whole[0])) < 1e-6, (whole, closer)
    page.key(Keys.SHIFT + Keys.ARROW_RIGHT)
    later = page.window
    assert later[0] > closer[0] and abs((later[1] - later[0]) - (closer[1] - closer[0])) < 1e-6
    page.key(Keys.SHIFT + Keys.ARROW_LEFT)
    assert abs(page.window[0] - closer[0]) < 1e-6
    page.key("-")
    assert page.window[1] - page.window[0] > 1.9 * (closer[1] - closer[0])
    page.key("0")
    assert page.window == whole


def check_zoom_mouse(page):
    whole = page.window
    page.button("Zoom in")
    assert page.window[1] - page.window[0] < 0.51 * (whole[1] - whole[0])
    page.button("Later ▶")
    assert page.window[0] > whole[0]
    page.button("◀ Earlier")
    page.button("Zoom out")
    page.button("Whole run")
    assert page.window == whole
    page.do(page.mouse(600, 100).double_click())
    assert page.window[1] - page.window[0] < 0.51 * (whole[1] - whole[0])
    before = page.window
    page.do(page.mouse(700, 100).hold().move_by(-200, 0).release())
    assert page.window[0] > before[0], "dragging to the left shows what is later"
    page.button("Whole run")
    page.do(page.mouse(400, 100).with_shift().hold().move_by(200, 0).release())
    span = page.window[1] - page.window[0]
    assert 0.15 * whole[1] < span < 0.25 * whole[1], (span, whole)


def check_drag_draws_little(page):
    """A hand that moves the picture has only those columns drawn that come into view, also where the
    numbers of its begin and its end are rounded differently: one below and one above 2^24 ns."""
    page.canvas()
    page.key("+", "+", "+", *[Keys.SHIFT + Keys.ARROW_LEFT] * 4)
    assert page.window[0] < 2**24 / 1e9 < page.window[1], page.window
    page.run("""
        window.drawn = [];
        const draw = Panel.prototype.drawRows;
        Panel.prototype.drawRows = function (left, right, anew) {
            window.drawn.push([right - left, anew]);
            draw.call(this, left, right, anew);
        };""")
    before = page.window
    page.browser.run_until_done("""
        const done = arguments[0], canvas = document.querySelector(".panel canvas");
        const box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        let moves = 0;
        const fire = (type) => canvas.dispatchEvent(new PointerEvent(type, {
            clientX: box.left + 900 - 3 * moves, clientY: box.top + 100, pointerId: 1}));
        const move = () => {
            moves++;
            fire(moves <= 200 ? "pointermove" : "pointerup");
            requestAnimationFrame(moves <= 200 ? move : done);
        };
        fire("pointerdown");
        move();""")
    web.settle(page.browser)
    drawn = page.run("return window.drawn")
    assert len(drawn) > 100 and not any(anew for _, anew in drawn), drawn
    assert sum(columns for columns, _ in drawn) <= 2 * 600, "of both runs"
    assert page.window[0] > before[0], "and the texts below say what is seen now"


def check_wheel(page):
    page.canvas()
    whole = page.window
    wheel = ("const canvas = document.querySelector('.panel canvas'), box = canvas.getBoundingClientRect();"
             "canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: arguments[0], ctrlKey: arguments[1],"
             "shiftKey: arguments[2], clientX: box.left + 600, clientY: box.top + 100, cancelable: true}));")
    page.run(wheel, -100, True, False)
    web.settle(page.browser)
    assert page.window[1] - page.window[0] < 0.85 * (whole[1] - whole[0])
    before = page.window
    page.run(wheel, 50, False, True)
    web.settle(page.browser)
    assert page.window[0] > before[0]


# ---- rows -----------------------------------------------------------------------------------


def check_cursor_keys(page):
    page.canvas()
    assert page.row == "node0"
    page.key(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.row == "rank 0 thread 0"
    page.key(Keys.ARROW_UP)
    assert page.row == "rank 0"
    before = page.readout
    page.key(Keys.ARROW_RIGHT)
    assert page.readout != before


def check_fold(page):
    page.canvas()
    height = page.canvas().size["height"]
    page.key(Keys.ENTER)  # node0
    page.key(Keys.ARROW_DOWN)
    assert page.row == "node1"
    page.key(Keys.ARROW_UP, "f", Keys.ARROW_DOWN)
    assert page.row == "rank 0"
    page.button("Fold")
    page.canvas()
    page.key(Keys.ARROW_DOWN)
    assert page.row == "rank 1"
    page.button("Fold all")  # what is folded opens first
    page.button("Fold all")
    assert page.canvas().size["height"] < height
    page.do(page.mouse(20, 40 + 14).click())  # on the name of node0
    page.key(Keys.ARROW_DOWN)
    assert page.row == "rank 0"


def check_pin(page):
    page.canvas()
    page.key(*[Keys.ARROW_DOWN] * 3, "p")
    assert page.row == "rank 0 thread 1"
    page.key(*[Keys.ARROW_UP] * 9)
    assert page.row == "rank 0 thread 1", "the pinned row is the first"
    page.button("Pin")
    page.canvas()
    page.key(*[Keys.ARROW_UP] * 9)
    assert page.row == "node0"


def check_sort(page):
    page.canvas()
    page.key("F", "F")  # nodes alone, then all
    select = page.one(".toolbar select")
    select.choose(1)
    web.settle(page.browser)
    page.canvas()
    page.key(*[Keys.ARROW_UP] * 40)
    page.key(Keys.ARROW_DOWN)
    assert page.row == "rank 3", "the late rank has most useful time of its node"
    page.key("s", *[Keys.ARROW_UP] * 40)
    assert page.row == "node1", "rank 4 waits for its message: most point-to-point"


def check_sort_counters(page):
    """Leaf n has n + 1 million instructions and half a million cycles in each 1/64 of the time."""
    labels = page.run("return [...document.querySelectorAll('.toolbar select option')].map((one) => one.text)")
    assert labels[-4:] == ["most instructions", "most cycles", "most instructions per cycle", "highest frequency"], labels
    for key in ("most instructions", "most instructions per cycle"):
        select = page.one(".toolbar select")
        select.choose(labels.index(key))
        page.canvas()
        first = []
        page.key(*[Keys.ARROW_UP] * 40)
        for _ in range(3):
            first.append(page.row)
            page.key(Keys.ARROW_DOWN)
        assert first == ["node1", "rank 7", "rank 7 thread 1"], (key, first)
    page.key("s", *[Keys.ARROW_UP] * 40)
    assert page.one(".toolbar select").attribute("value") == str(len(labels) - 2), "the last one"
    page.key(Keys.ARROW_DOWN)
    assert page.row != "rank 3", "it computes longest in as many cycles: lowest frequency"


def check_sort_before_data(page):
    """Rows are in order also where what they are sorted by comes after the wish."""
    page.open("two", "#view?runs=0,1&sort=useful")
    page.canvas()
    page.key(*[Keys.ARROW_UP] * 40)
    assert page.row == "node0"
    page.key(Keys.ARROW_DOWN)
    assert page.row == "rank 3", page.row


# ---- what is told ---------------------------------------------------------------------------


def check_hover(page):
    canvas = page.canvas()
    page.do(page.mouse(300, page.row_y(2)))
    assert page.row == "rank 0 thread 0"
    assert re.search(r"useful [\d.]+ %|MPI collective [\d.]+ %", page.readout), page.readout
    assert canvas.attribute("aria-label").startswith("Timeline of before: 16 rows")


def check_counters(page):
    """Leaf n has n + 1 million instructions and half a million cycles in each 1/64 of the time."""
    page.canvas()
    page.do(page.mouse(178, page.row_y(3)))  # rank 0 thread 1, near the begin, where it is useful
    web.wait(lambda: "2.000 M instructions, 500.0 k cycles, 4.00 per cycle, " in page.readout, "those of a thread")
    frequency = float(re.search(r"([\d.]+) GHz\.$", page.readout).group(1))
    subprocess.run([MAKE_PAGE, "steps", page.folder / "steps.json"], check=True)
    run = json.loads((page.folder / "steps.json").read_text())[0]
    time = float(re.search(r" at ([\d.]+) ms", page.readout).group(1)) * 1e6
    begin = int(64 * time / run["length"]) * run["length"] / 64
    useful, at = 0, 0
    for end, activity in run["leaves"][1]:
        useful += max(0, min(end, begin + run["length"] / 64) - max(at, begin)) if activity == 0 else 0
        at = end
    assert abs(frequency - 5e5 / useful) <= 0.01 * frequency + 0.05, (page.readout, useful)
    page.key(Keys.ARROW_UP, Keys.ARROW_UP)
    assert page.row == "rank 0"
    web.wait(lambda: "3.000 M instructions, 1.000 M cycles, 3.00 per cycle" in page.readout, "those of its process")
    page.key(Keys.ARROW_UP)
    assert page.row == "node0"
    web.wait(lambda: "36.00 M instructions, 4.000 M cycles, 9.00 per cycle" in page.readout, "those of its node")


def check_steps(page):
    page.canvas()
    page.key("w")  # the first long wait: rank 4 in MPI_Recv
    assert page.row == "rank 4 thread 0", page.readout
    assert "MPI_Recv, exchange (heat.c:91)" in page.readout
    assert "from rank 3 thread 0 was received, tag 7" in page.readout
    page.key("]")
    assert "MPI_Allreduce" in page.readout, page.readout
    page.key("[", "[")
    assert "MPI_Send" in page.readout, page.readout


def check_what_ended_it(page):
    page.canvas()
    page.key("w", "e")
    web.wait(lambda: page.row == "rank 3 thread 0", "the sender of the message")
    page.canvas()
    page.key("w", "]", "e")  # the second wait's Allreduce: the next step of it is met by rank 3 or 4
    web.wait(lambda: page.row in ("rank 3 thread 0", "rank 4 thread 0") or "Nothing else" in page.found, "an answer")
    page.button("Next long wait")
    assert page.row == "rank 4 thread 0"
    page.button("What ended it?")
    web.wait(lambda: page.row == "rank 3 thread 0", "the sender of the message")


def check_chain(page):
    """All wait in MPI_Allreduce for rank 4, which waited for a message of rank 3, which computed."""
    page.canvas()
    page.key("w", "]")  # the Allreduce behind the first long wait of rank 4, where rank 4 is the last one
    time = float(re.search(r" at ([\d.]+) ms", page.readout).group(1))
    page.open("two", f"#view?runs=0&row=1&at={round(time * 1e6)}")  # rank 0, of several threads
    page.canvas()
    page.key("e")
    web.wait(lambda: "No single step is known here" in page.found, "what to do")
    page.key(Keys.ARROW_DOWN)
    assert page.row == "rank 0 thread 0" and "MPI_Allreduce" in page.readout, page.readout
    page.key("e")
    web.wait(lambda: page.row == "rank 4 thread 0", "who came last")
    assert re.match(r"rank 4 thread 0: MPI point-to-point [\d.]+ % of the [\d.]+ ms in which it was waited for\. "
                    "Again for whom it waited\\.$", page.found), page.found
    page.key("e")
    web.wait(lambda: page.row == "rank 3 thread 0", "whose message rank 4 waited for")
    assert re.match(r"rank 3 thread 0: useful (9\d|100)\.\d % of the [\d.]+ ms in which it was waited for\.$",
                    page.found), page.found
    page.key("e")
    web.wait(lambda: page.found.startswith("It waited for nobody: rank 3 thread 0: useful "), "the end of the chain")
    assert page.row == "rank 3 thread 0"


def check_barrier_of_threads(page):
    """Threads wait for those of their own process, and not for those of others that happen to wait later."""
    page.open("two", "#view?runs=0&row=3&at=1800000")  # the barrier of 1.6 ms to 2 ms
    page.canvas()
    assert page.row == "rank 0 thread 1" and "omp barrier" in page.readout, page.readout
    page.key("e")
    web.wait(lambda: page.found.startswith("Nothing else is known"), "an answer")
    assert page.row == "rank 0 thread 1"


def check_places(page):
    page.one(".places summary").click()
    buttons = page.all(".places tbody button")
    assert buttons[0].text == "rank 4 thread 0"
    buttons[1].click()
    web.settle(page.browser)
    assert page.row == "rank 4 thread 0"
    assert page.window[1] - page.window[0] < 0.01


def check_messages(page):
    page.canvas()
    picture = "return document.querySelector('.panel canvas').toDataURL()"
    with_arrows = page.run(picture)
    page.key("m")
    without = page.run(picture)
    assert with_arrows != without
    page.button("Messages")
    page.canvas()
    assert page.run(picture) == with_arrows


def check_search(page):
    page.canvas()
    page.key("/")
    assert page.run("return document.activeElement.type") == "search"
    query = page.run("return document.activeElement")
    query.press("rank 3")
    web.wait(lambda: page.found.startswith("6 rows"), "hits of both runs")
    query.press(Keys.ENTER)
    web.settle(page.browser)
    assert page.row == "rank 3", page.readout
    query.clear()
    query.press("MPI_Allred")
    web.wait(lambda: page.found == "0 rows, 2 regions", "regions")
    page.button("Next hit")
    web.wait(lambda: "MPI_Allreduce" in page.readout, "a step in that region")
    page.canvas()
    first = page.readout
    page.key("n")
    web.wait(lambda: page.readout != first, "the next one")
    page.key("N")
    query.clear()
    query.press("heat.c:87")
    web.wait(lambda: page.found == "0 rows, 2 regions", "regions by their call site")


def check_help(page):
    page.canvas()
    page.key("?")
    assert page.one("dialog").attribute("open") is not None
    text = page.one("dialog").text
    for action in ("fold or unfold", "keep the row at the top", "what ended it", "Ctrl and wheel"):
        assert action in text, action
    page.run("return document.activeElement").press(Keys.ESCAPE)
    assert page.one("dialog").attribute("open") is None
    page.button("Keys ?")
    assert page.one("dialog").attribute("open") is not None


def check_two_runs(page):
    assert [h.text for h in page.all(".panel h3")] == ["before", "after"]
    page.canvas(1)
    page.key(Keys.ARROW_DOWN, "+")
    assert "rank 0" in page.readout
    page.key("o")
    assert page.run("return document.activeElement === document.querySelectorAll('.panel canvas')[0]")
    second = page.all(".choice select")[1]
    second.choose(0)
    web.settle(page.browser)
    assert [h.text for h in page.all(".panel h3")] == ["before"]


def check_fragment(page):
    page.canvas()
    page.key("w", "p", "m")
    page.one(".toolbar input").press("Send")
    web.wait(lambda: "regions" in page.found, "the search")
    seen = page.readout, page.window
    fragment = web.wait(lambda: page.run("return location.hash.includes('find=send') && location.hash"), "fragment")
    page.open("two", fragment)
    assert (page.readout, page.window) == seen
    assert page.one(".toolbar input").attribute("value") == "send"
    page.open("two", "#view?runs=9&from=x&row=99999&fold0=a&in=7")
    assert page.window[0] == 0, "what makes no sense is passed over"


# ---- findings -------------------------------------------------------------------------------


def near(one, other):
    """Windows in s, as commands say them."""
    return all(abs(a - b) < 2e-9 for a, b in zip(one, other, strict=True))


def place_of(link):
    """From, to and the middle of what a finding links to, in s."""
    view = dict(part.split("=") for part in link.attribute("href").split("?")[1].split("&"))
    return tuple(int(view[key]) / 1e9 for key in ("from", "to", "at"))


def is_seen(page, selector):
    return page.run("const box = document.querySelector(arguments[0]).getBoundingClientRect();"
                    "return box.top > -1 && box.bottom < innerHeight + 1", selector)


def check_finding_by_mouse(page):
    """To its place, which is in view with the cursor there, and back to the sentence."""
    link = page.one("#finding-1 a")
    begin, end, at = place_of(link)
    link.click()
    web.wait(lambda: near(page.window, (begin, end)), "the place of the finding")
    assert begin < at < end and page.row == "rank 3", (begin, at, end, page.readout)
    assert abs(float(re.search(r" at ([\d.]+) ms", page.readout).group(1)) / 1e3 - at) < 1e-6, page.readout
    assert is_seen(page, "#timelines h2"), "the timeline begins at the top of the window"
    back = page.one("#timelines .back a")
    assert back.text == "Back to finding 1"
    back.click()
    web.wait(lambda: is_seen(page, "#finding-1"), "the finding")
    page.one("#finding-1 a").click()
    web.wait(lambda: near(page.window, (begin, end)), "its place once more")


def check_finding_by_key(page):
    """Enter goes to the place and, where the way back has the focus, back; the next Tab is at the finding."""
    page.run("document.querySelector('#finding-1 a').focus()")
    page.key(Keys.ENTER)
    begin, end, _ = place_of(page.one("#finding-1 a"))
    web.wait(lambda: near(page.window, (begin, end)), "the place of the finding")
    assert page.run("return document.activeElement.textContent") == "Back to finding 1"
    page.key(Keys.ENTER)
    web.wait(lambda: is_seen(page, "#finding-1"), "the finding")
    page.browser.press(Keys.TAB)
    assert page.run("return document.activeElement.closest('li')?.id") == "finding-1"


def check_finding_of_another_run(page):
    """The run of the finding is shown alone, as a whole, and there is one way back: to where one came from."""
    page.one("#finding-1 a").click()
    # The page scrolls there: a click that comes meanwhile would meet something else.
    web.wait(lambda: is_seen(page, "#timelines h2"), "the timeline")
    page.one("#finding-2 a").click()
    titles = "return [...document.querySelectorAll('.panel h3')].map((title) => title.textContent)"
    web.wait(lambda: page.run(titles) == ["after"], "the other run")
    place = place_of(page.one("#finding-2 a"))[:2]
    web.wait(lambda: page.window[0] == 0 and near(page.window, place), "its place, drawn")
    assert [link.text for link in page.all(".back a")] == ["Back to finding 2"]


# ---- the rest of the page -------------------------------------------------------------------


def check_links(page):
    for link in page.all("nav a"):
        link.click()
        target = link.attribute("href").split("#")[1]
        assert page.run("return Math.abs(document.getElementById(arguments[0]).getBoundingClientRect().top) < 900",
                        target), target


def check_schemes(page):
    buttons = page.all(".switch button")
    assert [b.text for b in buttons] == ["POP efficiencies, additive", "POP efficiencies, multiplicative"]
    shown = lambda: [t.attribute("id") for t in page.all("#trees .table") if t.is_displayed()]  # noqa: E731
    first = shown()
    buttons[1].press(Keys.ENTER)
    assert len(first) == 1 and len(shown()) == 1 and shown() != first
    assert buttons[1].attribute("aria-pressed") == "true"


def check_tables(page):
    rows = lambda: page.run(  # noqa: E731
        "return [...document.querySelectorAll('#tables tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => [...row.querySelectorAll('td')].map((cell) => cell.innerText))")
    assert len(rows()) == 20
    heads = page.all("#tables thead button")
    heads[2].click()
    calls = [int(cells[1]) for cells in rows()]
    assert calls == sorted(calls, reverse=True) and calls[0] == 59
    heads[2].press(Keys.ENTER)
    assert rows()[0][1] == "0"
    page.one("button.more").click()
    assert len(rows()) == 60


def luminance(page, selector, kind="backgroundColor"):
    colour = page.run("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, kind)
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])


def check_dark(page):
    light = luminance(page, "body")
    picture = "return document.querySelector('.panel canvas').toDataURL()"
    bright = page.run(picture)
    page.browser.command("Emulation.setEmulatedMedia",
                                 {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
    try:
        web.wait(lambda: page.run(picture) != bright, "a dark canvas")
        assert luminance(page, "body") < light / 3
        assert luminance(page, "body", "color") > 600
    finally:
        page.browser.command("Emulation.setEmulatedMedia", {"features": []})


def overflow(page):
    return page.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def check_narrow(page):
    """No scrolling sideways at 320 CSS pixels, which is 1280 at 400 % (WCAG 1.4.10)."""
    try:
        for width, scale in ((320, 1), (600, 2), (1200, 1)):
            page.browser.command("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 800, "deviceScaleFactor": scale, "mobile": False})
            web.settle(page.browser)
            assert overflow(page) <= 0, (width, overflow(page))
            assert page.one(".panel canvas").size["width"] <= width
            page.canvas()
            page.key(Keys.ARROW_DOWN)
            assert page.readout
    finally:
        page.browser.command("Emulation.clearDeviceMetricsOverride", {})


def check_print(page):
    data = page.browser.command("Page.printToPDF", {"preferCSSPageSize": True})["data"]
    assert len(data) > 20000
    page.browser.command("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not page.one(".toolbar").is_displayed() and not page.one("nav").is_displayed()
        assert page.one("#trust").is_displayed() and page.one("#tables table").is_displayed()
        assert overflow(page) <= 0
    finally:
        page.browser.command("Emulation.setEmulatedMedia", {"media": ""})


def check_targets(page):
    """Buttons are at least 24 pixels high and wide (WCAG 2.5.8)."""
    for button in page.all("#timelines button, #trees button"):
        if button.is_displayed():
            assert button.size["height"] >= 24 and button.size["width"] >= 24, button.text


def check_without_script(page):
    page.browser.command("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.browser.get((page.folder / "two.html").as_uri())
        body = page.one("body").text
    finally:
        page.browser.command("Emulation.setScriptExecutionDisabled", {"value": False})
    for text in ("Load balance", "multiplicative", "function_59", "rank 3", "drawn by the script of this page"):
        assert text in body, text


def check_old_browser(page):
    """Without DecompressionStream the overview and the tables stay."""
    script = page.browser.command("Page.addScriptToEvaluateOnNewDocument",
                                          {"source": "delete globalThis.DecompressionStream"})
    try:
        page.open("two")
        assert "too old" in page.one("#timelines").text
        assert len(page.all("#tables tbody tr")) == 60
    finally:
        page.browser.command("Page.removeScriptToEvaluateOnNewDocument", script)


def check_hostile(page):
    page.open("hostile")
    assert page.run("return document.images.length") == 0
    assert "</script><img src=x onerror=alert(1)>" in page.one(".panel h3").text
    page.canvas()
    page.key(Keys.ARROW_LEFT)
    assert "<img src=x onerror=alert(2)>\\xe2\\x80\\xae\\xff&\"'" in page.readout, page.readout


def check_focus_order(page):
    """Tab goes through what can be used in the order in which it stands, and never gets caught."""
    page.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    order = []
    for _ in range(60):
        page.browser.press(Keys.TAB)
        top = page.run("const e = document.activeElement, all = [...document.querySelectorAll('*')];"
                       "return e === document.body ? -1 : all.indexOf(e)")
        if top < 0:
            break
        order.append(top)
    assert len(order) > 25 and order == sorted(order), order


CHECKS = [value for name, value in sorted(globals().items()) if name.startswith("check_")]


def main():
    only = sys.argv[2:]
    browser, failed = web.start(), 0
    with tempfile.TemporaryDirectory() as folder:
        page = Page(browser, pathlib.Path(folder))
        for kind in ("two", "hostile"):
            subprocess.run([MAKE_PAGE, kind, page.folder / f"{kind}.html"], check=True)
        try:
            for check in CHECKS:
                if only and check.__name__ not in only:
                    continue
                page.open("two")
                try:
                    check(page)
                    said = web.complaints(browser, page.folder)
                    assert not said, said
                    print("ok     ", check.__name__)
                except AssertionError as error:
                    failed += 1
                    line = error.__traceback__
                    while line.tb_next:
                        line = line.tb_next
                    print("FAILED ", check.__name__, "line", line.tb_lineno, error)
                    browser.heard.clear()
        finally:
            browser.quit()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
