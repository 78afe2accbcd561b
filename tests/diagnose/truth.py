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
import itertools
import os

# Seconds; the recorder notes a begin between `begin` and `entered`, an end between `left` and `end`.
Reading = collections.namedtuple("Reading", "who phase iteration what peer begin entered left end")

# A wait: who waited, for whom, how long; `charges`: (rank or thread, what it did): seconds of the wait that
# this is the cause of; `less` and `more`: so many seconds shorter or longer it may be, as the recorder noted
# the begins of the calls; `rule`: the rule that tells it, where that is not the one of the planted defect.
Wait = collections.namedtuple("Wait", "waiter culprit seconds charges less more rule", defaults=(0.0, 0.0, None))


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


def plus(counter, other):
    """The sum of two; a Counter's own one leaves out what is not positive."""
    total = collections.Counter(counter)
    total.update(other)
    return total


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
        self.charged = collections.defaultdict(collections.Counter) # rank: all its waits, by cause
        self.waits = collections.defaultdict(list) # rank: the end of the call and the seconds of each wait
        # (waiter, culprit): the ledgers of both when the one last waited for the other, or all met, and when.
        # Where two wait for each other by turns, each direction is settled for itself.
        self.met = {}

    def call(self, rank, iteration, what, peer=-1):
        return next(r for r in self.rows[rank, iteration] if r.what == what and r.peer == peer)

    def ledger(self, rank, until):
        """What a rank has spent its time on up to a moment at which a call begins: `solve`, `consume`,
        `rest`, calls without waits, what is between the readings; and its waits, by cause."""
        spent = collections.Counter()
        for reading in self.of_rank[rank]:
            if reading.end <= until:
                part = reading.what if reading.what in ("solve", "consume", "rest") else "calls"
                spent[part] += reading.end - reading.begin
        spent["between"] = until - self.began - sum(spent.values())
        spent["calls"] -= sum(seconds for end, seconds in self.waits[rank] if end <= until)
        return plus(spent, self.charged[rank])

    def edges(self, rank, since, until):
        """How much of `solve` the recorder may have seen elsewhere, because it noted the begin later or the
        end earlier."""
        return sum(r.entered - r.begin + r.end - r.left for r in self.of_rank[rank]
                   if r.what == "solve" and since < r.end <= until)

    def meet_all(self, arrivals):
        """All that anybody did until now is settled."""
        ledgers, when = {rank: self.ledger(rank, arrivals[rank]) for rank in self.ranks}, max(arrivals.values())
        for pair in itertools.permutations(self.ranks, 2):
            self.met[pair] = ledgers[pair[0]], ledgers[pair[1]], when

    def until_over(self, moment):
        return min(moment, self.over)

    def last_met(self, one, another):
        return self.met.get((one, another), (collections.Counter(), collections.Counter(), self.began))

    def charges(self, waiter, culprit, ledgers, seconds):
        """The causes of a wait: what the culprit did more of than the waiter since they last met. Where that
        is a wait of the culprit's own, the cause of that one. What one has waited for the other's work
        stands for that work: it kept both. This is the delay cost of Boehme et al., Identifying the Root
        Causes of Wait States in Large-Scale Parallel Applications, ACM TOPC 3(2), 2016."""
        before = self.last_met(waiter, culprit)
        waiting, late = (collections.Counter({part: now[part] - then[part] for part in now})
                         for now, then in zip(ledgers, before))
        excess = collections.Counter()
        for part, spent in late.items():
            own = not isinstance(part, tuple)
            who, did = cause = (culprit, part) if own else part
            kept = waiting[part]
            if own:
                kept += waiting[cause]
            elif who == culprit:
                kept -= min(kept, max(0.0, late[did] - waiting[did]))
            elif who == waiter:
                kept += max(0.0, waiting[did] - late[did])
            excess[cause] += max(0.0, spent - kept)
        total = sum(excess.values())
        if total <= 0:
            excess, total = {(culprit, "between"): 1.0}, 1.0
        return collections.Counter({cause: seconds * more / total for cause, more in excess.items()})

    def wait(self, waiter, culprit, call, until):
        """From when a call of the waiter's begins until one of the culprit's does; nothing, if it cannot
        have waited."""
        if until.entered <= call.begin:
            return []
        begin, end = call.begin, max(call.begin, self.until_over(until.begin))
        ledgers = self.ledger(waiter, begin), self.ledger(culprit, max(begin, until.begin))
        charges, since = self.charges(waiter, culprit, ledgers, end - begin), self.last_met(waiter, culprit)[2]
        less = (call.entered - call.begin + until.entered - until.begin
                + sum(self.edges(rank, since, until.begin) for rank in (waiter, culprit)))
        self.met[waiter, culprit] = plus(ledgers[0], charges), ledgers[1], end
        return [Wait(waiter, culprit, end - begin, charges, min(end - begin, less), until.entered - end)]

    def note(self, waits, calls):
        """After the waits of an operation, with the calls by rank."""
        for wait in waits:
            self.charged[wait.waiter].update(wait.charges)
            self.waits[wait.waiter].append((calls[wait.waiter].end, wait.seconds))
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
        yield from ranks.note(waits, calls)
        if all_meet:
            ranks.meet_all(arrivals)


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


