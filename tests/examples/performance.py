#!/usr/bin/env python3
"""The example of a check in continuous integration, on runs that are replayed with seeded noise: it
passes where nothing changed, and fails where a region was made slower, which it names.

usage: performance.py LULL SCRIPT RUN
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

REGION = "!$omp parallel @heat+0x1810"
# Another seed for each run: how many there are already.
RUN_OF = """
n=$(cat "$COUNTER"); echo $((n + 1)) > "$COUNTER"
exec "$LULL" replay "$BASE" --inject exponential:mean=200us --seed $((n + 1)) -o "$LULL_RUN" "$@"
"""


def check(script, environment, history, count, *planted, wanted):
    command = [script, str(history), str(count), "sh", "-c", RUN_OF, "run", *planted]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode != wanted:
        sys.exit(f"status {done.returncode}, expected {wanted}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    lull, script, run = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        history, counter = folder / "performance.jsonl", folder / "counter"
        counter.write_text("0\n")
        scratch = folder / "scratch"
        scratch.mkdir()
        environment = dict(os.environ, LULL=lull, BASE=run, TMPDIR=str(scratch), COUNTER=str(counter), KEEP="yes",
                           REPORTS=name, LC_ALL="C", GITHUB_SHA="", CI_COMMIT_SHA="")
        check(script, environment, history, 12, wanted=0)
        assert history.read_text().count("\n") == 12
        out = check(script, environment, history, 4, wanted=0)
        assert out.startswith("Verdict  pass"), out
        assert history.read_text().count("\n") == 16

        # Two fifths more of what takes about half of the time.
        out = check(script, environment, history, 4, "--region", f"{REGION}=1.4", wanted=3)
        first = next(line for line in out.splitlines() if line.startswith("First to look at"))
        assert REGION in first, out
        assert history.read_text().count("\n") == 16
        assert REGION in (folder / "annotations.txt").read_text()
        assert REGION in (folder / "performance.md").read_text()
        failures = xml.etree.ElementTree.parse(folder / "performance.xml").findall(".//failure")
        assert len(failures) == 1 and REGION in failures[0].get("message")
        xml.etree.ElementTree.parse(folder / "performance.svg")

        # Three runs tell too little; what is unknown is kept, so that it does not stay unknown.
        young = folder / "young.jsonl"
        check(script, environment, young, 3, wanted=0)
        check(script, environment, young, 1, wanted=4)
        assert young.read_text().count("\n") == 4
        assert not list(scratch.iterdir()), "something is left behind"
    print("passed")


main()
