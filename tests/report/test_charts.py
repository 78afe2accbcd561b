#!/usr/bin/env python3
"""What the scaling charts of a report draw: speedup, efficiencies, lost core-seconds.

usage: test_charts.py LULL TESTS

Numbers are read off the drawing: places of marks and areas, by the scale that the labels of the axes make.
They are compared with numbers worked out by hand for the traces of tests/golden/README.md, and, for the
runs of EPOCH where they are found, with the seconds that `lull metrics --by thread` prints. A drawing has a
tenth of a point, which is what both may differ by."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

LULL = pathlib.Path(sys.argv[1]).resolve()
TESTS = pathlib.Path(sys.argv[2]).resolve()
CONFORMANCE = pathlib.Path(os.environ.get("LULL_CONFORMANCE_DIR") or TESTS / "../../shared/traces")
SVG = "{http://www.w3.org/2000/svg}"
# What an activity is called in the chart of losses.
CAUSES = {"mpi_p2p": "MPI messages", "mpi_collective": "other MPI", "mpi_one_sided": "other MPI", "mpi_io": "other MPI",
          "mpi_other": "other MPI", "omp_sync": "OpenMP", "omp_schedule": "OpenMP", "omp_lock": "OpenMP", "idle": "idle"}


class Axis:
    """From two of its ticks: [place, value]."""

    def __init__(self, ticks):
        (self.place, self.value), (place, value) = ticks[0], ticks[-1]
        self.scale = (value - self.value) / (place - self.place)

    def __call__(self, place):
        return self.value + (place - self.place) * self.scale

    @property
    def error(self):
        return abs(self.scale) * 0.1


def numbers(path):
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]


def read_ticks(elements, kind):
    """A tick is a path, and the text behind it is its value."""
    ticks = []
    for path, text in zip(elements, elements[1:]):
        if path.get("class") == kind and not path.get("fill") and text.tag == SVG + "text":
            left, top = numbers(path)[:2]
            ticks.append([top if kind == "grid" else left, float(text.text)])
    return ticks


class Chart:
    """{series: [[x, y], ...]}, of areas {series: [[x, low, high], ...]}."""

    def __init__(self, text):
        elements = list(xml.etree.ElementTree.fromstring(text))
        grid = next(i for i, e in enumerate(elements) if e.get("class") == "grid")
        self.x, self.y = Axis(read_ticks(elements, "axis")), Axis(read_ticks(elements, "grid"))
        labels = [e.text for e in elements[:grid] if e.tag == SVG + "text"][1:]  # behind the title
        drawn = [e for e in elements[grid:] if re.fullmatch(r"s\d (line|curve|stack)", e.get("class") or "")]
        assert len(labels) == len(drawn), (labels, len(drawn))
        self.series = {label: self.read(path) for label, path in zip(labels, drawn)}

    def read(self, path):
        values = numbers(path)
        points = [[self.x(x), self.y(y)] for x, y in zip(values[::2], values[1::2])]
        if "stack" not in path.get("class"):
            return points
        upper, lower = points[:len(points) // 2], points[len(points) // 2:][::-1]
        return [[x, low, high] for (x, high), (_, low) in zip(upper, lower)]

    def check(self, series, expected):
        drawn = self.series[series]
        assert len(drawn) == len(expected), (series, drawn, expected)
        for point, wanted in zip(drawn, expected):
            assert abs(point[0] - wanted[0]) <= self.x.error, (series, point, wanted)
            for a, b in zip(point[1:], wanted[1:]):
                assert abs(a - b) <= self.y.error, (series, point, wanted)


OMP2 = 1000  # us that omp2 lasts: the last time of its trace
TITLES = {"speedup": "Speedup", "efficiencies": "Efficiencies", "losses": "Lost time of all threads, by cause"}


def charts_of(runs, folder, *options, titles=TITLES):
    page = pathlib.Path(folder) / "page.html"
    subprocess.run([LULL, "report", *runs, "-o", page, *options], check=True, capture_output=True)
    text = page.read_text()
    return {name: Chart(re.search(f'<svg [^>]*aria-label="{title}".*?</svg>', text, re.DOTALL).group())
            for name, title in titles.items()}


def check_by_hand(folder):
    """mpi1: 950 of 1000 us useful; mpi2: (500 + 400) of 2 x 600 us. What is not useful is a collective operation."""
    data = TESTS / "data/golden"
    charts = charts_of([data / "mpi1.prv", data / "mpi2.prv"], folder, "--no-replay")
    charts["speedup"].check("measured", [[1, 1], [2, 1000 / 600]])
    charts["speedup"].check("ideal", [[1, 1], [2, 2]])
    efficiencies = charts["efficiencies"]
    efficiencies.check("Parallel efficiency", [[1, 0.95], [2, 900 / 1200]])
    efficiencies.check("Computation scaling", [[1, 1], [2, 950 / 900]])
    efficiencies.check("Global efficiency", [[1, 0.95], [2, 900 / 1200 * 950 / 900]])
    assert list(charts["losses"].series) == ["other MPI"], "mpi2 computes for less time than mpi1"
    charts["losses"].check("other MPI", [[1, 0, 50e-6], [2, 0, 300e-6]])
    print("agrees: numbers by hand")


def check_layouts(folder):
    """mpi1 (1 x 1), omp2 (1 x 2) and mpi2 (2 x 1): a line for each kind, which the run of one thread begins."""
    data = TESTS / "data/golden"
    titles = {"speedup": "Speedup", "processes": TITLES["losses"] + ", one thread per process",
              "threads": TITLES["losses"] + ", one process"}
    charts = charts_of([data / "mpi1.prv", data / "omp2.prv", data / "mpi2.prv"], folder, "--no-replay", titles=titles)
    assert set(charts["speedup"].series) == {"measured, one thread per process", "measured, one process", "ideal"}
    charts["speedup"].check("measured, one thread per process", [[1, 1], [2, 1000 / 600]])
    charts["speedup"].check("measured, one process", [[1, 1], [2, 1000 / OMP2]])
    charts["processes"].check("other MPI", [[1, 0, 50e-6], [2, 0, 300e-6]])
    charts["threads"].check("other MPI", [[1, 0, 50e-6], [2, 0, 0]])
    print("agrees: layouts")


def seconds_of(run):
    """Of all threads, by activity."""
    output = subprocess.run([LULL, "metrics", run, "--by", "thread", "--no-replay", "--format", "json"], check=True,
                            capture_output=True, text=True).stdout
    table = next(t for name, t in json.loads(output)["tables"].items() if name.startswith("threads:"))
    columns = [column["id"] for column in table["columns"]]
    sums = dict.fromkeys(columns[1:], 0)
    for row in table["rows"]:
        for column, value in zip(columns[1:], row["values"][1:]):
            sums[column] += value or 0
    return len(table["rows"]), sums


def check_epoch(folder):
    """Each cause stands on the one before; what is computed beyond the run on one process is lost, too."""
    runs = [CONFORMANCE / "epoch-mpi" / f"epoch_{n}proc.prv.gz" for n in (1, 4, 8)]
    if not all(run.exists() for run in runs):
        print("skipped: the runs of EPOCH are not here")
        return
    chart = charts_of(runs, folder, "--no-replay")["losses"]
    of_runs = [seconds_of(run) for run in runs]
    bottom = [0, 0, 0]
    for cause, drawn in chart.series.items():
        expected = []
        for i, (threads, seconds) in enumerate(of_runs):
            lost = sum(s for activity, s in seconds.items()
                       if activity != "useful" and CAUSES.get(activity, "I/O, tracer, other") == cause)
            if cause == "longer computation":
                lost = max(0, seconds["useful"] - of_runs[0][1]["useful"])
            expected.append([threads, bottom[i], bottom[i] + lost])
            bottom[i] += lost
        chart.check(cause, expected)
        assert drawn
    everything = sum(of_runs[2][1].values()) - of_runs[0][1]["useful"]
    assert abs(bottom[2] - everything) <= chart.y.error, "the stack is all that 8 processes take longer than 1 computes"
    print("agrees: EPOCH, lost on 8 processes", round(bottom[2], 2), "core-seconds")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_by_hand(folder)
        check_layouts(folder)
        check_epoch(folder)


if __name__ == "__main__":
    main()
