"""How much longer one command takes than another, on a machine whose speed changes by more than
that: both run together, but never at the same time. Each is stopped (SIGSTOP) while the other has
its slice of time, in the order A B B A, and the sum of a command's slices is what it took. What
slows the machine down for longer than a slice slows both down alike.

The log of the ratio of each pair is one sample. Quoted are their Hodges-Lehmann estimate, the
median of the means of all pairs of samples, and its 95 % interval, which goes with Wilcoxon's
signed-rank test (M. Hollander and D. A. Wolfe, Nonparametric Statistical Methods, chapter 3).
Samples are taken until the interval is narrow enough or the time is up; only its width decides."""
import math
import os
import select
import signal
import statistics
import subprocess
import time

SLICE = 0.004      # s: the shorter, the narrower the interval; a switch takes some 0.1 ms
HALF_WIDTH = 0.5   # percent: narrow enough
FEWEST_PAIRS = 16  # for the normal approximation of the signed-rank distribution
NORMAL_975 = 1.959964


class Failed(RuntimeError):
    pass


class Sliced:
    """A command that runs now and then, with all that it starts while its parents live."""

    def __init__(self, command, environment):
        self.command, self.environment = command, environment
        self.child, self.pids, self.took = None, [], 0

    def _start(self):
        self.child = subprocess.Popen(self.command, env=self.environment, text=True,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.end = os.pidfd_open(self.child.pid)
        self.poll = select.poll()
        self.poll.register(self.end, select.POLLIN)

    def _signal(self, which):
        for pid in self.pids:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass

    def _tree(self):
        """Parents first, so that one that is stopped cannot start any more."""
        found = [self.child.pid]
        for pid in found:
            try:
                tasks = os.listdir("/proc/%d/task" % pid)
                for task in tasks:
                    with open("/proc/%d/task/%s/children" % (pid, task)) as children:
                        found += [int(word) for word in children.read().split()]
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def _stop(self):
        self._signal(signal.SIGSTOP)
        stopped = time.monotonic()
        while True:  # what has been started meanwhile
            before, self.pids = self.pids, self._tree()
            if set(self.pids) <= set(before):
                return stopped
            self._signal(signal.SIGSTOP)

    def kill(self):
        """Where it has not ended: nothing that is stopped stays behind."""
        self._signal(signal.SIGKILL)

    def go_on(self, seconds):
        """For that long, None: to the end. Whether it has ended."""
        begin = time.monotonic()
        if self.child is None:
            self._start()
        self._signal(signal.SIGCONT)
        ended = bool(self.poll.poll(None if seconds is None else seconds * 1000))
        self.took += (time.monotonic() if ended else self._stop()) - begin
        if ended:
            self.pids = []
            os.close(self.end)
            complaint = self.child.stderr.read()
            if self.child.wait() != 0:
                raise Failed("%s: status %d: %s" % (" ".join(self.command), self.child.returncode,
                                                    complaint))
        return ended


def log_ratio(first, second, environment, begin_with_second):
    """Of the seconds that the commands take, and those of the first."""
    a, b = Sliced(first, environment), Sliced(second, environment)
    order = [b, a] if begin_with_second else [a, b]
    try:
        while True:
            for one, other in (order, order[::-1]):
                if one.go_on(SLICE):
                    other.go_on(None)
                    return math.log(b.took / a.took), a.took
            order.reverse()
    finally:
        a.kill()
        b.kill()


def hodges_lehmann(samples):
    """The estimate and its 95 % interval."""
    n = len(samples)
    means = sorted((samples[i] + samples[j]) / 2 for i in range(n) for j in range(i, n))
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    outside = max(math.floor(len(means) / 2 - NORMAL_975 * deviation), 0)
    return statistics.median(means), means[outside], means[-1 - outside]


class Comparison:
    """By how many percent the second command takes longer: `estimate`, `low`, `high`; how many
    `pairs` were taken, and the median `seconds` of the first. The budget is in seconds; `prepare`
    is called before each pair."""

    def __init__(self, first, second, environment, budget, prepare=lambda: None):
        begin, logs, taken = time.monotonic(), [], []
        while True:
            prepare()
            sample, seconds = log_ratio(first, second, environment, len(logs) % 2 == 1)
            logs.append(sample)
            taken.append(seconds)
            self.estimate, self.low, self.high = (100 * math.expm1(x) for x in hodges_lehmann(logs))
            is_narrow = len(logs) >= FEWEST_PAIRS and self.high - self.low <= 2 * HALF_WIDTH
            if is_narrow or time.monotonic() - begin > budget:
                break
        self.pairs, self.seconds = len(logs), statistics.median(taken)

    def __str__(self):
        return "%.1f %% (%.1f .. %.1f)" % (self.estimate, self.low, self.high)
