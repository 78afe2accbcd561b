"""Records a program that does the same each time, once whole and once in a ring, and demands that the
ring's events are the last ones of the whole run, with the regions that are open where they begin.

    ring.py --lull LULL --listing LISTING --program PROGRAM [--pauses] [--store node|process] [--mpirun MPIRUN [--shared-handles]]

--pauses: half of what the program's threads do lies in pauses, where some of the rings must begin.

--shared-handles: the MPI library gives sends that are complete at once one handle, so that it hangs on
the time which of them a wait completes; the ends of sends are not compared then.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch
import packed
import tape_parts

CHUNK = 65536
POSTED = ("send", "receive posted", "collective begin")
DONE = ("send done", "receive", "request cancelled", "request freed", "collective end")


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                          env=launch.environment())


def listing(settings, folder):
    """location -> its events; and what was odd"""
    told = run([settings.listing, folder])
    if told.returncode != 0:
        raise ValueError(told.stderr)
    lists, odd = {}, []
    for line in told.stdout.splitlines():
        name, event = line.split(": ", 1)
        if name == "quirk":
            odd.append(event)
        elif not (settings.shared_handles and starts_with(event, ("send done",))):
            lists.setdefault(name, []).append(event.strip())
    return lists, odd


def starts_with(event, kinds):
    return any(event.startswith(kind + " ") and event[len(kind) + 1:len(kind) + 2].isdigit()
               for kind in kinds)


class Cut:
    """What a ring must hold of a location's events if it begins at one of them."""

    def __init__(self, events, posted):
        self.events, self.kinds = events, posted
        self.at = 0
        self.open, self.off, self.posted = [], False, set()

    def go_on(self):
        event = self.events[self.at]
        self.at += 1
        if event.startswith("enter "):
            self.open.append(event)
        elif event.startswith("leave "):
            self.open.pop()
        elif event.startswith("measurement "):
            self.off = event.startswith("measurement off")
        number = event.rsplit(" ", 1)[-1]
        if " request " in event and starts_with(event, self.kinds):
            self.posted.add(number)
        elif " request " in event and starts_with(event, DONE):
            self.posted.discard(number)

    def is_known(self, event):
        return not (starts_with(event, DONE) and event.rsplit(" ", 1)[-1] in self.posted)

    def expected(self):
        begin = ["measurement off 0"] + self.open + ([] if self.off else ["measurement on 0"])
        return begin + [event for event in self.events[self.at:] if self.is_known(event)]


def find_cut(whole, ring, posted):
    """Where `ring` begins in `whole`, a Cut, or None. Lengths are compared first."""
    cut = Cut(whole, posted)
    while True:
        left = len(whole) - cut.at
        begins = 1 + len(cut.open) + (not cut.off)
        if left + begins - len(cut.posted) <= len(ring) <= left + begins and cut.expected() == ring:
            return cut
        if left == 0:
            return None
        cut.go_on()


