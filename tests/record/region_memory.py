"""The most that a process had while it was in a marked region (lull record --region-memory) is, of one region after the
other, of nested ones and of two threads, what the system's high-water mark is of a program that has that region alone. Without
the option, the system's mark is left to the program. Where the system refuses to reset it, this is said.

    region_memory.py --lull LULL --program REGION_MEMORY
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

KIB, SLACK = 1 << 10, 4 << 20  # what the recorder has, and how far the counters of Linux may lag behind
VISITS = 20000


def run(words):
    """Its status, the most that was resident by the system (of the process that was waited for), output, messages."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(words, stdout=out, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said.seek(0)
        return process.returncode, KIB * usage.ru_maxrss, out.read(), said.read()


def told(lull, run_folder):
    """By region: (most, visits measured, visits)."""
    done = subprocess.run([lull, "metrics", "--by", "region", "--format", "json", run_folder], check=True,
                          capture_output=True, text=True)
    tables = [table for name, table in json.loads(done.stdout)["tables"].items() if name.startswith("region_memory")]
    if not tables:
        return {}
    ids = [column["id"] for column in tables[0]["columns"]]
    at = [ids.index(name) for name in ("memory", "measured", "visits")]
    return {row["label"].strip(): tuple(row["values"][i] for i in at) for row in tables[0]["rows"]}


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    wrong = []

    def record(folder, name, program, *options):
        path = os.path.join(folder, name)
        done = run([settings.lull, "record", *options, "-o", path, settings.program, *program])
        if done[0] != 0 and "killed" not in program:
            wrong.append("%s: status %d: %s" % (name, done[0], done[3]))
        return path, KIB * int(done[2] or 0), done[3]

    def compare(name, found, expected):
        for region, most in expected.items():
            value = found.get(region, (0, 0, 0))
            if abs(value[0] - most) > SLACK or value[1:] != (1, 1):
                wrong.append("%s: %s: %r, alone it has %d" % (name, region, value, most))
        if set(found) != set(expected):
            wrong.append("%s: regions %r" % (name, sorted(found)))

    with tempfile.TemporaryDirectory() as folder:
        alone = {region: run([settings.program, region])[1] for region in ("big", "small", "outer")}
        alone["inner"] = alone["outer"]  # has all that outer has at that moment
        for name, program, options in (("ends", ["all"], []), ("killed", ["all", "killed"], []),
                                       ("profile", ["all"], ["--profile"])):
            path = record(folder, name, program, "--region-memory", *options)[0]
            compare(name, told(settings.lull, path), alone)
            if options:
                continue
            subprocess.run([settings.lull, "convert", "--to", "tape", path, path + ".copy"], check=True, capture_output=True)
            if told(settings.lull, path + ".copy") != told(settings.lull, path):
                wrong.append("%s: the copy says something else" % name)
        path = record(folder, "threads", ["threads"], "--region-memory")[0]
        compare("threads", told(settings.lull, path),
                {"big": alone["big"], "small": alone["small"], "waits": alone["small"]})
        path = record(folder, "often", ["often", str(VISITS)], "--region-memory")[0]
        found = told(settings.lull, path)
        if found.get("often", ())[2:] != (VISITS,) or not 1 <= found["often"][1] <= VISITS:
            wrong.append("often: %r" % found)
        path, mark, said = record(folder, "off", ["all"])
        if told(settings.lull, path) or mark < alone["big"]:
            wrong.append("off: %r, and the program says %d" % (told(settings.lull, path), mark))
        path, mark, said = record(folder, "later", ["refused"], "--region-memory")
        if set(told(settings.lull, path).values()) != {(None, 0, 1)}:
            wrong.append("later: %r" % told(settings.lull, path))
        os.environ["REGION_MEMORY_REFUSED"] = "1"
        path, mark, said = record(folder, "refused", ["all"], "--region-memory")
        if told(settings.lull, path) or mark < alone["big"] or said.count("clear_refs: Permission denied") != 1:
            wrong.append("refused: %r, the program says %d, lull %r" % (told(settings.lull, path), mark, said))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
