"""Which clock a program is recorded with, and what the run says of it.

    which_clock.py --lull LULL --program UNMOVED

Files that say what a kernel would say stand in for the system's. What the program sees of itself must
be what it sees where nothing is recorded. No time that is measured is compared with another one.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

FLAGS = "flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_known_freq hypervisor\n"
KVM = {"current_clocksource": "kvm-clock\n", "available_clocksource": "kvm-clock tsc acpi_pm \n",
       "cpuinfo": FLAGS, "kvm": "stable\n"}
COUNTER, SYSTEM = "time stamp counter: ", "CLOCK_MONOTONIC, not the time stamp counter: "


class Study:
    def __init__(self, settings, folder):
        self.lull, self.program, self.folder, self.wrong = settings.lull, settings.program, folder, []
        self.alone = subprocess.run([self.program], capture_output=True, text=True, check=True).stdout

    def expect(self, what, holds, found):
        if not holds:
            self.wrong.append("%s: %r" % (what, found))

    def record(self, files, **variables):
        """Returns the facts of the run, what it says of itself, its oddities, and what was printed."""
        environment = {key: value for key, value in os.environ.items() if key != "LULL_CLOCK"}
        fake, run = os.path.join(self.folder, "fake"), os.path.join(self.folder, "run")
        shutil.rmtree(fake, ignore_errors=True)
        os.mkdir(fake)
        for name, text in (files or {}).items():
            with open(os.path.join(fake, name), "w") as file:
                file.write(text)
        if files is not None:
            variables["LULL_RECORD_CLOCK_FILES"] = fake
        done = subprocess.run([self.lull, "record", "--force", "-o", run, self.program],
                              env={**environment, **variables}, capture_output=True, text=True)
        self.expect("status", done.returncode == 0, done.stderr)
        self.expect("the program's output", done.stdout == self.alone, done.stdout)
        told = json.loads(subprocess.run([self.lull, "info", "--format", "json", run], check=True,
                                         capture_output=True, text=True).stdout)
        tables = {name: {row["id"]: row["values"] for row in table["rows"]}
                  for name, table in told["tables"].items()}
        about = {key: values[0] for key, values in tables["about"].items()}
        # The clock counts ns, or else ticks whose rate was measured.
        ns = told["facts"]["clock_resolution"] == "1 ns"
        self.expect("the tick", about["clock"].startswith(SYSTEM if ns else COUNTER),
                    (about["clock"], told["facts"]["clock_resolution"]))
        return told["facts"], about, json.dumps(told), done.stderr


def decisions(study):
    text = study.record(None)[1]["clock"]
    study.expect("this machine", text.startswith((COUNTER, SYSTEM)), text)
    for what, files, wish, expected in (
            ("asked for", None, "system", SYSTEM + "LULL_CLOCK asks for it"),
            ("asked for", None, "tsc", COUNTER + "LULL_CLOCK asks for it"),
            ("hpet", dict(KVM, current_clocksource="hpet\n"), "", SYSTEM + "the kernel's clock source is hpet"),
            ("tsc", dict(KVM, current_clocksource="tsc\n"), "", COUNTER + "the kernel's clock source is tsc"),
            ("no files", {}, "", SYSTEM + "the kernel's clock source is not known"),
            ("unstable", dict(KVM, kvm="unstable\n"), "",
             SYSTEM + "the kernel's clock source is kvm-clock, and the hypervisor does not say that the "
             "counters of all cores are alike")):
        text = study.record(files, LULL_CLOCK=wish)[1]["clock"]
        study.expect(what, text == expected, text)
    # Cores whose counters differ on this very machine would be seen here, and told.
    text = study.record(KVM)[1]["clock"]
    good = COUNTER + "the kernel's clock source is kvm-clock, but the hypervisor declares the counter stable"
    study.expect("compared", text == good or text.startswith(SYSTEM + "on core "), text)


def emulated(study):
    """An emulator that knows few ways to make processes."""
    words = ["valgrind", "-q", study.program]
    if not shutil.which("valgrind") or subprocess.run(words, capture_output=True).returncode != 0:
        print("left out: valgrind does not work here")
        return
    fake = os.path.join(study.folder, "fake")
    done = subprocess.run([study.lull, "record", "--force", "-o", os.path.join(study.folder, "run"), *words],
                          env={**os.environ, "LULL_RECORD_CLOCK_FILES": fake}, capture_output=True,
                          text=True)
    # How long children take is the emulator's affair.
    seen, alone = (re.sub("children of 50 ms: .*", "", text) for text in (done.stdout, study.alone))
    study.expect("valgrind", done.returncode == 0 and seen == alone, (done.stdout, done.stderr))


def refused(study):
    done = subprocess.run([study.lull, "record", "-o", os.path.join(study.folder, "none"), study.program],
                          env={**os.environ, "LULL_CLOCK": "sundial"}, capture_output=True, text=True)
    study.expect("status of what is no clock", done.returncode == 1 and done.stdout == "", done)
    study.expect("what is no clock", done.stderr ==
                 "lull record: LULL_CLOCK: expected tsc or system, got 'sundial'\n", done.stderr)
    study.expect("no run", not os.path.exists(os.path.join(study.folder, "none")), "it is there")


def drift(study):
    """The two clocks are told to be a second apart from the third comparison on, which is far more
    than a busy machine makes of the run's few ms."""
    kept = dict(KVM, current_clocksource="tsc\n")
    facts, about, told, said = study.record(kept)
    study.expect("no drift", "clock_drift" not in about and "keep time" not in told, about)
    facts, about, told, said = study.record(dict(kept, jump="1000000000\n"))
    drifted = about.get("clock_drift", "")
    study.expect("drift", drifted.startswith("the counter lost 1e+06 us against CLOCK_MONOTONIC_RAW between"),
                 drifted)
    study.expect("the oddity", "did not keep time" in told, told)
    study.expect("the clock's error", float(facts["clock_error"].split()[2]) > 0.99e9, facts)
    lines = [line for line in said.splitlines() if "against CLOCK_MONOTONIC_RAW" in line]
    study.expect("one line", len(lines) == 1 and "LULL_CLOCK=system" in lines[0], said)
    about = study.record(dict(kept, jump="1000000000\n"), LULL_CLOCK="system")[1]
    study.expect("no drift of the system's clock", "clock_drift" not in about, about)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    if platform.machine() not in ("x86_64", "i686"):
        print("skipped: the processor has no time stamp counter")
        return 77
    with tempfile.TemporaryDirectory(prefix="lull-clock-") as folder:
        study = Study(settings, folder)
        for part in (decisions, emulated, refused, drift):
            part(study)
    for line in study.wrong:
        print(line)
    return 1 if study.wrong else 0


sys.exit(main())
