# SPDX-License-Identifier: BSD-3-Clause
"""Runs, and what lull says of them."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _frame, _program, _stream
from ._program import LullError

if TYPE_CHECKING:
    from ._frame import Frame

Path = Union[str, "os.PathLike[str]"]
Seconds = Optional[float]
Window = Union[str, Tuple[Seconds, Seconds]]
Source = Union["Run", Path]

_BINS = 64  # of a row in the JSON of `lull report`
_MOST_CELLS = 25_000_000  # of a matrix, which has cells for pairs without messages, too
# What only the page of a report needs, or none of the methods here: nobody keeps it.
_UNWANTED: Dict[_stream.Path, _stream.Each] = {
    ("runs", "*", "profile"): None,
    ("timelines", "*", "waits"): None,
    ("timelines", "*", "regions"): None,
    ("timelines", "*", "differing"): None,
    ("timelines", "*", "cells"): None,
    ("matrices", "*", "entries"): None,
}


def _option(name: str, value: Any) -> List[str]:
    """A value as an option of lull. None and False: none; True: the option alone; a list: joined by commas."""
    if value is None or value is False:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, (list, tuple)):
        value = ",".join(str(item) for item in value)
    return [f"--{name}={value}"]


def _options(**values: Any) -> List[str]:
    return [text for name, value in values.items() for text in _option(name.replace("_", "-"), value)]


def _window(window: Optional[Window]) -> Optional[str]:
    if window is None or isinstance(window, str):
        return window
    return ":".join("" if time is None else f"{time:.9f}" for time in window)


class Result(Dict[str, "Frame"]):
    """Tables of one command by name, as DataFrames or dictionaries.

    title, facts (single values by name) and notes (remarks) are those of the document, `document` is what else it holds
    (docs/formats/json.md)."""

    title: str
    facts: Dict[str, Any]
    notes: List[str]
    document: Dict[str, Any]


def command(*arguments: Any, lull: Optional[str] = None) -> Result:
    """What `lull ARGUMENT...` prints as JSON, its tables as DataFrames or dictionaries: all that has no function of its
    own, as `lull.command("replay", "heat.lull", "--network", "ideal")`."""
    return _command([os.fsdecode(argument) if isinstance(argument, os.PathLike) else str(argument)
                     for argument in arguments], None, lull)


def _command(arguments: Sequence[str], schema: Optional[str], lull: Optional[str]) -> Result:
    tables = _frame.Tables()
    found = _program.document(arguments, schema, {_frame.Tables.LARGE: tables.take}, lull)
    result = Result({name: tables.frame(found, name) for name in found.get("tables", {})})
    result.title = found.get("title", "")
    result.facts = found.get("facts", {})
    result.notes = [note["text"] for note in found.get("notes", [])]
    result.document = {key: value for key, value in found.items() if key not in ("tables", "facts", "notes", "title")}
    return result


class Run:
    """A run: what a tracer wrote, a simulated run, or a document of `lull metrics --format json`. `lull.open` makes it.

    Each method starts lull once and reads the run anew; nothing of the run is kept here. Times are in seconds, sizes in
    bytes, shares and efficiencies fractions of 1. Methods return a pandas DataFrame, or without pandas a dictionary of
    columns with the same names; its attrs have `units`, `notes` and `title`. They raise LullError where lull fails."""

    def __init__(self, path: Path, options: Mapping[str, Any], lull: Optional[str]) -> None:
        self.path = os.fsdecode(path)
        self.name = os.path.basename(os.path.normpath(self.path))
        self._options = {name: value for name, value in options.items() if value not in (None, False)}
        self._lull = lull

    def __repr__(self) -> str:
        return "".join([f"lull.open({self.path!r}", *(f", {name}={value!r}" for name, value in self._options.items()),
                        ")"])

    def _ask(self, name: str, schema: str, options: Sequence[str], large: Mapping[_stream.Path, _stream.Each]) -> Any:
        arguments = [name, *_options(**self._options), *options, _program.operand(self.path)]
        return _program.document(arguments, schema, {**_UNWANTED, **large}, self._lull)

    def _report(self, large: Mapping[_stream.Path, _stream.Each]) -> Any:
        """A report without what takes its time: replays, and who made others wait."""
        return self._ask("report", "lull-report/1", _options(no_replay=True, no_prices=True, no_waits=True), large)

    def info(self) -> Result:
        """What the run holds: facts, and tables such as `about` (what it says of itself), `events`, `communication`.
        Whole files are read for it, whatever part of the run was opened."""
        return _command(["info", *_options(threads=self._options.get("threads")), _program.operand(self.path)],
                        "lull-info/1", self._lull)

    def metrics(self, scheme: Optional[str] = None, variant: Optional[str] = None, raw: bool = False,
                counters: bool = False, replay: bool = True) -> Frame:
        """The efficiencies as a tree. Index `id`; columns `table`, `label`, `parent`, `unit`, `value`, `absent` (why a
        value is not there) and `about` (the formula).

        scheme: "additive", "multiplicative" or "all", by default what suits the run; variant: "bsc" or "nag"; raw: also
        the times behind the efficiencies; counters: also hardware counters; replay=False: faster, without transfer and
        serialisation."""
        tables = _frame.Tables()
        options = _options(scheme=scheme, variant=variant, raw=raw, counters=counters, no_replay=not replay)
        found = self._ask("metrics", "lull-metrics/1", options, {_frame.Tables.LARGE: tables.take})
        return _tree(found, tables, ["value"])

    def by(self, part: str, table: Optional[str] = None) -> Frame:
        """Where the time went, by part: all that `lull metrics --by` knows, as "region", "callsite", "process", "thread",
        "file", "wait", "function", "line" or "loop". Index `id`, columns `label` and those that docs/formats/json.md lists.

        table: another table of the same part, as by("region", "parallel_regions"), by("wait", "mpi_time")."""
        tables = _frame.Tables()
        # the critical path, which these two tell, is that of the runtime on an ideal network
        without = part not in ("region", "callsite")
        found = self._ask("metrics", "lull-metrics/1", _options(by=part, no_replay=without),
                          {_frame.Tables.LARGE: tables.take})
        names = {name.split(":", 1)[0]: name for name in found["tables"] if ":" in name}
        if table is None and names:
            first = next(iter(names))
            table = f"all_{first}" if f"all_{first}" in names else first
        if table not in names:
            said = [note["text"] for note in found["notes"]]
            what = f"no table {table} by {part}, only {', '.join(names)}" if names else f"no table by {part}"
            raise LullError("\n".join([f"lull metrics: {self.path}: {what}", *said]))
        return tables.frame(found, names[table])

    def findings(self, prices: bool = True, machine: Optional[Path] = None) -> Frame:
        """What the run loses its time by, most important first. Columns: `rule`, `sentence`, `cause`, `seconds` (core
        time), `gain_seconds`, `gain_factor`, `gain_low`, `gain_high`, `gain_too_small` or `gain_absent` (what the runtime
        would gain without it, by replays), `process`, `node`, `thread`, `region`, `site`, `begin`, `end` (of the longest
        instance), `next` (a command), `evidence` (a list of numbers with `id`, `label`, `unit`, `value`).

        prices=False: faster, without gains; machine: a machine file of `lull bench`."""
        options = _options(no_prices=not prices, machine=None if machine is None else os.fsdecode(machine))
        found = self._ask("report", "lull-report/1", options, {("tables", "*", "rows"): None})
        names = {"rule": "text", "sentence": "text", "cause": "text", "seconds": "s", "gain_seconds": "s",
                 "gain_factor": "", "gain_low": "s", "gain_high": "s", "gain_too_small": "", "gain_absent": "text",
                 "process": "count", "node": "text", "thread": "count", "region": "text", "site": "text", "begin": "s",
                 "end": "s", "next": "text", "evidence": ""}
        columns: Dict[str, List[Any]] = {name: [] for name in names}
        for finding in found.get("findings", []):
            flat = {**finding, **finding["place"], **{f"gain_{key}": value for key, value in finding["gain"].items()}}
            for name, unit in names.items():
                columns[name].append(_frame.cell(flat.get(name), unit))
        return _frame.frame(columns, False, names, title="Findings", notes=_notes(found))

    def timeline(self, bins: int = _BINS, kind: Optional[str] = None) -> Frame:
        """How long each row spent on each activity in each bin of time. Columns: `row` (its number), `name`, `kind`
        ("band", "node", "process", "thread", "device"), `parent` (the number of a row), `leaves` (locations in it),
        `bin`, `begin`, `end`, and one column for each activity in s. Rows are sums of their children.

        bins: 1, 2, 4, 8, 16, 32 or 64: lull tells 64 for each row; open a window to see a part finer. kind: only these
        rows."""
        if bins not in (1, 2, 4, 8, 16, 32, 64):
            raise ValueError(f"bins is {bins}, expected 1, 2, 4, 8, 16, 32 or 64; open a window to see a part finer")
        cells: List[Mapping[str, Any]] = []
        found = self._report({("timelines", "*", "cells"): lambda path, cell: cells.append(cell),
                              ("tables", "*", "rows"): None})
        line = _first(found.get("timelines"), "timeline", self.path)
        return _timeline(found, line, cells, bins, kind)

    def messages(self, total: bool = False) -> Frame:
        """Messages by size. Index `id`: the smallest size of a class in bytes, below twice which its messages are;
        columns `label`, `count`, `share`. total=True: `sent` and `received` with `count` and `bytes`."""
        tables = _frame.Tables()
        found = self._report({_frame.Tables.LARGE: tables.take})
        wanted = "messages:" if total else "message_sizes:"
        for name in found["tables"]:
            if name.startswith(wanted):
                return tables.frame(found, name)
        raise LullError(f"lull report: {self.path}: there are no messages")

    def matrix(self, layer: str = "bytes", nodes: bool = False) -> Frame:
        """Who sent how much to whom. Index: senders; columns: receivers, by rank where they are ranks. A pair without a
        message has 0.

        layer: "bytes", "messages" or "wait" (s that the receiver was in MPI until they were there); nodes: nodes instead
        of processes."""
        found, matrix, entries = self._matrix("node_communication:" if nodes else "communication:")
        number, unit = _layer(matrix, layer)
        senders, receivers = len(matrix["rows"]), len(matrix["columns"])
        if senders * receivers > _MOST_CELLS:
            raise LullError(f"lull report: {self.path}: {senders:,} x {receivers:,} cells are too many for a matrix: ask for "
                            "nodes=True, or for the table of messages, run.arrow(folder)")
        nothing: Union[int, float] = 0 if unit in ("B", "count") else 0.0
        dense = [[nothing] * senders for _ in range(receivers)]
        for entry in entries:
            value = _frame.cell(entry[2 + number], unit)
            dense[entry[1]][entry[0]] = nothing if value is None else value
        columns: Dict[Any, List[Any]] = {"sender": _frame.numbers(matrix["rows"])}
        columns.update(zip(_frame.numbers(matrix["columns"]), dense))
        return _frame.frame(columns, True, None, title=matrix["title"], notes=_notes(found), unit=unit)

    def iterations(self) -> Frame:
        """Iterations of ranks, found as `lull wave` finds them. Columns: `rank`, `iteration`, `time`, `work`, `wait` in
        s, and where they were counted `instructions`, `ipc`, `frequency` (GHz). In long runs neighbours are joined to
        their mean, and `rank` and `iteration` are names such as "0-3"."""
        found, matrix, entries = self._matrix("iterations:")
        ranks, iterations = _frame.numbers(matrix["rows"]), _frame.numbers(matrix["columns"])
        columns: Dict[str, List[Any]] = {"rank": [ranks[entry[0]] for entry in entries],
                                         "iteration": [iterations[entry[1]] for entry in entries]}
        units = {layer["id"]: layer["unit"] for layer in matrix["layers"]}
        for number, (name, unit) in enumerate(units.items()):
            columns[name] = [_frame.cell(entry[2 + number], unit) for entry in entries]
        return _frame.frame(columns, False, units, title=matrix["title"], notes=_notes(found))

    def _matrix(self, wanted: str) -> Tuple[Any, Any, List[Any]]:
        """The document, its matrix whose id begins so, and the entries of that."""
        entries: Dict[Any, List[Any]] = {}
        found = self._report({("matrices", "*", "entries"): lambda path, entry:
                              entries.setdefault(path[1], []).append(entry), ("tables", "*", "rows"): None})
        for number, matrix in enumerate(found.get("matrices", [])):
            if matrix["id"].startswith(wanted):
                _must_be_there(matrix, matrix["title"], self.path)
                return found, matrix, entries.get(number, [])
        raise LullError(f"lull report: {self.path}: there is no matrix of {wanted[:-1].replace('_', ' ')}")

    def waves(self, least: Optional[str] = None, iterations: Optional[str] = None, replay: bool = True) -> Frame:
        """Idle waves, one row each. Columns are the keys of docs/formats/json.md joined by "_": `origin_rank`,
        `origin_iteration`, `origin_time_s`, `length_s`, `up_ranks_per_iteration` with `..._low` and `..._high`,
        `cost_s` and so on. Of runs of two ranks, which have delays instead of waves, the columns are those of the table
        `delays`.

        least: the shortest delay that counts, as "10ms"; iterations: a marker that begins iterations; replay=False:
        faster, without costs."""
        tables = _frame.Tables()
        found = self._ask("wave", "lull-wave/1", _options(least=least, iterations=iterations, no_replay=not replay),
                          {_frame.Tables.LARGE: tables.take})
        if "delays" in found["tables"]:
            return tables.frame(found, "delays")
        flat = [_flat(wave) for wave in found.get("waves", [])]
        names = dict.fromkeys(name for wave in flat for name in wave)
        units = {name: "count" if name.endswith(("rank", "iteration", "reached", "distance"))
                 and "_per_" not in name else "text" if name.endswith(("where", "why", "operation")) else "s"
                 if name.endswith("_s") else "" for name in names}
        columns = {name: [_frame.cell(wave.get(name), units[name]) for wave in flat] for name in names}
        return _frame.frame(columns, False, units, title=found["title"], facts=found["facts"], notes=_notes(found))

    def report(self, path: Optional[Path] = None, max_size: Optional[str] = None) -> str:
        """The page of `lull report` as HTML. path: a file for it, which appears whole or not at all; max_size: as
        "1MB"."""
        arguments = ["report", *_options(**self._options), *_options(max_size=max_size), "--format", "html"]
        if path is not None:
            arguments += _options(output=os.fsdecode(path))
        return _program.text([*arguments, _program.operand(self.path)], self._lull)

    def arrow(self, folder: Path, force: bool = False) -> Dict[str, str]:
        """Writes the whole run as tables, an Arrow file each (docs/formats/arrow.md), into a folder that appears whole or
        not at all, and gives their paths by name: `pandas.read_feather(run.arrow("tables")["steps"])`. force: replaces the
        folder if it holds tables."""
        arguments = ["convert", _program.operand(self.path), _program.operand(os.fsdecode(folder)), "--to", "arrow"]
        _program.text([*arguments, *_options(force=force)], self._lull)
        return {os.path.splitext(name)[0]: os.path.join(os.fsdecode(folder), name)
                for name in sorted(os.listdir(folder))}

    def _repr_html_(self) -> str:
        """The page of the report in a frame of its own, for notebooks. The frame may run the page's script, and do
        nothing to the notebook."""
        try:
            page = self.report(max_size="1MB")
        except LullError as wrong:
            return f"<pre>{html.escape(str(wrong))}</pre>"
        return (f'<iframe title="{html.escape(self.name)}" srcdoc="{html.escape(page)}" sandbox="allow-scripts" '
                'style="width:100%;height:45em;border:0"></iframe>')


def _notes(found: Mapping[str, Any]) -> List[str]:
    return [note["text"] for note in found["notes"]]


def _must_be_there(thing: Mapping[str, Any], what: str, path: str) -> None:
    if thing.get("absent"):
        raise LullError(f"lull report: {path}: {what}: {thing['absent']}")


def _first(things: Optional[List[Any]], what: str, path: str) -> Any:
    if not things:
        raise LullError(f"lull report: {path}: there is no {what}")
    _must_be_there(things[0], what, path)
    return things[0]


def _layer(matrix: Mapping[str, Any], wanted: str) -> Tuple[int, str]:
    """Its number and unit."""
    names = [layer["id"] for layer in matrix["layers"]]
    if wanted not in names:
        raise ValueError(f"layer is {wanted!r}, expected {', '.join(names)}")
    number = names.index(wanted)
    return number, matrix["layers"][number]["unit"]


def _flat(value: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    """Objects in objects as one, with their keys joined; the key `value` adds nothing to the name."""
    flat: Dict[str, Any] = {}
    for key, item in value.items():
        name = before if key == "value" else f"{before}_{key}" if before else key
        flat.update(_flat(item, name) if isinstance(item, dict) else {name: item})
    return flat


def _timeline(found: Any, line: Any, cells: Sequence[Mapping[str, Any]], bins: int, kind: Optional[str]) -> Frame:
    """Bins of the report are added in ns, in which they are whole numbers, so that sums stay exact."""
    begin, end = round(line["begin"] * 1e9), round(line["end"] * 1e9)
    edges = [begin + number * (end - begin) // bins for number in range(bins + 1)]
    activities = [activity["id"] for activity in line["activities"]]
    columns: Dict[str, List[Any]] = {name: [] for name in ("row", "name", "kind", "parent", "leaves", "bin", "begin",
                                                           "end", *activities)}
    joined = _BINS // bins
    for cell in cells:
        row = line["rows"][cell["row"]]
        if kind is not None and row["kind"] != kind:
            continue
        for name, value in (("row", cell["row"]), ("name", row["name"]), ("kind", row["kind"]),
                            ("parent", row["parent"]), ("leaves", row["leaves"])):
            columns[name] += [value] * bins
        columns["bin"] += range(bins)
        columns["begin"] += [edge / 1e9 for edge in edges[:-1]]
        columns["end"] += [edge / 1e9 for edge in edges[1:]]
        for name in activities:
            spent = [round(seconds * 1e9) for seconds in cell.get(name) or [0] * _BINS]
            columns[name] += [sum(spent[at : at + joined]) / 1e9 for at in range(0, _BINS, joined)]
    units = {name: "s" for name in ("begin", "end", *activities)}
    labels = {activity["id"]: activity["label"] for activity in line["activities"]}
    return _frame.frame(columns, False, units, title=f"Timeline of {line['run']}", notes=_notes(found), labels=labels)


def _tree(found: Any, tables: _frame.Tables, names: Optional[Sequence[str]]) -> Frame:
    """Tables whose columns are runs, one below the other. names: of the columns, by default those of the runs."""
    columns: Dict[str, List[Any]] = {"id": [], "table": [], "label": [], "parent": [], "unit": []}
    of_runs: List[str] = []
    absent: List[List[Optional[str]]] = []
    abouts: List[Optional[str]] = []
    for name, table in found["tables"].items():
        rows = tables.rows(name)
        of_runs = list(names or [column["id"] for column in table["columns"]])
        for key, values in (("id", rows.ids), ("table", [name] * len(rows.ids)), ("label", rows.labels),
                            ("parent", rows.parents), ("unit", rows.units)):
            columns[key] += values
        absent = absent or [[] for _ in of_runs]
        for number, run in enumerate(of_runs):
            columns.setdefault(run, []).extend(rows.column(number, ""))
            absent[number] += rows.reasons(number)
        abouts += rows.abouts
    if names:
        columns["absent"] = list(absent[0]) if absent else []
    columns["about"] = list(abouts)
    reasons = {run: {key: why for key, why in zip(columns["id"], column) if why}
               for run, column in zip(of_runs, absent)}
    return _frame.frame(columns, True, None, title="Efficiencies", notes=_notes(found), absent=reasons)


def open(path: Path, *, application: Optional[int] = None, window: Optional[Window] = None,
         region: Optional[str] = None, whole: bool = False, force: bool = False, threads: Optional[int] = None,
         raw_names: bool = False, lull: Optional[str] = None) -> Run:
    """A run, whatever its format. It is read when a method asks for something.

    application: which program of a trace that holds several; window: only this part, as "200ms:1.5s" or (0.2, 1.5) in
    seconds; region: only the time in this region; whole: also what is before MPI_Init and behind MPI_Finalize; force: go
    on where lull would refuse; threads: of lull; raw_names: names of functions as the run has them; lull: the program,
    by default $LULL_PROGRAM or lull on PATH.

    Raises LullError where there is no such file, LullMissing where there is no lull."""
    run = Run(path, {"application": application, "window": _window(window), "region": region, "whole": whole,
                     "force": force, "threads": threads, "raw_names": raw_names}, lull)
    _program.find(lull)
    if not os.path.exists(run.path):
        run.info()
    return run


def _paths(sources: Sequence[Source]) -> Tuple[List[str], Dict[str, Any], Optional[str]]:
    """Operands, and the options with which all of them were opened."""
    runs = [source if isinstance(source, Run) else Run(source, {}, None) for source in sources]
    opened = [run for run, source in zip(runs, sources) if isinstance(source, Run)]
    for run in opened[1:]:
        if run._options != opened[0]._options:
            raise ValueError(f"the runs were opened with different options: {opened[0]!r}, {run!r}")
    options, lull = (dict(opened[0]._options), opened[0]._lull) if opened else ({}, None)
    return [_program.operand(run.path) for run in runs], options, lull


def metrics(*runs: Source, reference: Optional[str] = None, scaling: Optional[str] = None, scheme: Optional[str] = None,
            variant: Optional[str] = None, raw: bool = False, counters: bool = False, replay: bool = True) -> Frame:
    """The efficiencies of several runs side by side, as Run.metrics has them of one: columns `table`, `label`, `parent`,
    `unit`, one for each run from the fewest threads to the most, and `about`. attrs["absent"] says why a value is not
    there, by run and metric.

    reference: the run that the others are compared with; scaling: "strong", "weak" or "auto"."""
    paths, opened, lull = _paths(runs)
    options = _options(**opened) + _options(reference=reference, scaling=scaling, scheme=scheme, variant=variant, raw=raw,
                                            counters=counters, no_replay=not replay)
    tables = _frame.Tables()
    found = _program.document(["metrics", *options, *paths], "lull-metrics/1",
                              {**_UNWANTED, _frame.Tables.LARGE: tables.take}, lull)
    return _tree(found, tables, None)


def _several(source: Union[Source, Sequence[Source]]) -> List[Source]:
    return list(source) if isinstance(source, (list, tuple)) else [source]  # type: ignore[list-item]


def compare(a: Union[Source, Sequence[Source]], b: Union[Source, Sequence[Source]], *,
            against: Optional[Path] = None) -> Result:
    """How much more or less time b spends than a, each a run or a list of runs, as `lull diff`: table `parts` by region,
    call site and cause, table `computation` where runs have counters, and facts such as `runtime_change`.

    against: a history, whose runs stand beside those of a for what is certain."""
    before, after = _several(a), _several(b)
    paths, opened, lull = _paths(before + after)
    return _command(["diff", *_options(**opened), *_options(against=None if against is None else os.fsdecode(against)),
                     *paths[: len(before)], "--", *paths[len(before) :]], "lull-diff/1", lull)


def fit(*sources: Source, x: Union[str, Sequence[str], None] = None, y: Optional[str] = None,
        law: Union[str, Sequence[str], None] = None, kind: Optional[str] = None, errors: Optional[str] = None,
        at: Union[str, float, Sequence[Any], None] = None, extrapolate: bool = False, confidence: Optional[float] = None,
        sizes: Optional[Sequence[float]] = None, by: Optional[str] = None, lull: Optional[str] = None) -> Result:
    """Laws of scaling, fitted to runs or to one table of measurements, as `lull fit`: facts `law` and `formula`, tables
    `laws`, `points`, with `at` `predictions`, and with by="region" `regions`.

    x: over what; y: "runtime", "region:NAME", "metric:NAME" or a column; law: to choose from; kind: "time",
    "throughput", "efficiency" or "quantity"; errors: "relative" or "absolute"; at: predict there, with several
    parameters as "64:1000"; confidence: of intervals in percent; sizes: of the problem of each run."""
    paths, opened, named = _paths(sources)
    options = _options(**opened) + _options(x=x, y=y, law=law, kind=kind, errors=errors, at=at, extrapolate=extrapolate,
                                            confidence=confidence, sizes=sizes, by=by)
    return _command(["fit", *options, *paths], "lull-fit/1", lull or named)


def simulate(schedule: Optional[Path] = None, *, pattern: Optional[str] = None, network: Optional[str] = None,
             machine: Optional[Path] = None, noise: Optional[str] = None, delay: Union[str, Sequence[str]] = (),
             placement: Optional[str] = None, memory: Optional[str] = None, seed: Optional[int] = None,
             output: Optional[Path] = None, per_rank: bool = False, path: bool = True, threads: Optional[int] = None,
             lull: Optional[str] = None) -> Result:
    """Message passing on a modelled network, as `lull simulate`: facts such as `runtime`, tables `ranks` and `path` (the
    longest path), or of a sweep `sweep`; and `rank_ends`: when each rank ends, in ns.

    schedule: a file in the format GOAL, or else a pattern; specs are texts as "chain:ranks=64,exec=1ms"; delay: as
    "31@i10:20ms", or a list of such; output: also write the simulated run as a trace, for lull.open; path=False: without
    the longest path."""
    options = _options(pattern=pattern, network=network, noise=noise, placement=placement, memory=memory, seed=seed,
                       machine=None if machine is None else os.fsdecode(machine), per_rank=per_rank, no_path=not path,
                       output=None if output is None else os.fsdecode(output), threads=threads)
    for one in [delay] if isinstance(delay, str) else delay:
        options += _option("delay", one)
    operands = [] if schedule is None else [_program.operand(schedule)]
    result = _command(["simulate", *options, *operands], "lull-simulate/1", lull)
    points = result.document.get("points", [result.document])
    ends = [(number, rank, end) for number, point in enumerate(points)
            for rank, end in enumerate(point.get("rank_end_ns", []))]
    result["rank_ends"] = _frame.frame({"point": [end[0] for end in ends], "rank": [end[1] for end in ends],
                                        "end_ns": [_frame.cell(end[2], "count") for end in ends]}, False)
    return result
