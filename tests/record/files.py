"""Files of a program, as `lull metrics --by file` has them: each as the program says, and as strace
counts bytes, where it is there. Without --files there are none.

    files.py --lull LULL -- PROGRAM [FORM...]
"""
import argparse
import fileinput
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

COLUMNS = ("kind", "opens", "reads", "bytes_read", "writes", "bytes_written", "others")
CALLS = "read,write,pread64,pwrite64,readv,writev,preadv,pwritev"


def call(command, **more):
    done = subprocess.run(command, env=launch.environment(), capture_output=True, text=True,
                          timeout=600, **more)
    if done.returncode != 0:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def files_of(lull, run):
    document = json.loads(call([lull, "metrics", "--whole", "--by", "file", "--format", "json", run]))
    for name, table in document["tables"].items():
        if name.startswith("files:"):
            columns = [column["id"] for column in table["columns"]]
            return {row["id"]: dict(zip(columns, row["values"])) for row in table["rows"]}
    return {}


def expected(text, folder):
    found = {}
    for line in text.splitlines():
        name, kind, *numbers = line.split()
        path = os.path.join(folder, name) if kind == "file" else name
        found[path] = dict(zip(COLUMNS, [kind] + [int(n) for n in numbers]))
    return found


def by_strace(command, folder):
    """{path: [bytes read, bytes written]} of the files in the folder; None: it does not work."""
    log = folder + ".strace"
    if not shutil.which("strace"):
        return None
    done = subprocess.run(["strace", "-ff", "-y", "-o", log, "-e", "trace=" + CALLS] + command,
                          capture_output=True, env=launch.environment(), timeout=600)
    if done.returncode != 0:
        return None
    found = {}
    for line in fileinput.input(glob.glob(log + ".*")): # one for each thread
        match = re.search(r"(\w+)\(\d+<([^>]*)>(?:\(deleted\))?.* = (\d+)$", line)
        if match and match[2].startswith(folder + os.sep):
            moved = found.setdefault(match[2], [0, 0])
            moved["write" in match[1]] += int(match[3])
    return found


def compare(form, seen, wanted, traced):
    wrong = 0
    for path in sorted(set(seen) | set(wanted)):
        got = {key: seen[path][key] for key in COLUMNS} if path in seen else None
        if got != wanted.get(path):
            print(f"{form}: {path}: recorded {got}, expected {wanted.get(path)}")
            wrong += 1
    for path, moved in sorted((traced or {}).items()):
        got = [seen.get(path, {}).get(key, 0) for key in ("bytes_read", "bytes_written")]
        if got != moved:
            print(f"{form}: {path}: recorded {got}, strace {moved}")
            wrong += 1
    return wrong


def test(lull, program, form, folder):
    files = os.path.join(folder, "files.folder")
    command, run = [program, files, form], os.path.join(folder, "run")
    os.mkdir(files)
    wanted = expected(call([lull, "record", "--files", "-o", run, "--"] + command), files)
    seen = files_of(lull, run)
    traced = by_strace(command, files) if form in ("descriptors", "threads") else None
    wrong = compare(form, seen, wanted, traced)
    if any(values["time"] <= 0 for values in seen.values() if values["reads"] + values["writes"]):
        print(f"{form}: a file that was written has no time")
        wrong += 1
    call([lull, "record", "--force", "-o", run, "--"] + command)
    if files_of(lull, run):
        print(f"{form}: there are files without --files")
        wrong += 1
    print(f"{form}: {len(wanted)} files, {wrong} differ, strace saw {len(traced or {})}")
    return wrong


def main():
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    settings = parser.parse_args(sys.argv[1:cut])
    program, *forms = sys.argv[cut + 1:]
    wrong = 0
    for form in forms:
        with tempfile.TemporaryDirectory() as folder:
            wrong += test(settings.lull, program, form, os.path.realpath(folder))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