def late_sender(ranks):
    """Ranks 1, 2 ... wait for a message of rank 0."""
    for i in ranks.iterations:
        for rank in ranks.ranks[1:]:
            receive = ranks.call(rank, i, "MPI_Recv", 0)
            yield from ranks.note(ranks.wait(rank, 0, receive, ranks.call(0, i, "MPI_Send", rank)), {rank: receive})


def late_receiver(ranks):
    """Ranks 1, 2 ... wait until rank 0 receives, and that one waits for who is late to send."""
    for i in ranks.iterations:
        for rank in ranks.ranks[1:]:
            send, receive = ranks.call(rank, i, "MPI_Ssend", 0), ranks.call(0, i, "MPI_Recv", rank)
            yield from ranks.note(ranks.wait(rank, 0, send, receive), {rank: send})
            yield from ranks.note(ranks.wait(0, rank, receive, send), {0: receive})


def two_parts(ranks):
    """Rank 0 sends two messages to each of the others; `take_1` is the receive of the second. Who comes to
    that when the first is not sent yet has no other message to take, and waits for a late sender."""
    for i in ranks.iterations:
        for rank in ranks.ranks[1:]:
            sent = [r for r in ranks.rows[0, i] if r.what == "MPI_Send" and r.peer == rank]
            takes = [r for r in ranks.rows[rank, i] if r.what.startswith("take_")]
            for part in [int(r.what[-1]) for r in takes]:
                take = ranks.call(rank, i, "take_%d" % part, 0)
                waits = ranks.wait(rank, 0, take, sent[part])
                if sent[0].entered > take.begin:
                    waits = [wait._replace(rule="late_sender") for wait in waits]
                yield from ranks.note(waits, {rank: take})


def by_turns(ranks):
    """One of two ranks sends, and the other works before it receives: in each iteration another one. Before
    the large message there is a small one, for which a receiver may wait."""
    for i in ranks.iterations:
        for rank in ranks.ranks:
            receives = [r for r in ranks.rows[rank, i] if r.what == "MPI_Recv"]
            if not receives:
                continue
            sends = [r for r in ranks.rows[rank ^ 1, i] if r.what == "MPI_Send"]
            yield from ranks.note(ranks.wait(rank, rank ^ 1, receives[0], sends[0]), {rank: receives[0]})
            yield from ranks.note(ranks.wait(rank ^ 1, rank, sends[1], receives[1]), {rank ^ 1: sends[1]})


def nobody(ranks):
    return []


def hidden(ranks):
    """What rank 2 is late for the allreduce, it waited for rank 3, apart from its receive."""
    for i in ranks.iterations:
        sent, receive = ranks.call(3, i, "MPI_Send", 2), ranks.call(2, i, "MPI_Recv", 3)
        yield from ranks.note(ranks.wait(2, 3, receive, sent), {2: receive})
        calls, waits = {r: ranks.call(r, i, "MPI_Allreduce") for r in ranks.ranks}, []
        arrivals = {r: call.begin for r, call in calls.items()}
        last = last_of(arrivals)
        for rank in ranks.ranks:
            if rank != last:
                waits += ranks.wait(rank, last, calls[rank], calls[last])
        yield from ranks.note(waits, calls)
        ranks.meet_all(arrivals)


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
                waited = last.end - part.end
                later = min(waited, max(0.0, last.begin - part.begin))
                yield Wait(part.who, last.who, waited,
                           {(last.who, "between"): later, (last.who, "solve"): waited - later})


def lock(ranks):
    """From when a thread asks for the lock until it is inside."""
    for thread, i in sorted(ranks.rows):
        for reading in ranks.rows[thread, i]:
            if reading.what == "lock":
                seconds = reading.end - reading.begin
                yield Wait(thread, None, seconds, {(None, "solve"): seconds}, reading.entered - reading.begin)


def serial(ranks):
    """From the end of one parallel region until the next one begins, of which `solve` is the most."""
    regions = [r for r in ranks.of_rank[0] if r.what == "region"]
    for i in ranks.iterations:
        part = ranks.call(0, i, "solve")
        before = max(r.end for r in regions if r.end <= part.begin)
        after = min(r.begin for r in regions if r.begin >= part.end)
        less = part.entered - part.begin + part.end - part.left
        more = part.begin - before + after - part.end
        for thread in ranks.ranks[1:]:
            seconds = part.end - part.begin
            yield Wait(thread, 0, seconds, {(0, "solve"): seconds}, less, more)


