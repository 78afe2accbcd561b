"""A browser for tests of the page: Debian's chromium, driven by python3-selenium, on file://.

Exits with 77, and says why, where one of them is missing."""

import json
import os
import pathlib
import shutil
import sys
import time

DEBIAN = "/usr/bin/python3"
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    if sys.executable != DEBIAN and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("skipped: python3-selenium is not here")
    sys.exit(77)

PATIENCE = 600  # s: for what never comes, also where a busy machine makes all else slow


def start(width=1200, height=1000):
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver or os.path.realpath(binary).startswith("/snap"):
        print("skipped: chromium and chromium-driver of Debian are not here")
        sys.exit(77)
    options = Options()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update",
                     "--force-device-scale-factor=1", f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    browser.set_script_timeout(PATIENCE)
    return browser


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
    browser.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));")


def open_page(browser, path, fragment=""):
    browser.get("about:blank")
    browser.get(pathlib.Path(path).as_uri() + fragment)
    wait(lambda: browser.execute_script("return document.documentElement.dataset.ready"), "the page")
    settle(browser)


def complaints(browser, folder):
    """What the console said, and every request but those for pages of the folder."""
    found = [entry["message"] for entry in browser.get_log("browser")]
    pages = [path.as_uri() for path in pathlib.Path(folder).glob("*.html")]
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"].split("#")[0]
            if url not in (*pages, "about:blank"):
                found.append("request: " + url)
    return found
