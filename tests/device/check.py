"""scripts/device-check, on the mock of tests/record/cuda, and where what it needs is missing.

    check.py --lull LULL --mock FOLDER
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "device-check")


def check(settings, words, folder):
    environment = launch.environment(MOCK=words, LULL_CLOCK="system",
                                     LD_LIBRARY_PATH=settings.mock + ":" + os.path.join(settings.mock, "13"))
    for name in ("CUDA_HOME", "CUDA_INJECTION64_PATH"):
        environment.pop(name, None)
    return subprocess.run([sys.executable, SCRIPT, "--mock", "--lull", settings.lull, "--program",
                           os.path.join(settings.mock, "streams"), "--keep", folder],
                          capture_output=True, text=True, env=environment, timeout=1700)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lull", required=True)
    parser.add_argument("--mock", required=True)
    settings = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        good = check(settings, "long", folder)
        lines = [line for line in good.stdout.splitlines() if line.startswith("two streams: kernels beside CUDA events")]
        if good.returncode != 0 or len(lines) != 1 or not lines[0].endswith("  ok"):
            wrong.append(f"on the mock: status {good.returncode}\n{good.stdout}{good.stderr}")
        if not os.path.isdir(os.path.join(folder, "streams.lull")):
            wrong.append("the run is not kept")
        # Times that are an hour wrong now and then are not recorded: kernels are missing, and the table says so.
        bad = check(settings, "long,odd-times", folder)
        if bad.returncode != 1 or "NOT OK" not in bad.stdout:
            wrong.append(f"with odd times: status {bad.returncode}\n{bad.stdout}{bad.stderr}")
        nothing = os.path.join(folder, "nothing")
        os.mkdir(nothing)
        missing = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True,
                                 env=launch.environment(PATH=nothing), timeout=60)
        if missing.returncode != 77 or not re.fullmatch("device-check: there is no GPU of NVIDIA here .*\n", missing.stderr):
            wrong.append(f"without a GPU: status {missing.returncode}, {missing.stderr}")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


sys.exit(main())
