#!/usr/bin/env python3
"""axe-core, the checker of accessibility rules, finds nothing in pages: light, dark, everything open.

usage: test_axe.py MAKE_PAGE FOLDER

Installs axe-core by npm into FOLDER, where it stays. Exits with 77 where npm cannot.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import browser as web  # noqa: E402  (after the path; may end the test)

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
RUN = """
const [rules, done] = arguments;
axe.run(document, {runOnly: rules}).then((result) => done(result.violations.map((one) =>
    [one.id, one.impact, one.help, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200) + " " + node.failureSummary)])));
"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def install(folder):
    source = folder / "node_modules/axe-core/axe.min.js"
    if source.exists():
        return source.read_text()
    if not shutil.which("npm"):
        skip("npm is not here")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / "axe" / name, folder)
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode or not source.exists():
        skip("npm cannot fetch axe-core: " + (done.stdout.strip().splitlines() or ["no message"])[-1])
    return source.read_text()


def main():
    make_page, axe = sys.argv[1], install(pathlib.Path(sys.argv[2]))
    browser, failed = web.start(), 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("one", "two", "hostile"):
                path = pathlib.Path(folder, kind + ".html")
                subprocess.run([make_page, kind, path], check=True)
                for scheme in ("light", "dark"):
                    browser.command("Emulation.setEmulatedMedia", {
                        "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                    web.open_page(browser, path)
                    browser.run(OPEN_ALL)
                    web.settle(browser)
                    browser.run(axe)
                    found = browser.run_until_done(RUN, RULES)
                    for violation in found:
                        print(kind, scheme, *violation)
                    failed += len(found)
                    print(kind, scheme, len(found), "violations")
    finally:
        browser.quit()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
