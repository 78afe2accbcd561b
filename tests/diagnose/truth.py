"""Who waited for whom in the planted programs, by their own readings of the clock.

The readings say when each rank or thread began and ended each piece of work and each call; that a
barrier ends when the last comes, a receive when the message is sent, and so on, is written down
here once more, per defect, without anything of lull.

The recorder notes when a call begins between the reading before it (`begin`) and the one beneath the
recorder (`entered`). Who loses its core there comes to the call at one moment for this program and at
another one for the recorder, and each wait says how much shorter and longer it may be for that.
"""
import collections
import glob
import gzip
import os

# Seconds; the recorder notes a begin between `begin` and `entered`, an end between `left` and `end`.
Reading = collections.namedtuple("Reading", "who phase iteration what peer begin entered left end")

# A wait: who waited, for whom, how long; `else_late`: the share of the lateness that was not work
# (who was waited for had left the call before late, or rested too long); `less` and `more`: so many
# seconds shorter or longer it may be, as the recorder noted the begins of the calls.
Wait = collections.namedtuple("Wait", "waiter culprit seconds else_late less more", defaults=(0.0, 0.0))


def lines_of(folder):
    """The lines of the readings, as programs write them (a file for each rank or thread) or packed."""
    for path in sorted(glob.glob(os.path.join(folder, "readings.*"))):
        with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
            yield from file


def read(folder):
    """phase -> readings, in the order of each rank's or thread's time."""
    phases = collections.defaultdict(list)
    for line in lines_of(folder):
        who, phase, iteration, what, peer, *times = line.split()
        phases[phase].append(Reading(int(who), phase, int(iteration), what, int(peer), *map(float, times)))
    return phases


def calls_of(readings):
    """All that are not pieces of work."""
    return [r for r in readings if r.what.startswith(("MPI_", "take_"))]


class Ranks:
    """The readings of a phase, by rank or thread and iteration."""

    def __init__(self, readings):
        self.ranks = sorted({r.who for r in readings})
        self.rows = collections.defaultdict(list)
        for reading in readings:
            self.rows[reading.who, reading.iteration].append(reading)
        self.iterations = sorted({r.iteration for r in readings if r.iteration >= 0})
        self.began = min(r.begin for r in readings)
        self.of_rank = {rank: [r for r in readings if r.who == rank] for rank in self.ranks}
        # The first rank has ended the phase and goes to the barrier behind it: reports look no further.
        self.over = min(own[-1].end for own in self.of_rank.values())
        self.waited = collections.Counter() # rank: in all calls so far
        self.met = {} # (waiter, culprit): what they had spent when the one last waited for the other

    def call(self, rank, iteration, what, peer=-1):
        return next(r for r in self.rows[rank, iteration] if r.what == what and r.peer == peer)

    def spent(self, rank, until):
        """What a rank has spent its time on up to a moment at which a call begins: work, rest, calls
        without waits, and what is between the readings. And how much of `solve` the recorder may have seen
        elsewhere, because it noted the begin later or the end earlier."""
        spent, edges = collections.Counter(), 0.0
        for reading in self.of_rank[rank]:
            if reading.end <= until:
                part = reading.what if reading.what in ("solve", "consume", "rest") else "calls"
                spent[part] += reading.end - reading.begin
                if part == "solve":
                    edges += reading.entered - reading.begin + reading.end - reading.left
        spent["between"] = until - self.began - sum(spent.values())
        spent["calls"] -= self.waited[rank]
        return spent, edges

    def meet(self, waiter, culprit, begin, end):
        self.met[waiter, culprit] = self.spent(waiter, begin), self.spent(culprit, end)

    def until_over(self, moment):
        return min(moment, self.over)

    def wait(self, waiter, culprit, call, until, in_calls=0.0):
        """From when a call of the waiter's begins until one of the culprit's does; nothing, if it cannot
        have waited. What the culprit did more of than the waiter since they last met is what was late.
        `in_calls`: the time of a call of who passes the wait on."""
        if until.entered <= call.begin:
            return []
        begin, end = call.begin, max(call.begin, self.until_over(until.begin))
        spent = self.spent(waiter, begin), self.spent(culprit, max(begin, until.begin))
        nothing = collections.Counter(), 0.0
        before = self.met.get((waiter, culprit), (nothing, nothing))
        excess = {part: max(0.0, spent[1][0][part] - before[1][0][part] - spent[0][0][part] +
                            before[0][0][part]) for part in spent[1][0]}
        edges = sum(spent[who][1] - before[who][1] for who in (0, 1))
        excess["calls"] += in_calls
        self.met[waiter, culprit] = spent
        late = sum(excess.values())
        seconds = end - begin
        return [Wait(waiter, culprit, seconds, 1 - excess["solve"] / late if late > 0 else 1.0,
                     min(seconds, call.entered - call.begin + edges), until.entered - end)]

    def note(self, waits):
        """After all waits of an iteration."""
        for wait in waits:
            self.waited[wait.waiter] += wait.seconds
        return waits