def beside_work(ranks):
    """What all threads have of the phase beside their own work: waits, and what the runtime takes to begin
    and end parallel regions."""
    phase = [r for r in ranks.of_rank[0] if r.what == "iteration"]
    length = phase[-1].end - phase[0].begin
    return sum(length - sum(r.end - r.begin for r in ranks.of_rank[t]
                            if r.what in WORK and r.iteration >= 0) for t in ranks.ranks)


def behind_the_loop(ranks):
    """How much longer than for the last one's work the others may wait at the end of the uneven loop, until
    its parallel region has ended: who loses its core between its last reading and the barrier is late
    there, and has no reading of it."""
    lost = 0.0
    for i in ranks.iterations:
        last = max(ranks.call(t, i, "solve").end for t in ranks.ranks)
        ended = min(r.end for r in ranks.rows[0, i] if r.what == "region" and r.end >= last)
        lost += (len(ranks.ranks) - 1) * (ended - last)
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


def noted_late(readings):
    """The readings as if the recorder noted each begin as late as it can have."""
    return [r._replace(begin=r.entered) for r in readings]


def charges_of(waits, culprit):
    """(who, what it did): seconds of all waits; without a culprit it does not matter who."""
    charges = collections.Counter()
    for wait in waits:
        for (who, part), seconds in wait.charges.items():
            charges[who if culprit is not None else None, part] += seconds
    return charges


class Truth:
    """What really happened in a phase."""

    def __init__(self, name, readings):
        self.name, self.defect = name, name.split(":")[0]
        self.percent = float(name.split(":")[1])
        self.program, find, self.culprit, self.rules = DEFECTS[self.defect]
        ranks = Ranks(readings)
        waits = list(find(ranks))
        named = [w for w in waits if self.culprit is None or any(who == self.culprit for who, _ in w.charges)]
        charges = charges_of(waits, self.culprit)
        self.seconds = sum(seconds for (who, _), seconds in charges.items() if who == self.culprit)
        # So much of it may be put down to something else than work.
        self.elsewhere = self.seconds - charges[self.culprit, "solve"]
        self.others = sum(charges.values()) - self.seconds
        # Of its work it is the least of these, by when the recorder noted what.
        late = charges_of(find(Ranks(noted_late(readings))), self.culprit)
        self.of_work = min(charges[self.culprit, "solve"], late[self.culprit, "solve"])
        # So much of it another rule tells; where that is as much, the finding may have that rule's name.
        self.of_other_rule = sum(w.seconds for w in named if w.rule)
        # So much less and more of it the recorder may have noted.
        self.less, self.more = sum(w.less for w in waits), sum(w.more for w in waits)
        # So much more may have been waited than the readings say.
        self.beyond = behind_the_loop(ranks) if self.defect == "imbalance" else 0.0
        calls = calls_of(readings)
        self.in_calls = sum(r.end - r.begin for r in calls)
        if self.program == "threads":
            self.in_calls = beside_work(ranks)
        # So much calls of MPI take beside waits. It makes ranks late, too, and the recorder has another part of it
        # inside of the calls than the readings have.
        self.beside = max(0.0, self.in_calls - sum(charges.values())) if self.program != "threads" else 0.0
        self.count = len(named)
        # The time of all cores in the phase.
        self.core = 4 * (max(r.end for r in readings) - min(r.begin for r in readings))
        self.planted = self.percent > 0 and bool(self.rules)
        if self.planted and 2 * self.of_other_rule + self.unknown() >= self.seconds:
            self.rules = [*self.rules, *sorted({w.rule for w in named if w.rule})]

    def unknown(self):
        """Seconds that may be waited or not, or for something else."""
        return self.elsewhere + self.beyond + self.less + self.more

    def is_exact(self):
        """Whether what others waited is known well enough to compare seconds."""
        return self.others + self.of_other_rule + self.unknown() < 0.2 * self.seconds

    def is_sure(self):
        """Whether it is four fifths of what is waited: with less, several are to blame."""
        return self.seconds - self.elsewhere > 4 * (self.others + self.elsewhere)

    def is_most(self):
        """Whether all else that is lost, also where nobody waits, is much less, and it was not the
        machine that made the rank late."""
        as_planted = self.culprit is None or self.seconds < 1.5 * self.percent / 100 * self.core
        return self.is_exact() and self.in_calls - self.seconds < 0.5 * self.seconds and as_planted