class Test:
    def __init__(self, settings):
        self.settings = settings
        self.wrong = []
        self.in_pauses = 0
        self.packed = False  # a ring that was full

    def demand(self, good, what):
        if not good:
            self.wrong.append(what)

    def command(self, folder, arguments, *options):
        launcher = [self.settings.mpirun, "-n", "2"] if self.settings.mpirun else []
        return launcher + [self.settings.lull, "record", "-o", folder, "--waits", "none", "--sample", "off", "--store",
                           self.settings.store, *options,
                           "--", self.settings.program, *arguments]

    def record(self, folder, arguments, *options):
        done = run(self.command(folder, arguments, *options))
        self.demand(done.returncode == (-9 if "kill" in arguments else 0),
                    "status %d: %s" % (done.returncode, done.stderr))

    def shown(self, folder, *command):
        told = run([self.settings.lull, *command, folder])
        self.demand(told.returncode == 0, "%s: %s" % (command[0], told.stderr))
        return told.stdout

    def visits(self, folder):
        """By region."""
        tables = json.loads(self.shown(folder, "metrics", "--force", "--whole", "--by", "region",
                                       "--format", "json"))["tables"]
        rows = next(table["rows"] for name, table in tables.items() if name.startswith("regions"))
        return {row["id"]: row["values"][1] for row in rows}

    def look_meanwhile(self, seed, steps, kib):
        """A ring that is read before its program has ended has what it will have then."""
        with tempfile.TemporaryDirectory() as folder:
            ring = os.path.join(folder, "ring")
            process = subprocess.Popen(
                self.command(ring, [str(seed), str(steps), "wait"], "--keep", "last:%dKiB" % kib),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.demand(process.stdout.readline() == "ready\n", "it is not ready")
            meanwhile, _ = listing(self.settings, ring)
            process.communicate("\n", timeout=600)
            afterwards, _ = listing(self.settings, ring)
            for name, events in meanwhile.items():
                self.demand(events == afterwards[name][:len(events)], "%s: %d events, %d afterwards"
                            % (name, len(events), len(afterwards[name])))

    def compare(self, arguments, kib):
        with tempfile.TemporaryDirectory() as folder:
            whole, ring = os.path.join(folder, "whole"), os.path.join(folder, "ring")
            self.record(whole, arguments)
            self.record(ring, arguments, "--keep", "last:%dKiB" % kib)
            all_events, _ = listing(self.settings, whole)
            kept, odd = listing(self.settings, ring)
            self.demand(not odd or "kill" in arguments, "odd: %s" % odd)
            self.demand(sorted(kept) == sorted(all_events), "locations %s" % sorted(kept))
            lost = 0
            for name, events in kept.items():
                if events == all_events[name]:
                    continue
                cut = find_cut(all_events[name], events,
                               POSTED[self.settings.shared_handles:])
                good = cut is not None and cut.at > 0
                lost += good
                self.in_pauses += good and cut.off
                self.demand(good, "%s: %d events of %d are not its last ones: %s ..." %
                            (name, len(events), len(all_events[name]), events[:5]))
            self.demand(self.bytes_kept(ring) <= kib * 1024, "%d bytes" % self.bytes_kept(ring))
            self.tell(ring, lost > 0)
            if not self.packed:
                self.packed = lost > 0
                self.demand(not packed.check(self.settings.lull, ring), "packed")
            sums = self.visits(ring)
            self.demand(sums == self.visits(whole), "the sums are %s" % sums)
            return lost

    def bytes_kept(self, folder):
        """Of the chunks of a process, the largest."""
        return max(len(chunks) * CHUNK for chunks in tape_parts.ring_chunks_of(folder))

    def tell(self, folder, cut):
        facts = json.loads(self.shown(folder, "info", "--format", "json"))["facts"]
        self.demand(("events_kept" in facts) == cut, "info: %s" % facts.get("events_kept"))
        if cut:
            said = run([self.settings.lull, "replay", "--force", folder])
            self.demand(said.returncode == 1 and said.stderr.splitlines()[-1:] ==
                        ["lull replay: %s: cannot be replayed: it does not have the events of the "
                         "whole run" % folder], "replay: " + said.stderr)
            told = self.shown(folder, "metrics", "--force")
            self.demand("earlier ones were not kept" in " ".join(told.split()), told)


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "listing", "program"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--mpirun")
    parser.add_argument("--store", default="process", choices=("node", "process"))
    parser.add_argument("--shared-handles", action="store_true")
    parser.add_argument("--pauses", action="store_true")
    settings = parser.parse_args()
    told = os.environ.get("LULL_TEST_SEED", "1")
    seed = random.SystemRandom().getrandbits(32) if told == "random" else int(told)
    print("LULL_TEST_SEED=%d" % seed)
    draw, test, lost = random.Random(seed), Test(settings), 0
    if settings.pauses:
        for kib in (64, 400):
            lost += test.compare([str(draw.getrandbits(32)), str(draw.randrange(250, 350)), "pauses"], kib)
        print("%d locations lost events, %d of them begin in a pause" % (lost, test.in_pauses))
        print("\n".join(test.wrong)[:4000])
        return 1 if test.wrong or lost < 8 or not 0 < test.in_pauses < lost else 0
    for kib in (64, 300) if settings.mpirun else (64, 200, 512, 4096):
        steps = draw.randrange(2500, 4000) if settings.mpirun else draw.randrange(8000, 20000)
        arguments = [str(draw.getrandbits(32)), str(steps)]
        lost += test.compare(arguments, kib)
        if not settings.mpirun:
            lost += test.compare(arguments + ["kill"], kib)
            test.look_meanwhile(*arguments, kib)
        if test.wrong:
            print("%d steps, %d KiB: %s" % (steps, kib, "\n".join(test.wrong)[:4000]))
            return 1
    print("%d locations lost events, and have their last ones" % lost)
    return 0 if lost >= 6 else 1


sys.exit(main())