def by_arrival(ranks, what, waits_for, all_meet=False):
    """`waits_for(rank, arrivals)`: for whom a rank waits."""
    for i in ranks.iterations:
        calls, waits = {r: ranks.call(r, i, what) for r in ranks.ranks}, []
        arrivals = {r: call.begin for r, call in calls.items()}
        for rank in ranks.ranks:
            culprit = waits_for(rank, arrivals)
            if culprit not in (None, rank):
                waits += ranks.wait(rank, culprit, calls[rank], calls[culprit])
        for pair in [(a, b) for a in ranks.ranks for b in ranks.ranks if all_meet]:
            ranks.meet(*pair, arrivals[pair[0]], arrivals[pair[1]])
        yield from ranks.note(waits)


def last_of(arrivals):
    return max(arrivals, key=arrivals.get)


def collective(what):
    return lambda ranks: by_arrival(ranks, what, lambda rank, arrivals: last_of(arrivals), True)


def to_root(what):
    return lambda ranks: by_arrival(
        ranks, what, lambda rank, arrivals: last_of(arrivals) if rank == 0 else None)


def from_root(what):
    return lambda ranks: by_arrival(ranks, what, lambda rank, arrivals: 0)


def scan(ranks):
    def lower(rank, arrivals):
        return last_of({r: t for r, t in arrivals.items() if r < rank}) if rank > 0 else None
    return by_arrival(ranks, "MPI_Scan", lower)


def pairs(ranks, waiter, culprit):
    """Ranks 1, 2 ... wait in one call of theirs for one of rank 0."""
    for i in ranks.iterations:
        for rank in ranks.ranks[1:]:
            yield from ranks.note(ranks.wait(rank, 0, ranks.call(rank, i, waiter, 0),
                                             ranks.call(0, i, culprit, rank)))


def late_sender(ranks):
    return pairs(ranks, "MPI_Recv", "MPI_Send")


def late_receiver(ranks):
    return pairs(ranks, "MPI_Ssend", "MPI_Recv")


def two_parts(ranks):
    """Rank 0 sends two messages to each of the others; `take_1` is the receive of the second."""
    for i in ranks.iterations:
        for rank in ranks.ranks[1:]:
            sent = [r for r in ranks.rows[0, i] if r.what == "MPI_Send" and r.peer == rank]
            takes = [r for r in ranks.rows[rank, i] if r.what.startswith("take_")]
            for part in [int(r.what[-1]) for r in takes]:
                take = ranks.call(rank, i, "take_%d" % part, 0)
                yield from ranks.note(ranks.wait(rank, 0, take, sent[part]))


