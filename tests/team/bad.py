#!/usr/bin/python3
"""What goes wrong where several processes of lull work together: all end, with one line that says why.

    bad.py --lull LULL --data TESTS_DATA --stop LIBRARY [--family FAMILY] [--few] [--sanitized]

Without a family the members are forked and joined by sockets (LULL_TEAM_CHAOS); with one, mpiexec of the family starts
them. Members do not see the run, see another one, are another lull, are killed, have no memory, have nothing to do, and
were started by an MPI that lull was not built for. Which member it is, the shell decides that mpiexec starts it by.
"""

import argparse
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import launch

# Who waits for somebody who does not come would wait for ever: this is long enough for a crowded machine, and for what
# a sanitizer makes slow.
SECONDS = 600
FOR_LETTERS = 16 << 20 # bytes
RANK = "${OMPI_COMM_WORLD_RANK-$PMI_RANK}"


class Wrong(Exception):
    pass


# What is shared in other ways than metrics.
REPLAY = ["replay", "RUN", "--network", "hockney"]
SUPPOSED = ["replay", "RUN", "--median", "all", "--balance"]
SHARED = (["wave", "RUN", "--no-replay"], ["wave", "RUN"], ["replay", "RUN"], ["report", "RUN"],
          ["metrics", "RUN", "--by", "file"], ["metrics", "RUN", "--by", "wait", "--no-replay"], ["info", "RUN"])


def of_run(words, run):
    return [run if word == "RUN" else word for word in words]


def lines_of(errors):
    return [line for line in errors.decode(errors="replace").splitlines() if line.startswith("lull ")]


def failures_of(errors):
    return [line for line in lines_of(errors) if ": warning: " not in line]


def descendants(process):
    """Process ids, those of lull's own members last."""
    found, heads = [], [process]
    while heads:
        try:
            with open("/proc/%d/task/%d/children" % (heads[0], heads[0])) as children:
                heads += [int(word) for word in children.read().split()]
        except OSError:
            pass
        found.append(heads.pop(0))
    return found[1:]


def is_lull(process):
    try:
        return os.path.basename(os.readlink("/proc/%d/exe" % process)) == "lull"
    except OSError:
        return False


def is_stopped(process):
    try:
        with open("/proc/%d/stat" % process) as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def rank_of(process):
    try:
        with open("/proc/%d/environ" % process, "rb") as environ:
            words = dict(word.partition(b"=")[::2] for word in environ.read().split(b"\0"))
    except OSError:
        return None
    return int(words.get(b"OMPI_COMM_WORLD_RANK", words.get(b"PMI_RANK", b"-1")))


