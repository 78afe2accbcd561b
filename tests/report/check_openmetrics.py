#!/usr/bin/env python3
"""What `lull top --openmetrics` writes, as the parsers of Prometheus' own client see it, against what lull prints as JSON.

    check_openmetrics.py LULL DATA

Exits with 77 where prometheus_client is missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

DEBIAN = "/usr/bin/python3"
try:
    import prometheus_client.openmetrics.parser
    import prometheus_client.parser
except ImportError:
    if sys.executable != DEBIAN and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("skipped: python3-prometheus-client is not here")
    sys.exit(77)


def samples_of(families):
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for family in families for sample in family.samples}


def told(lull, *words):
    return json.loads(subprocess.run([lull, *words, "--format", "json"], check=True, capture_output=True).stdout)


def by_label(samples, name, label):
    return {dict(labels)[label]: value for (of, labels), value in samples.items() if of == name}


def check(lull, run, shown, folder):
    path = os.path.join(folder, "lull.prom")
    look = told(lull, "top", run, "--openmetrics", path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    families = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
    samples = samples_of(families)
    assert samples == samples_of(prometheus_client.parser.text_string_to_metric_families(text))
    assert {family.name for family in families} == {"lull_recorded_seconds", "lull_processes", "lull_efficiency_ratio"}, families
    assert all(dict(labels)["run"] == shown for _, labels in samples), list(samples)[0]

    [recorded] = [value for (name, _), value in samples.items() if name == "lull_recorded_seconds"]
    assert recorded == look["facts"]["recorded"], recorded
    states = by_label(samples, "lull_processes", "state")
    assert states == {"elsewhere": 0, "running": 0, "stopped": 0, "ended": look["facts"]["processes_ended"]}, states

    efficiencies = by_label(samples, "lull_efficiency_ratio", "metric")
    metrics = told(lull, "metrics", run, "--scheme", "all")
    checked = 0
    for table in metrics["tables"].values():
        for row in table["rows"]:
            [value] = row["values"]
            if row["id"] in efficiencies:
                assert abs(efficiencies[row["id"]] - value) < 1e-9, row
                checked += 1
    assert checked > 10, checked


def main():
    lull, data = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="lull-openmetrics-") as folder:
        for name, shown in ((b"plain", "plain"), (b'a"b\\c', 'a"b\\c'), (b"a\nb\tc", "a b c"), (b"\x1b[31m", "\\x1b[31m"),
                            (b"\xff", "\\xff"), ("Wärme".encode(), "Wärme")):
            run = os.path.join(folder.encode(), name)
            shutil.copytree(os.path.join(data, "tape", "heat-2x1"), os.fsdecode(run))
            check(lull, run, folder + "/" + shown, folder)
    print("6 runs")


main()