def by_turns(ranks):
    """One of two ranks sends, and the other works before it receives: in each iteration another one. What
    both have with the small message before, and how much later the receiver began, is perhaps counted as
    part of what it was late; and what it did more of beside work since they last met is not work."""
    for i in ranks.iterations:
        for rank in ranks.ranks:
            receives = [r for r in ranks.rows[rank, i] if r.what == "MPI_Recv" and r.peer >= 0]
            if not receives:
                continue
            sent = ranks.call(rank ^ 1, i, "MPI_Send", rank)
            work = [r for r in ranks.rows[rank, i] if r.what == "solve"][-1]
            waited = receives[0].begin - sent.begin
            began = [ranks.call(r, i, "solve").begin for r in (rank ^ 1, rank)]
            before = [r.end - r.begin for r in ranks.rows[rank, i] + ranks.rows[rank ^ 1, i]
                      if r.what.startswith("MPI_") and r.peer < 0]
            worked = work.end - work.begin - sum(before) - max(0.0, began[1] - began[0])
            for wait in ranks.wait(rank ^ 1, rank, sent, receives[0]):
                ranks.met[rank, rank ^ 1] = ranks.met[rank ^ 1, rank][::-1]
                else_late = max(1 - worked / waited if waited > 0 else 1.0, wait.else_late)
                yield from ranks.note([wait._replace(else_late=min(1.0, max(0.0, else_late)))])


def nobody(ranks):
    return []


def hidden(ranks):
    """What rank 2 is late for the allreduce, it waited for rank 3, apart from its receive."""
    for i in ranks.iterations:
        sent, receive = ranks.call(3, i, "MPI_Send", 2), ranks.call(2, i, "MPI_Recv", 3)
        calls, waits = {r: ranks.call(r, i, "MPI_Allreduce") for r in ranks.ranks}, []
        arrivals = {r: call.begin for r, call in calls.items()}
        last, under_way = last_of(arrivals), receive.end - max(sent.begin, receive.begin)
        for rank in ranks.ranks:
            passed = last == 2 and rank != 2 and sent.begin > receive.begin
            if passed and sent.begin > arrivals[rank]:
                seconds = max(0.0, ranks.until_over(arrivals[2]) - arrivals[rank])
                more = calls[2].entered - arrivals[rank] - seconds
                waits += [wait._replace(seconds=seconds, more=more)
                          for wait in ranks.wait(rank, 3, calls[rank], sent, under_way)]
            elif last != rank:
                waits += ranks.wait(rank, last, calls[rank], calls[last])
        waits += ranks.wait(2, 3, receive, sent)
        for pair in [(a, b) for a in ranks.ranks for b in ranks.ranks]:
            ranks.meet(*pair, arrivals[pair[0]], arrivals[pair[1]])
        yield from ranks.note(waits)


# ---- threads ---------------------------------------------------------------------------------

# Regions in which a thread works.
WORK = ("solve", "rest", "update", "outside")


def uneven_loop(ranks):
    """Who began later than others, because a core was not there, is late for that as well."""
    for i in ranks.iterations:
        parts = {t: ranks.call(t, i, "solve") for t in ranks.ranks}
        last = max(parts.values(), key=lambda r: r.end)
        for part in parts.values():
            if part is not last:
                waited, later = last.end - part.end, max(0.0, last.begin - part.begin)
                yield Wait(part.who, last.who, waited, min(1.0, later / waited))


def lock(ranks):
    """From when a thread asks for the lock until it is inside."""
    for thread, i in sorted(ranks.rows):
        for reading in ranks.rows[thread, i]:
            if reading.what == "lock":
                yield Wait(thread, None, reading.end - reading.begin, 0.0)


def serial(ranks):
    for i in ranks.iterations:
        part = ranks.call(0, i, "solve")
        for thread in ranks.ranks[1:]:
            yield Wait(thread, 0, part.end - part.begin, 0.0)


def beside_work(ranks):
    """What all threads have of the phase beside their own work: waits, and what the runtime takes to begin
    and end parallel regions."""
    phase = [r for r in ranks.of_rank[0] if r.what == "iteration"]
    length = phase[-1].end - phase[0].begin
    return sum(length - sum(r.end - r.begin for r in ranks.of_rank[t]
                            if r.what in WORK and r.iteration >= 0) for t in ranks.ranks)


# The master leaves a barrier and begins the next region so much later than the last one came, when it
# has to be woken up first.
WAKE_UP = 200e-6


def behind_the_loop(ranks):
    """How much longer than for the last one's work the others wait at the end of the uneven loop: who
    loses its core between its last reading and the barrier is late there, and has no reading of it."""
    lost = 0.0
    for i in ranks.iterations:
        last = max(ranks.call(t, i, "solve").end for t in ranks.ranks)
        goes_on = [r.begin for r in ranks.rows[0, i] if r.what == "rest"]
        if goes_on:
            lost += (len(ranks.ranks) - 1) * max(0.0, goes_on[0] - last - WAKE_UP)
    return lost


