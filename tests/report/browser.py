"""A browser for tests of the page: Debian's chromium without a window, on file://, told what to do by the DevTools
protocol over a pipe. Each step of a test is one short message: a driver in between would compile its own scripts in the
page for every key.

Exits with 77, and says why, where chromium is missing."""

import base64
import fcntl
import io
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 600  # s: for what never comes, also where a busy machine makes all else slow
# Features: chromium fetches no pages for buttons of its own, which nobody sees.
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
             "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
             "--disable-extensions", "--password-store=basic", "--enable-automation", "--allow-pre-commit-input",
             "--force-device-scale-factor=1",
             "--disable-features=PreloadTopChromeWebUI,InitialWebUI,WebUIReloadButton,WebUIToolbar")
SHIFT_BIT = 8  # of the protocol's modifiers
WITH_SHIFT = '~!@#$%^&*()_+{}|:"<>?'


class Keys:
    """Keys without a character of their own; any other text stands for itself. SHIFT is held down for what follows it."""

    TAB, ENTER, SHIFT, ESCAPE = "\ue004", "\ue007", "\ue008", "\ue00c"
    ARROW_LEFT, ARROW_UP, ARROW_RIGHT, ARROW_DOWN = "\ue012", "\ue013", "\ue014", "\ue015"


# Name, number and text of each.
NAMED = {Keys.TAB: ("Tab", 9, ""), Keys.ENTER: ("Enter", 13, "\r"), Keys.SHIFT: ("Shift", 16, ""),
         Keys.ESCAPE: ("Escape", 27, ""), Keys.ARROW_LEFT: ("ArrowLeft", 37, ""), Keys.ARROW_UP: ("ArrowUp", 38, ""),
         Keys.ARROW_RIGHT: ("ArrowRight", 39, ""), Keys.ARROW_DOWN: ("ArrowDown", 40, "")}


def strokes(text):
    """What the protocol needs to hear of each key, down and up."""
    held = 0
    for letter in text:
        name, number, typed = NAMED.get(letter, (letter, ord(letter.upper()) if letter.isalnum() else 0, letter))
        if letter == Keys.SHIFT:
            held = SHIFT_BIT
        shift = held or (SHIFT_BIT if letter.isupper() or letter in WITH_SHIFT else 0)
        key = {"key": name, "code": name if len(name) > 1 else "", "windowsVirtualKeyCode": number, "modifiers": shift}
        yield {"type": "keyDown" if typed else "rawKeyDown", "text": typed, **key}
        if letter != Keys.SHIFT:
            yield {"type": "keyUp", **key}
    if held:
        yield {"type": "keyUp", "key": "Shift", "code": "Shift", "windowsVirtualKeyCode": 16, "modifiers": 0}


class Element:
    """One of the page."""

    def __init__(self, browser, handle):
        self.browser, self.handle = browser, handle

    def run(self, script, *arguments):
        """The element is arguments[0]."""
        return self.browser.run(script, self, *arguments)

    def all(self, selector):
        return self.browser.all(selector, self)

    @property
    def text(self):
        return self.run("return arguments[0].innerText").strip()

    @property
    def size(self):
        return self.run("const box = arguments[0].getBoundingClientRect(); return {width: box.width, height: box.height}")

    def attribute(self, name):
        """As it stands there; of an address or a value, what it has become. None: there is none."""
        return self.run("const [one, name] = arguments;"
                        "return name === 'href' || name === 'value' ? one[name] : one.getAttribute(name)", name)

    def is_displayed(self):
        return self.run("return arguments[0].checkVisibility({visibilityProperty: true})"
                        " && arguments[0].getClientRects().length > 0")

    def hand(self, x, y):
        """The mouse at a place of it."""
        left, top = self.run("const box = arguments[0].getBoundingClientRect(); return [box.left, box.top]")
        return Hand(self.browser, left + x, top + y)

    def click(self):
        """By mouse, in its middle, which nothing may cover."""
        x, y, covered = self.run(
            "const one = arguments[0]; one.scrollIntoViewIfNeeded(); const box = one.getClientRects()[0];"
            "const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;"
            "return [x, y, !one.contains(document.elementFromPoint(x, y))]")
        assert not covered, "something lies on what is to be clicked"
        Hand(self.browser, x, y).click()

    def choose(self, number):
        """One of the options of a list."""
        self.run("const [list, number] = arguments; list.focus(); list.selectedIndex = number;"
                 "for (const kind of ['input', 'change']) list.dispatchEvent(new Event(kind, {bubbles: true}))", number)

    def press(self, keys):
        self.run("if (document.activeElement !== arguments[0]) arguments[0].focus()")
        self.browser.press(keys)

    def clear(self):
        self.run("arguments[0].focus(); arguments[0].value = '';"
                 "arguments[0].dispatchEvent(new Event('input', {bubbles: true}))")