class Case:
    def __init__(self, options, folder):
        self.options, self.folder, self.checks = options, folder, 0
        self.environment = launch.environment()
        self.environment.pop("LULL_TEAM_CHAOS", None)
        self.heat = os.path.join(os.path.abspath(options.data), "tape", "heat-2x1")
        # A member that is to stop does so at its first events.
        self.large = self.simulate("large.lull", "ranks=300,iterations=50")
        # Events in one sequence, more than may be on their way to a member.
        self.small = self.simulate("small.lull", "ranks=150,iterations=500")
        self.sequence = os.path.join(folder, "sequence.prv")
        subprocess.run([options.lull, "convert", self.small, self.sequence, "--to", "paraver"], check=True)

    def simulate(self, name, size):
        """A run of a chain of ranks."""
        run = os.path.join(self.folder, name)
        subprocess.run([self.options.lull, "simulate", "-p", "chain:exec=1ms," + size, "-o", run],
                       check=True, stdout=subprocess.DEVNULL)
        return run

    def begin(self, words, members, script="", chaos="1", lull=None, **more):
        """Starts a team; `script` is the shell's, before it becomes the member, or the first that forks the others."""
        environment = dict(self.environment)
        command = ["sh", "-c", script + '\nexec "$0" "$@"', lull or self.options.lull, *words]
        if self.options.family:
            command = ["mpiexec." + self.options.family, "-n", str(members), *command]
        else:
            environment["LULL_TEAM_CHAOS"] = "%d:%s" % (members, chaos)
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def end(self, process, what):
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            for other in descendants(process.pid):
                os.kill(other, signal.SIGKILL)
            process.kill()
            raise Wrong(what + ": does not end") from None
        self.checks += 1
        return process.returncode, output, errors

    def fails(self, process, what, *texts):
        """It ends with a failure, prints nothing, and says one line, with the texts."""
        status, output, errors = self.end(process, what)
        lines = failures_of(errors)
        if status == 0 or (output and not self.options.family) or len(lines) != 1 or \
                any(text not in lines[0] for text in texts):
            raise Wrong("%s: expected one line with %s, got %d and %s" % (what, texts, status, lines or errors))

    def warns(self, process, what, text):
        status, output, errors = self.end(process, what)
        if status != 0 or not output or sum(text in line for line in lines_of(errors)) != 1:
            raise Wrong("%s: expected a line with '%s', got %d and %s" % (what, text, status, lines_of(errors)))

    # ---- members that have nothing to do --------------------------------------------------------

    def idle(self):
        self.warns(self.begin(["metrics", self.heat], 5), "idle",
                   "has 2 processes, so that 3 of the 5 of lull have nothing to do")
        paraver = os.path.join(self.options.data, "golden", "mpi2.prv")
        self.warns(self.begin(["info", paraver], 3), "idle",
                   "has 2 processes, so that 1 of the 3 of lull have nothing to do")
        self.warns(self.begin(["info", paraver], 2), "read for others", "is read by the first process of lull for")

    def bad_sequence(self):
        """A line that the first cannot read, when others have got what is in front of it."""
        run = os.path.join(self.folder, "bad.prv")
        with open(self.sequence, encoding="ascii") as whole, open(run, "w", encoding="ascii") as bad:
            lines = whole.readlines()
            lines[len(lines) // 2] = "2:nonsense\n"
            bad.writelines(lines)
        for words in SHARED:
            self.fails(self.begin(of_run(words, run), 3), "bad line: " + words[0],
                       "line %d" % (len(lines) // 2 + 1))

    # ---- members that see something else --------------------------------------------------------

    def blind(self):
        os.mkdir(os.path.join(self.folder, "other"))
        os.symlink(self.large, os.path.join(self.folder, "other", "heat-2x1"))
        folder, host = os.path.dirname(self.heat), os.uname().nodename
        for command in ("metrics", "info"):
            self.fails(self.begin([command, "heat-2x1"], 3, 'if [ %s = 1 ]; then cd /; fi' % RANK, cwd=folder),
                       "blind", "rank 1 on %s: heat-2x1" % host)
            self.fails(self.begin([command, "heat-2x1"], 3, 'if [ %s = 2 ]; then cd %s/other; fi' % (RANK, self.folder),
                                  cwd=folder), "another run", "rank 2 on %s: heat-2x1" % host, "another run")

    def install(self, name, families, change=None):
        """A lull beside libraries of some families only."""
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        with open(self.options.lull, "rb") as file:
            code = file.read()
        with open(os.path.join(folder, "lull"), "wb") as file:
            file.write(change(code) if change else code)
        os.chmod(os.path.join(folder, "lull"), 0o755)
        for family in families:
            library = "liblull-team-%s.so" % family
            shutil.copy(os.path.join(os.path.dirname(self.options.lull), library), folder)
        return os.path.join(folder, "lull")

    def other_version(self):
        version = subprocess.run([self.options.lull, "--version"], capture_output=True, check=True).stdout.split()[1]
        if not self.options.family:
            self.fails(self.begin(["metrics", self.heat], 3, chaos="1:other"), "another version", "rank 2 on ",
                       version.decode() + "-other")
            return
        changed = bytes([version[0] + 1]) + version[1:]
        other = self.install("version", [self.options.family],
                             lambda code: code.replace(version + b"\0", changed + b"\0")) # "lull VERSION" may end in it
        self.fails(self.begin(["metrics", self.heat], 3, 'if [ %s = 2 ]; then exec %s "$@"; fi' % (RANK, other)),
                   "another version", "rank 2 on ", "lull " + changed.decode(), version.decode())

    def other_launcher(self):
        """lull knows of another MPI than the one that started it, or of none."""
        families = [family for family in ("openmpi", "mpich") if family != self.options.family]
        for name, known in (("none", []), ("wrong", families)):
            if any(not os.path.exists(os.path.join(os.path.dirname(self.options.lull), "liblull-team-%s.so" % family))
                   for family in known):
                continue
            lull = self.install(name, known)
            self.fails(self.begin(["metrics", self.heat], 2, lull=lull), "another MPI",
                       "liblull-team-%s.so" % self.options.family)

    def damaged(self):
        """Nobody has a thread whose records are as they should be."""
        run = os.path.join(self.folder, "damaged")
        shutil.copytree(self.heat, run)
        tapes = sorted(os.path.join(folder, name) for folder, _, names in os.walk(run) for name in names
                       if name.endswith(".tape"))
        for tape in tapes:
            with open(tape, "r+b") as file:
                file.seek(4096)
                file.write(b"\xee" * 4096)
        for words in SHARED:
            self.fails(self.begin(of_run(words, run), 3), "damaged: " + words[0], run)

    def unwritable(self):
        for words in (["report", "RUN", "-o", "/nowhere/page.html"], ["report", "RUN", "-f", "json", "-o", "/nowhere/x"],
                      ["replay", "RUN", "-o", "/nowhere/run"]):
            self.fails(self.begin(of_run(words, self.heat), 3), "unwritable", "/nowhere")

    def wrong_usage(self):
        """All see it before they are a team, and the first tells."""
        self.fails(self.begin(["metrics", "--no-such-option", self.heat], 3), "wrong usage", "--no-such-option")

    # ---- members that end -----------------------------------------------------------------------

    def preload(self, variable, member):
        """The shell's words that set it for a member."""
        # What a thread's arena has set aside, 64 MiB of addresses, would do instead of memory that is taken away.
        preload = "MALLOC_ARENA_MAX=1 %s %s=" % (shlex.join(launch.preload(self.options.stop)), variable)
        if self.options.sanitized: # whose library wants to be the first
            preload = "ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 " + preload
        if self.options.family:
            return "if [ %s = %d ]; then export %s0; fi" % (RANK, member, preload)
        return "export %s%d" % (preload, member)

    def begin_and_stop(self, member, words=("metrics", "RUN"), where="LULL_TEST_STOP", run=None):
        """A team of three, of which a member stops where it begins to read events, or elsewhere, so that the others
        have to wait for it. Both processes."""
        script = self.preload(where, member)
        process = self.begin(of_run(words, run or self.large), 3, script)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and process.poll() is None:
            for other in descendants(process.pid):
                if is_lull(other) and is_stopped(other):
                    return process, other
            time.sleep(0.001)
        raise Wrong("no member %d has stopped" % member)

    def killed(self):
        cases = [(1, ["metrics", "RUN"]), (2, ["metrics", "RUN"])]
        if not self.options.family:
            cases += [(1 + i % 2, words) for i, words in enumerate(SHARED)]
        cases = [(member, words, "LULL_TEST_STOP", self.large) for member, words in cases]
        cases += [(member, words, "LULL_TEST_STOP_REPLAY", self.large) for member, words in ((1, REPLAY), (2, REPLAY),
                                                                                             (1, SUPPOSED))]
        cases += [(member, ["metrics", "RUN"], "LULL_TEST_STOP_PASS", self.sequence) for member in (1, 2)]
        for member, words, where, run in cases:
            process, other = self.begin_and_stop(member, words, where, run)
            os.kill(other, signal.SIGKILL)
            if not self.options.family:
                self.fails(process, "killed", "rank %d on " % member, "has gone")
                continue
            status, output, errors = self.end(process, "killed")
            # Now and then the mpirun of MPICH 4.2.1 knows nothing of a rank that was killed: status 0, without a word.
            lost = self.options.family == "mpich" and status == 0 and not errors + output
            if not lost and (status == 0 or output.startswith((b"lull", b"POP", b"Replay")) or not errors + output):
                raise Wrong("killed: got %d, %s and %s" % (status, output, errors))

    def falls_back(self):
        """A member that cannot go on with a replay leaves it to the first, which prints what one process prints."""
        cases = [(self.sequence, REPLAY), (self.small, REPLAY), (self.small, SUPPOSED)]
        for run, words in cases[:1] if self.options.few else cases:
            alone = subprocess.run([self.options.lull, *of_run(words, run)], env=self.environment, check=True,
                                   capture_output=True)
            for member in [1] if self.options.few else [1, 2]:
                status, output, errors = self.end(
                    self.begin(of_run(words, run), 3, self.preload("LULL_TEST_NO_FILE", member)), "falls back")
                if status != 0 or output != alone.stdout or \
                        sum("replaying is not shared yet" in line for line in lines_of(errors)) != 1:
                    raise Wrong("falls back: got %d, %s and %s" % (status, output, errors))

    def no_copy(self):
        """A member cannot write its part of a sequence, when the first has more for it than may be on its way."""
        for member in 1, 2:
            self.fails(self.begin(of_run(REPLAY, self.sequence), 3, self.preload("LULL_TEST_NO_FOLDER", member)),
                       "no copy", "rank %d on " % member, "No space left")

    def first_killed(self):
        process, _ = self.begin_and_stop(1)
        others = descendants(process.pid)
        process.kill() if not self.options.family else os.kill(
            [other for other in others if is_lull(other) and rank_of(other) == 0][0], signal.SIGKILL)
        for other in others:
            try:
                os.kill(other, signal.SIGCONT)
            except OSError:
                pass
        self.end(process, "first killed")
        until = time.monotonic() + SECONDS
        while any(map(is_lull, others)):
            if time.monotonic() > until:
                raise Wrong("first killed: others go on")
            time.sleep(0.01)

    def no_memory(self):
        """A member that may have hardly more memory than it has: what an MPI may need for a letter, where UCX ends the
        process otherwise."""
        run = self.simulate("huge.lull", "ranks=3000,iterations=400") # a member needs more memory for it than it gets
        cases = ["metrics", "RUN"], ["metrics", "RUN", "--by", "wait", "--no-replay"]
        for words in cases[:1] if self.options.few else cases:
            process, other = self.begin_and_stop(1, words, run=run)
            with open("/proc/%d/statm" % other) as statm:
                size = int(statm.read().split()[0]) * resource.getpagesize()
            resource.prlimit(other, resource.RLIMIT_AS, (size + FOR_LETTERS,) * 2)
            os.kill(other, signal.SIGCONT)
            status, output, errors = self.end(process, "no memory")
            said = [line for line in lines_of(errors) if "memory" in line or "threads could be started" in line]
            if status == 0 or output or len(said) != 1:
                raise Wrong("no memory: %s: got %d, %s and %s" % (words, status, output, errors))

    def all(self):
        """What a launcher has a part in comes first. What the members do then does not depend on who started them."""
        cases = [self.idle, self.other_version, self.killed, self.first_killed]
        if self.options.family:
            cases += [self.blind, self.other_launcher, self.wrong_usage]
        else:
            cases += [self.damaged, self.bad_sequence, self.unwritable]
        if not (self.options.family and self.options.few):
            cases += [self.falls_back, self.no_copy]
            if not self.options.sanitized:
                cases.append(self.no_memory)
        for case in cases:
            case()


def main():
    parser = argparse.ArgumentParser()
    for name in ("lull", "data", "stop"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--family")
    parser.add_argument("--few", action="store_true", help="with a family, only what its launcher has a part in; "
                        "else each case with one command and one member, where it has several")
    parser.add_argument("--sanitized", action="store_true", help="lull is, which takes all addresses there are")
    options = parser.parse_args()
    options.lull = os.path.abspath(options.lull)
    if options.family and not shutil.which("mpiexec." + options.family):
        print("skipped: no mpiexec." + options.family)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        case = Case(options, folder)
        try:
            case.all()
        except Wrong as wrong:
            print(wrong)
            return 1
        print("%d checks" % case.checks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