# name: program, waits, who is to be named (None: nobody in particular), rules that may name it.
DEFECTS = {
    "late_sender": ("messages", late_sender, 0, ["late_sender"]),
    "late_receiver": ("messages", late_receiver, 0, ["late_receiver"]),
    "wrong_order": ("messages", two_parts, 0, ["wrong_order"]),
    "right_order": ("messages", two_parts, 0, []),
    "eager_limit": ("messages", by_turns, None, ["eager_limit"]),
    "below_limit": ("messages", nobody, None, []),
    "early_reduce": ("collectives", to_root("MPI_Reduce"), 2, ["early_reduce"]),
    "early_gather": ("collectives", to_root("MPI_Gather"), 2, ["early_reduce"]),
    "early_gatherv": ("collectives", to_root("MPI_Gatherv"), 2, ["early_reduce"]),
    "late_broadcast": ("collectives", from_root("MPI_Bcast"), 0, ["late_broadcast"]),
    "late_scatter": ("collectives", from_root("MPI_Scatter"), 0, ["late_broadcast"]),
    "late_scatterv": ("collectives", from_root("MPI_Scatterv"), 0, ["late_broadcast"]),
    "early_scan": ("collectives", scan, 0, ["early_scan"]),
    "barrier": ("collectives", collective("MPI_Barrier"), 2, ["barrier"]),
    # Its work is uneven, and the last rank is the one that all wait for.
    "barrier_linear": ("collectives", collective("MPI_Barrier"), 3, ["barrier", "imbalance"]),
    "n_to_n": ("collectives", collective("MPI_Alltoall"), 1, ["n_to_n"]),
    "hidden": ("collectives", hidden, 3, ["n_to_n", "late_sender"]),
    "imbalance": ("threads", uneven_loop, 2, ["imbalance"]),
    "lock": ("threads", lock, None, ["lock"]),
    "serial": ("threads", serial, 0, ["serial"]),
}


class Truth:
    """What really happened in a phase."""

    def __init__(self, name, readings):
        self.name, self.defect = name, name.split(":")[0]
        self.percent = float(name.split(":")[1])
        self.program, find, self.culprit, self.rules = DEFECTS[self.defect]
        ranks = Ranks(readings)
        waits = list(find(ranks))
        named = [w for w in waits if self.culprit is None or w.culprit == self.culprit]
        self.seconds = sum(w.seconds for w in named)
        # So much of it may be put down to something else than work.
        self.elsewhere = sum(w.seconds * w.else_late for w in named)
        self.others = sum(w.seconds for w in waits) - self.seconds
        # So much less and more of it the recorder may have noted.
        self.less, self.more = sum(w.less for w in waits), sum(w.more for w in waits)
        # So much more may have been waited than the readings say.
        self.beyond = behind_the_loop(ranks) if self.defect == "imbalance" else 0.0
        calls = calls_of(readings)
        self.in_calls = sum(r.end - r.begin for r in calls)
        if self.program == "threads":
            self.in_calls = beside_work(ranks)
        self.count = len(named)
        # The time of all cores in the phase.
        self.core = 4 * (max(r.end for r in readings) - min(r.begin for r in readings))
        self.planted = self.percent > 0 and bool(self.rules)

    def is_exact(self):
        """Whether what others waited is known well enough to compare seconds."""
        unknown = self.elsewhere + self.beyond + self.less + self.more
        return self.others + unknown < 0.2 * self.seconds

    def is_sure(self):
        """Whether it is four fifths of what is waited: with less, several are to blame."""
        return self.seconds - self.elsewhere > 4 * (self.others + self.elsewhere)

    def is_most(self):
        """Whether all else that is lost, also where nobody waits, is much less, and it was not the
        machine that made the rank late."""
        as_planted = self.culprit is None or self.seconds < 1.5 * self.percent / 100 * self.core
        return self.is_exact() and self.in_calls - self.seconds < 0.5 * self.seconds and as_planted
