# SPDX-License-Identifier: BSD-3-Clause
"""Tables as pandas DataFrames, or where pandas is missing as dictionaries of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Union

if TYPE_CHECKING:
    import pandas

    Frame = Union["pandas.DataFrame", "Table"]

_WHOLE = ("count", "B")  # units of whole numbers
_MOST = 2**63
_EXACT = 2**53  # up to here a double holds each whole number


class Table(Dict[str, List[Any]]):
    """A dictionary of columns, each a list. The first is what would be the index of a DataFrame. What has no value is
    None. attrs: as of a DataFrame."""

    def __init__(self, columns: Mapping[str, List[Any]]) -> None:
        super().__init__(columns)
        self.attrs: Dict[str, Any] = {}


def cell(value: Any, unit: str) -> Any:
    """A value of a document. Whole numbers above 2^53 are texts there, as many readers of JSON know doubles only."""
    if isinstance(value, str) and unit in _WHOLE and value.lstrip("-").isdigit():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and unit not in (*_WHOLE, "text"):
        return float(value)
    return value


def numbers(names: Sequence[str]) -> List[Any]:
    """Names as numbers where all of them are: ranks and iterations."""
    return [int(name) for name in names] if all(name.isdecimal() for name in names) else list(names)


def _series(pandas: Any, values: List[Any], text: bool) -> Any:
    """A column with the narrowest type that holds all values exactly."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if not there:
        return pandas.Series(values, dtype=object if text else "float64")
    if kinds == {bool}:
        return pandas.Series(values, dtype="bool" if len(there) == len(values) else "boolean")
    if kinds == {int} and all(-_MOST <= value < _MOST for value in there):
        return pandas.Series(values, dtype="int64" if len(there) == len(values) else "Int64")
    if kinds <= {int, float} and all(isinstance(value, float) or abs(value) <= _EXACT for value in there):
        return pandas.Series(values, dtype="float64")
    return pandas.Series(values, dtype=object)


def frame(columns: Mapping[str, List[Any]], index: bool, units: Optional[Mapping[str, str]] = None,
          **attrs: Any) -> Frame:
    """A DataFrame, or a Table where pandas is not installed. index: the first column is the index. attrs["units"] has the
    units of columns that have one."""
    texts = [name for name, unit in (units or {}).items() if unit == "text"]
    units = {name: unit for name, unit in (units or {}).items() if unit and unit != "text"}
    try:
        import pandas
    except ImportError:
        result: Any = Table(columns)
    else:
        result = pandas.DataFrame({name: _series(pandas, values, name in texts) for name, values in columns.items()})
        if index:
            result = result.set_index(next(iter(columns)))
    result.attrs = {**attrs, "units": units}
    return result


class Rows:
    """The rows of one table of a document, which come one after the other, as columns."""

    def __init__(self) -> None:
        self.ids: List[str] = []
        self.labels: List[str] = []
        self.parents: List[Optional[str]] = []
        self.units: List[str] = []
        self.abouts: List[Optional[str]] = []
        self.absent: List[Optional[List[Optional[str]]]] = []
        self.values: List[List[Any]] = []  # of each column

    def add(self, row: Mapping[str, Any]) -> None:
        self.ids.append(row["id"])
        self.labels.append(row["label"])
        self.parents.append(row.get("parent"))
        self.units.append(row.get("unit") or "")
        self.abouts.append(row.get("about"))
        self.absent.append(row.get("absent"))
        if not self.values:
            self.values = [[] for _ in row["values"]]
        for column, value in zip(self.values, row["values"]):
            column.append(value)

    def column(self, number: int, unit: str) -> List[Any]:
        if not self.values:
            return []
        return [cell(value, unit or own) for value, own in zip(self.values[number], self.units)]

    def reasons(self, number: int) -> List[Optional[str]]:
        """Why a value of the column is not there; None where it is, or where nothing belongs there."""
        return [reasons[number] if reasons else None for reasons in self.absent]


class Tables:
    """The tables of a document, whose rows were taken from its stream (_stream.read)."""

    LARGE = ("tables", "*", "rows")

    def __init__(self) -> None:
        self._rows: Dict[str, Rows] = {}

    def take(self, path: Any, row: Mapping[str, Any]) -> None:
        """Gets the rows of the document."""
        self._rows.setdefault(path[1], Rows()).add(row)

    def rows(self, name: str) -> Rows:
        return self._rows.get(name) or Rows()

    def frame(self, document: Mapping[str, Any], name: str) -> Frame:
        """A table as it is: `id` the index, `label`, where there is a tree `parent`, where rows have units of their own
        `unit`, and its columns."""
        rows, table = self.rows(name), document["tables"][name]
        columns: Dict[str, List[Any]] = {"id": rows.ids, "label": rows.labels}
        if any(parent is not None for parent in rows.parents):
            columns["parent"] = list(rows.parents)
        if any(rows.units):
            columns["unit"] = list(rows.units)
        units = {}
        for number, column in enumerate(table["columns"]):
            name_of = column["id"] if column["id"] not in columns else column["id"] + "#2"
            units[name_of] = column.get("unit") or ""
            columns[name_of] = rows.column(number, units[name_of])
        return frame(columns, True, units, title=table["title"], facts=document["facts"],
                     notes=[note["text"] for note in document["notes"]])
