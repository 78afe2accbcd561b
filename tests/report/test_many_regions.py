#!/usr/bin/env python3
"""A run with 10^6 regions: its report is bounded in size and memory, adds up, and says what it leaves out.

usage: test_many_regions.py LULL

The run is a trace of Paraver that is written here: one process calls 10^6 functions one after the other, the
i-th for i + 1 ns."""

import pathlib
import re
import resource
import subprocess
import sys
import tempfile

LULL = pathlib.Path(sys.argv[1]).resolve()
REGIONS = 1000000
MOST_PAGE, MOST_MEMORY = 4 << 20, 1 << 30  # bytes: what is asked for, and what reports may take


def write_run(folder):
    """Function i begins at i (i + 1) / 2 ns; 0 ends the last one."""
    end = REGIONS * (REGIONS + 1) // 2
    run = folder / "many.prv"
    with open(run, "w", encoding="ascii") as out:
        out.write(f"#Paraver (01/01/2026 at 00:00):{end}_ns:1(1):1:1(1:1),0\n")
        out.write("1:1:1:1:1:0:%d:1\n" % end)
        out.writelines("2:1:1:1:1:%d:60000019:%s%d\n" % (i * (i + 1) // 2, "0:60000019:" if i else "", i + 1)
                       for i in range(REGIONS))
        out.write("2:1:1:1:1:%d:60000019:0\n" % end)
    with open(folder / "many.pcf", "w", encoding="ascii") as out:
        out.write("DEFAULT_OPTIONS\n\nSTATES\n0    Idle\n1    Running\n\n")
        out.write("EVENT_TYPE\n0    60000019    User function\nVALUES\n0      End\n")
        out.writelines("%d      function_%07d_of_a_generated_program\n" % (i + 1, i) for i in range(REGIONS))
    return run


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = write_run(folder)
        page = folder / "page.html"
        subprocess.run([LULL, "report", run, "--no-replay", "-o", page, "--max-size", "4MiB"], check=True,
                       capture_output=True)
        peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        assert peak <= MOST_MEMORY, peak
        text = page.read_text()
        assert len(text) <= MOST_PAGE, len(text)
        assert "(999700 others)" in text
        shown = set(re.findall(r"function_(\d{7})_of_a_generated_program", text))
        assert {f"{i:07}" for i in range(REGIONS - 300, REGIONS)} <= shown, "those with most time"
        assert len(shown) < 1000, "and few others"
        row = re.search(r"\(999700 others\).*?</tr>", text, re.DOTALL).group()
        cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
        # the 300 last ones take 299,955,150 of 500,000,500,000 ns
        assert cells[1] == "999,700" and cells[3] == "499.701 s", cells
        print(f"{len(text)} bytes of HTML, {peak >> 20} MiB")


if __name__ == "__main__":
    main()
