#!/usr/bin/env python3
"""What a run does not have is said on its page, at the place where it would be seen.

usage: test_absent.py LULL TESTS"""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

LULL = pathlib.Path(sys.argv[1]).resolve()
GOLDEN = pathlib.Path(sys.argv[2]).resolve() / "data/golden"
HEAD = "#Paraver (01/01/2026 at 00:00):%d_ns:1(2):1:%s,%d\n"
RUNNING = "1:1:1:1:1:0:500:1\n1:2:1:2:1:0:100:1\n1:2:1:2:1:100:300:3\n1:2:1:2:1:300:1000:1\n"
RECEIVED_BEFORE_SENT = "3:1:1:1:1:500:500:2:1:2:1:100:300:8:7\n"


def lull(*words):
    return subprocess.run([LULL, *words], capture_output=True, text=True, check=False)


def page_of(run, folder):
    page = folder / "page.html"
    done = lull("report", run, "-o", page)
    assert done.returncode == 0, done.stderr
    return page.read_text()


def texts(page, tag, begin="", end="</html>"):
    """The texts of all elements of a kind between two marks."""
    part = page[page.index(begin):]
    part = part[:part.index(end)]
    return [html.unescape(re.sub("<[^>]*>", "", text))
            for text in re.findall(f"<{tag}[ >].*?</{tag.split()[0]}>", part, re.DOTALL)]


def trust(page):
    return texts(page, "tr", '<section id="trust"', "</section>"), texts(page, "li", '<section id="trust"', "</section>")


def absences(page):
    return texts(page, "p class=\"absent\"")


def check_sums_only(folder):
    saved = lull("metrics", GOLDEN / "mpi2.prv", "--format", "json")
    (folder / "sums.json").write_text(saved.stdout)
    page = page_of(folder / "sums.json", folder)
    assert "No timeline of mpi2: It is a saved profile: sums without times. A timeline needs the trace." in absences(page)


def check_one_rank_without_messages_or_counters(folder):
    page = page_of(GOLDEN / "functions-a.prv", folder)
    assert absences(page) == [
        "Communication of functions-a: The run has no messages between processes.",
        "Iterations of functions-a: No iterations were found: the run has one rank, and no one to pass a wave on to."]
    rows, reasons = trust(page)
    counters = next(row for row in rows if row.startswith("Hardware counters"))
    number = re.search(r"\[\d\]$", counters.strip()).group()
    assert f"{number} no counters of instructions and cycles were recorded" in reasons, (counters, reasons)
    assert "nothing to compare with" in page


def check_clocks_apart(folder):
    """A message that was received before it was sent: no replay, and the overview says whose fault that is."""
    run = folder / "apart.prv"
    run.write_text(HEAD % (1000, "2(1:1,1:1)", 1) + "c:1:1:2:1:2\n" + RUNNING + RECEIVED_BEFORE_SENT + "1:1:1:1:1:500:1000:4\n")
    page = page_of(run, folder)
    assert any("the clocks of the processes must differ" in text for text in texts(page, "li"))
    _, reasons = trust(page)
    assert any(reason.endswith("messages arrive before they are sent") for reason in reasons), reasons


def check_no_length(folder):
    """Nothing can be said: one line, and no page."""
    run, page = folder / "zero.prv", folder / "zero.html"
    run.write_text(HEAD % (0, "1(1:1)", 0) + "1:1:1:1:1:0:0:1\n")
    done = lull("report", run, "-o", page)
    assert (done.returncode, done.stderr) == (1, f"lull report: {run}: no time was recorded\n"), done
    assert not page.exists()


def check_output_first(folder):
    """An output that cannot be written is told before the work: the run is not even looked for."""
    plain = folder / "plain"
    plain.write_text("")
    for output, status, cause in ((plain / "page.html", 1, "Not a directory"),
                                  (folder / "no/page.html", 1, "No such file or directory"),
                                  (folder, 2, "is a directory, expected a file")):
        done = lull("report", folder / "no-such-run", "-o", output, "--format", "html")
        assert done.returncode == status and done.stderr.count("\n") == 1, done
        assert str(output) in done.stderr and cause in done.stderr and "no-such-run" not in done.stderr, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_sums_only, check_one_rank_without_messages_or_counters, check_clocks_apart, check_no_length,
                      check_output_first):
            check(pathlib.Path(folder))
            print("ok", check.__name__)


if __name__ == "__main__":
    main()