class Hand:
    """With a mouse, in CSS pixels of the window; each step is done at once."""

    def __init__(self, browser, x, y):
        self.browser, self.modifiers, self.buttons = browser, 0, 0
        self.to(x, y)

    def tell(self, kind, **more):
        self.browser.command("Input.dispatchMouseEvent", {
            "type": kind, "x": self.x, "y": self.y, "modifiers": self.modifiers, "buttons": self.buttons, **more})

    def to(self, x, y):
        self.x, self.y = x, y
        self.tell("mouseMoved")
        return self

    def move_by(self, x, y):
        """In two steps: a drag begins with the first."""
        return self.to(self.x + x / 2, self.y + y / 2).to(self.x + x / 2, self.y + y / 2)

    def hold(self, count=1):
        self.buttons = 1
        self.tell("mousePressed", button="left", clickCount=count)
        return self

    def release(self, count=1):
        self.buttons = 0
        self.tell("mouseReleased", button="left", clickCount=count)
        return self

    def click(self):
        return self.hold().release()

    def double_click(self):
        return self.click().hold(2).release(2)

    def with_shift(self):
        self.modifiers = SHIFT_BIT
        return self


class Browser:
    def __init__(self, binary, width, height):
        self.folder = tempfile.mkdtemp(prefix="lull-browser-")
        ours, theirs = os.pipe(), os.pipe()

        def pipes():
            reading, writing = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours[0], theirs[1]))
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [binary, *ARGUMENTS, f"--window-size={width},{height}", f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=pipes, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.writing, self.reading = ours[1], theirs[0]
        os.close(ours[0])
        os.close(theirs[1])
        self.session, self.count, self.rest, self.answers, self.heard = None, 0, b"", {}, []
        self.loads = 0
        target = wait(self.first_page, "the browser's first page")
        self.session = self.command("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(domain + ".enable")
        self.command("Emulation.setFocusEmulationEnabled", {"enabled": True})

    def first_page(self):
        targets = self.command("Target.getTargets")["targetInfos"]
        return next((one["targetId"] for one in targets if one["type"] == "page"), None)

    # ---- the protocol ----------------------------------------------------------------------------

    def send(self, method, parameters=None):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters or {}}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writing, data):]
        return self.count

    def receive(self):
        if not select.select([self.reading], [], [], PATIENCE)[0]:
            raise AssertionError("the browser does not answer")
        data = os.read(self.reading, 1 << 20)
        if not data:
            raise AssertionError("the browser has ended")
        *messages, self.rest = (self.rest + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message["method"] == "Page.loadEventFired":
                self.loads += 1
            else:
                self.heard.append(message)

    def answer(self, number):
        while number not in self.answers:
            self.receive()
        answer = self.answers.pop(number)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def command(self, method, parameters=None):
        return self.answer(self.send(method, parameters))

    # ---- the page --------------------------------------------------------------------------------

    def get(self, url):
        """Until it is loaded."""
        loads = self.loads
        answer = self.command("Page.navigate", {"url": url})
        assert not answer.get("errorText"), (url, answer)
        while "loaderId" in answer and self.loads == loads:
            self.receive()

    def evaluate(self, script, arguments):
        """What the body of a function returns, as the protocol tells it; of a promise what it comes to."""
        handles = [one.handle for one in arguments if isinstance(one, Element)]
        if handles:
            answer = self.command("Runtime.callFunctionOn", {
                "objectId": handles[0], "functionDeclaration": "function () {" + script + "}", "awaitPromise": True,
                "arguments": [{"objectId": one.handle} if isinstance(one, Element) else {"value": one}
                              for one in arguments]})
        else:
            answer = self.command("Runtime.evaluate", {
                "expression": "(function () {" + script + "}).apply(null, " + json.dumps(arguments) + ")",
                "awaitPromise": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"]

    def run(self, script, *arguments):
        """The value that the body of a function returns; an Element, where it is one."""
        result = self.evaluate(script, arguments)
        if result.get("subtype") == "node":
            return Element(self, result["objectId"])
        if "objectId" in result:
            return self.command("Runtime.callFunctionOn", {
                "objectId": result["objectId"], "functionDeclaration": "function () { return this; }",
                "returnByValue": True})["result"]["value"]
        return result.get("value")

    def run_until_done(self, script, *arguments):
        """What the script hands to its last argument, a function."""
        return self.run("return new Promise((done) => (function () {" + script + "}).call(null, ...arguments, done))",
                        *arguments)

    def all(self, selector, of=None):
        found = self.evaluate("return [...(arguments[1] || document).querySelectorAll(arguments[0])]",
                              (selector, *([of] if of else [])))
        listed = self.command("Runtime.getProperties", {"objectId": found["objectId"], "ownProperties": True})["result"]
        return [Element(self, one["value"]["objectId"]) for one in listed if one["name"].isdigit()]

    def one(self, selector):
        found = self.run("return document.querySelector(arguments[0])", selector)
        assert found, f"there is no {selector}"
        return found

    def press(self, keys):
        """Where the focus is."""
        numbers = [self.send("Input.dispatchKeyEvent", stroke) for stroke in strokes(keys)]
        for number in numbers:
            self.answer(number)

    def quit(self):
        try:
            self.session = None
            self.send("Browser.close")
        except OSError:
            pass  # it has ended
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def start(width=1200, height=1000):
    binary = shutil.which("chromium")
    if not binary or os.path.realpath(binary).startswith("/snap"):
        print("skipped: chromium of Debian is not here")
        sys.exit(77)
    return Browser(binary, width, height)


def wait(condition, what):
    """Polls; time is no part of what is tested."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"never came: {what}")


def settle(browser):
    """Until the page has drawn what it was asked to draw."""
    browser.run("return new Promise((done) =>"
                "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")


# Until the script of the page has done its work.
READY = """
const root = document.documentElement;
return root.dataset.ready || new Promise((done) => new MutationObserver((_, observer) => {
    if (!root.dataset.ready)
        return;
    observer.disconnect();
    done();
}).observe(root, {attributes: true}));
"""


def open_page(browser, path, fragment=""):
    if fragment:  # which alone would not load it anew
        browser.get("about:blank")
    browser.get(pathlib.Path(path).as_uri() + fragment)
    browser.run(READY)
    settle(browser)


def photograph(browser, path, width, height):
    """Writes the page's upper left corner as a picture of 256 colours, a third as large as one of all colours.
    Needs python3-pil."""
    from PIL import Image
    data = browser.command("Page.captureScreenshot", {
        "captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def complaints(browser, folder):
    """What the console said, and every request but those for pages of the folder, since the last call."""
    found, pages = [], [path.as_uri() for path in pathlib.Path(folder).glob("*.html")]
    for event in browser.heard:
        method, told = event["method"], event["params"]
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            found.append(json.dumps(told))
        elif method == "Network.requestWillBeSent":
            url = told["request"]["url"].split("#")[0]
            if url not in (*pages, "about:blank"):
                found.append("request: " + url)
    browser.heard.clear()
    return found
