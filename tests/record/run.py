"""Records a program and checks the run against what the program says about itself.

    run.py --lull LULL --check CHECK_RUN [--env NAME=VALUE...] [--option OPTION...] [--clock]
           [--bytes N] [--as-it-is] -- COMMAND...
                                              N: on disk for a location, on average, at most

The run is packed and unpacked, too, and read without what it says of its ends, unless --as-it-is. With --clock, times are compared that others can change who use the machine (check_run.c).
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import ends
import launch
import packed
import tape_parts


def too_large(run, most):
    """A location takes more than that on disk."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(run) for name in names]
    size = sum(os.stat(path).st_blocks * 512 for path in paths) # on disk
    locations = sum(name.endswith(".sums") for files in tape_parts.take_all_apart(run)
                    for name in files)
    if size <= most * locations:
        return False
    print(f"{size} bytes for {locations} locations, expected {most} for each at most")
    return True


def main():
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--check", required=True)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--clock", action="store_true")
    parser.add_argument("--as-it-is", action="store_true")
    settings = parser.parse_args(sys.argv[1:cut])
    command = sys.argv[cut + 1:]
    environment = launch.environment(**dict(pair.split("=", 1) for pair in settings.env))
    alone = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if alone.returncode != 0:
        print(f"skipped: {command[0]} does not work here: status {alone.returncode}\n{alone.stderr}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        recorded = subprocess.run([settings.lull, "record", "-o", run] + settings.option + ["--"]
                                  + command, env=environment, capture_output=True, text=True,
                                  timeout=600)
        sys.stderr.write(recorded.stderr)
        if recorded.returncode != 0:
            print(f"status {recorded.returncode}, alone {alone.returncode}")
            return 1
        said = re.search("^lull record: (.*) Next: lull report (.*)$", recorded.stderr, re.M)
        time = r"(?:[1-9]\d{0,2} us|[\d.]{1,4} m?s)"
        if said and (not re.fullmatch(rf"\d+ ranks? x \d+ threads?, {time}: rank 0 has \d+ events, [\d.]+ MiB"
                                      rf"(?:, of which the newest are kept)?; recording them took about {time}\.",
                                      said[1]) or shlex.split(said[2]) != [run]):
            print(f"the recorder says '{said[0]}'")
            return 1
        check = subprocess.run([settings.check] + ["--clock"] * settings.clock + [run], input=recorded.stdout, text=True,
                               capture_output=True, timeout=600)
        print(check.stdout)
        if settings.as_it_is:
            return check.returncode
        # By turns: what each command makes of a packed run is looked at with every third program.
        turn = zlib.crc32(" ".join([*settings.option, *command[1:], os.path.basename(command[0])]).encode())
        complaints = packed.check(settings.lull, run, [packed.COMMANDS[turn % len(packed.COMMANDS)]])
        print("".join(f"packed: {complaint}\n" for complaint in complaints), end="")
        for complaint in ends.check(settings.lull, run):
            print("ends:", complaint)
            complaints.append(complaint)
        if complaints:
            return 1
        if settings.bytes and too_large(run, settings.bytes):
            return 1
        return check.returncode


sys.exit(main())
