"""Made-up samples on their way from the recorder to the run: how many, with which weights, at which places, thinned,
lost, packed, copied; of programs that end, that are killed, and that never enter the recorder.

    samples.py --lull LULL --program SAMPLES

What is expected follows from the made-up source (src/record/sample/fake_samples.c): there is a sample after each
interval, and its place is the ms of its time modulo 4096.
"""
import argparse
import bisect
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import packed
from samples_of import COUNTS, HEADER, PLACE, SAMPLES, STACK, details, locations

FAKE, RING, PAGE, IN_STACK, FRAME = 2, 4096, 4096, 0xffff, 0xfff


def ns_of(clock, ticks):
    at = min(max(bisect.bisect([t for t, _ in clock], ticks) - 1, 0), len(clock) - 2)
    (t0, n0), (t1, n1) = clock[at], clock[at + 1]
    return n0 + (ticks - t0) * (n1 - n0) / (t1 - t0)


class Check:
    def __init__(self, settings, folder):
        self.settings, self.folder, self.wrong = settings, folder, []

    def expect(self, good, what, *values):
        if not good:
            self.wrong.append(what % values)

    def record(self, name, sample, command, options=(), status=0):
        run = os.path.join(self.folder, name, "run")
        os.mkdir(os.path.dirname(run))
        done = subprocess.run([self.settings.lull, "record", "--sample", sample, *options, "-o", run, "--", *command],
                              capture_output=True, text=True, timeout=900, env=launch.environment())
        self.expect(done.returncode in (status, 128 - status), "%s: status %d: %s", name, done.returncode, done.stderr)
        return run

    def info(self, run):
        done = subprocess.run([self.settings.lull, "info", "--format", "json", run], capture_output=True, text=True)
        self.expect(done.returncode == 0, "%s: %s", run, done.stderr)
        return json.loads(done.stdout)

    def events(self, document):
        return sum(row["values"][0] for row in document["tables"]["events"]["rows"] if row["id"] == "sample")

    def location(self, name, rate, header, samples, clock):
        """Returns how often it was thinned."""
        interval = 10 ** 9 // rate
        what = "%s, location %d" % (name, header["number"])
        size = PLACE + 16 + (8 * 56 if header["fields"] & STACK else 0)
        self.expect((header["magic"], header["version"], header["header"], header["size"], header["source"],
                     header["refused"], header["interval"]) == (b"LULLSAMP", 3, HEADER, size, FAKE, 0, interval),
                    "%s: header %r", what, header)
        self.expect(header["room"] == (header["bytes"] - HEADER) // size, "%s: room %r", what, header)
        thinned = (header["last"] // interval).bit_length() - 1
        self.expect(header["last"] == interval << thinned, "%s: last interval %r", what, header)
        self.expect(0 < len(samples) <= header["room"], "%s: %d samples", what, len(samples))
        self.expect(thinned == 0 or 2 * len(samples) >= header["room"], "%s: %d samples of %d, thinned",
                    what, len(samples), header["room"])
        self.expect(all(a[0] < b[0] for a, b in zip(samples, samples[1:])), "%s: times do not ascend", what)
        for ticks, place, weight in samples:
            ms = ns_of(clock, ticks) / 1e6
            off = ((place & (1 << 40) - 1) - ms) % 4096
            self.expect(off < 1.5 or off > 4094.5, "%s: place %#x at %.3f ms", what, place, ms)
            self.expect(place >> 40 == samples[0][1] >> 40, "%s: object %d", what, place >> 40)
            # one that began in an old ring and ends in a new one has half an interval more
            self.expect(0 < 2 * weight <= 3 * header["last"] and weight % interval == 0, "%s: weight %d", what, weight)
        # the weights cover all of the time between the first and the last sample, but for what each new ring
        # has not seen of the interval in which it began, and for what was lost
        span = ns_of(clock, samples[-1][0]) - ns_of(clock, samples[0][0])
        weight, last = sum(w for _, _, w in samples), header["last"]
        self.expect(span - 4 * last - header["lost"] * last <= weight <= span + 3 * last,
                    "%s: weights of %d ns in %d ns, lost %d", what, weight, span, header["lost"])
        self.expect(header["taken"] >= weight // last, "%s: taken %r", what, header)
        return thinned

    def details(self, name, run):
        """There are 3 instructions and 2 cycles for each ns of a sample's weight, and the stack that is made up."""
        for header, samples in details(run):
            self.expect(header["fields"] & COUNTS, "%s: fields %d", name, header["fields"])
            for place, weight, instructions, cycles, words in samples:
                self.expect((instructions, cycles) == (3 * weight, 2 * weight), "%s: %d instructions, %d cycles in %d ns",
                            name, instructions, cycles, weight)
                stack = [(FRAME, IN_STACK, 32), (0, place >> 40, 1), (1, IN_STACK, 32), (3, place >> 40, 2)]
                # what code words point to differs from the sample's place by so many ms
                near = [word if word[1] == IN_STACK else (*word[:2], (word[2] - place) % PAGE) for word in words]
                self.expect(near == (stack if header["fields"] & STACK else []), "%s: words %r at %#x", name, words, place)

    def run(self, name, run, rate, least=1):
        found = list(locations(run))
        self.expect(len(found) >= least, "%s: %d locations with samples", name, len(found))
        thinned = [self.location(name, rate, *one) for one in found]
        document = self.info(run)
        kept = sum(len(samples) for _, samples, _ in found)
        self.expect(document["facts"]["samples"] == kept, "%s: %r samples, expected %d", name,
                    document["facts"]["samples"], kept)
        return max(thinned, default=0), kept, document

    def ends(self):
        """A program that ends by itself: thinned, or not; and copies."""
        for name, sample, options, most_bytes in (
                ("small", "fake:1000:4KiB", [], 4096), ("usual", "fake:1000", [], 16384),
                ("node", "fake:1000:4KiB", ["--store", "node"], 4096),
                ("stack", "fake:1000", ["--sample-stack"], 1 << 18),
                ("thinned.stack", "fake:1000:16KiB", ["--sample-stack"], 1 << 14),
                ("large", "fake:2000:1MiB", ["--waits", "none"], 1 << 20)):
            run = self.record(name, sample, [self.settings.program, "900"], options)
            thinned, kept, document = self.run(name, run, 2000 if name == "large" else 1000, 2)
            self.details(name, run)
            self.expect(all(header["bytes"] <= most_bytes for header, _, _ in locations(run)), "%s: too large", name)
            self.expect(thinned >= 2 if name in ("small", "node", "thinned.stack") else
                        thinned == 0 if name == "large" else True,
                        "%s: thinned %d times", name, thinned)
            self.expect(self.events(document) == kept, "%s: %d events", name, self.events(document))
            self.wrong += ["%s, packed: %s" % (name, line) for line in packed.check(self.settings.lull, run)]
            copy = run + ".copy"
            subprocess.run([self.settings.lull, "convert", "--to", "tape", run, copy], check=True, capture_output=True)
            again = self.info(copy)
            for fact in ("samples", "sampling", "samples_lost"):
                self.expect(again["facts"].get(fact) == document["facts"].get(fact), "%s: %s of the copy: %r", name,
                            fact, again["facts"].get(fact))
            self.expect(self.events(again) == kept, "%s: %d events of the copy", name, self.events(again))
            self.details(name + ", copied", copy)
            for form in ("otf2", "chrome", "paraver"):
                subprocess.run([self.settings.lull, "convert", "--to", form, run, copy + "." + form], check=True,
                               capture_output=True)

    def unchanged(self):
        """No other result changes with samples: the same run says the same when its samples are parts of a kind that no
        lull knows, but for what the report tells of code."""
        def without_code(text):
            document = json.loads(text)
            document["tables"] = {name: table for name, table in document["tables"].items()
                                  if not name.startswith("functions:")}
            document["matrices"] = [matrix for matrix in document.get("matrices", [])
                                    if not matrix["id"].startswith("code_")]
            document["notes"] = [note for note in document["notes"] if "of the useful time" not in note["text"]]
            # Samples tell findings, and them alone, in which function it was and how long without a core.
            document.pop("findings", None)
            return document
        run = self.record("unchanged", "fake:2000", [self.settings.program, "600"])
        blind = os.path.join(self.folder, "blind", "run")
        shutil.copytree(run, blind)
        path = os.path.join(blind, "0", "0.tape")
        with open(path, "rb") as file:
            data = bytearray(file.read())
        places = [place for place in range(200, 4096 - 15, 16) if data[place + 12] == SAMPLES]
        self.expect(len(places) >= 2, "unchanged: %d extents with samples", len(places))
        for place in places:
            data[place + 12] = 99
        with open(path, "wb") as file:
            file.write(data)
        for words in (["metrics", "--raw", "--by", "region", "--format", "json"],
                      ["report", "--no-prices", "--waits", "--format", "json"]):
            seen, unseen = (packed.said(self.settings.lull, words, one) for one in (run, blind))
            self.expect(seen[0] == 0, "unchanged: lull %s: %s", words[0], seen[2])
            self.expect((seen[0], seen[2]) == (unseen[0], unseen[2]) and without_code(seen[1]) == without_code(unseen[1]),
                        "unchanged: lull %s says other things", words[0])
        self.expect(self.info(blind)["facts"]["samples"] is None, "unchanged: there are samples")

    def without_events(self):
        """Samples are there also where events are not."""
        for name, options in (("profile", ["--profile"]), ("budget", ["--max-size", "64KiB"]),
                              ("ring", ["--keep", "last:64KiB"])):
            run = self.record(name, "fake:1000", [self.settings.program, "900"], options)
            _, kept, document = self.run(name, run, 1000, 2)
            if name == "profile":
                self.expect(self.events(document) == 0, "profile: %d events", self.events(document))
            else:
                self.expect(self.events(document) <= kept, "%s: %d events", name, self.events(document))

    def lost(self):
        """A program with one thread, which comes to the recorder at its end: the ring has room for so many."""
        run = self.record("lost", "fake:10000:1MiB", ["sleep", "1"])
        [(header, samples, _)] = locations(run)
        self.expect(len(samples) == header["taken"] == RING and header["lost"] >= 10000 - RING - 100,
                    "lost: %d samples, %r", len(samples), header)
        facts = self.info(run)["facts"]
        self.expect(facts["samples_lost"] == header["lost"], "lost: %r", facts)

    def killed(self):
        for name, options in (("killed", []), ("killed.profile", ["--profile"]),
                              ("killed.stack", ["--sample-stack"])):
            run = self.record(name, "fake:1000:4KiB", [self.settings.program, "500", "killed"], options,
                              -signal.SIGKILL)
            self.run(name, run, 1000, 2)
            self.details(name, run)

    def still(self):
        """The recorder's own thread keeps samples of threads that never enter the recorder."""
        run = os.path.join(self.folder, "still")
        program = subprocess.Popen([self.settings.lull, "record", "--sample", "fake:10000", "-o", run, "--",
                                    self.settings.program, "still"], env=launch.environment(),
                                   stderr=subprocess.DEVNULL)
        while program.poll() is None and (not os.path.exists(os.path.join(run, "lull-tape"))
                                          or len(list(locations(run))) < 2):
            time.sleep(0.05)
        program.kill()
        program.wait()
        self.expect(self.run("still", run, 10000, 2)[1] > 0, "still: no samples")

    def options(self):
        done = subprocess.run([self.settings.lull, "record", "--sample", "off", "--sample-stack", "true"], capture_output=True, text=True,
                              cwd=self.folder)
        self.expect(done.returncode == 2 and "--sample off" in done.stderr, "--sample-stack: %s", done.stderr)
        for text, said in (("timer:fast", "expected off, or samples per second"), ("fast", "expected off, or samples per second"), ("0", "expected off"),
                           ("-1", "expected off"), ("20000", "0.01 to 10000"), ("nan", "expected off"),
                           ("100:", "--sample"), ("100:1", "4KiB to 1GiB"), ("100:2GiB", "4KiB to 1GiB")):
            done = subprocess.run([self.settings.lull, "record", "--sample=" + text, "true"], capture_output=True,
                                  text=True, cwd=self.folder)
            self.expect(done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1,
                        "--sample %s: status %d, %s", text, done.returncode, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "program"):
        parser.add_argument("--" + name, required=True)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(settings, folder)
        check.options()
        check.ends()
        check.unchanged()
        check.without_events()
        check.lost()
        check.killed()
        check.still()
    for line in check.wrong[:30]:
        print(line)
    return 1 if check.wrong else 0


sys.exit(main())
