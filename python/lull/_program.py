# SPDX-License-Identifier: BSD-3-Clause
"""Starts lull and reads the JSON that it prints. There is no shell, and no file in between."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from typing import Any, Dict, IO, List, Mapping, Optional, Sequence

from . import _stream

_FOLDER = os.path.dirname(__file__)
MOST_ROWS = 4_000_000  # of one answer that are kept: about a gigabyte in Python
# A launcher of MPI tells by these that a process is one of several. A lull that saw them would wait for the others,
# which run Python.
_OF_LAUNCHERS = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "MV2_COMM_WORLD_", "MPI_LOCAL")


class LullError(Exception):
    """lull failed. The text is its own line: file, place, what is wrong.

    command: what was started. status: its exit status, 1 or 2; less than 0, -N: signal N; None: it was not started, or
    what it printed is not understood."""

    def __init__(self, line: str, command: Sequence[str] = (), status: Optional[int] = None) -> None:
        super().__init__(line)
        self.command = list(command)
        self.status = status


class LullUsageError(LullError, ValueError):
    """An argument is not what lull knows. The text says what it knows."""


class LullMissing(LullError, FileNotFoundError):
    """There is no program lull."""


class LullWarning(UserWarning):
    """What lull warns of, such as a trace whose oddities were put right. The text is its line."""


def find(lull: Optional[str]) -> str:
    """The program: as named, or $LULL_PROGRAM, or the lull that this package was installed with, or lull on PATH."""
    wanted = lull or os.environ.get("LULL_PROGRAM") or _installed_with() or "lull"
    found = shutil.which(wanted)
    if found is None:
        raise LullMissing(f"{wanted}: there is no such program; name it by lull=... or in the variable LULL_PROGRAM")
    return found


def _installed_with() -> Optional[str]:
    """PREFIX/bin/lull, where this file is PREFIX/share/lull/python/lull/_program.py."""
    folders = os.path.abspath(_FOLDER).split(os.sep)
    if folders[-4:] != ["share", "lull", "python", "lull"]:
        return None
    program = os.path.join(os.sep.join(folders[:-4]), "bin", "lull")
    return program if os.access(program, os.X_OK) else None


def operand(path: Any) -> str:
    """A path as it may stand among options."""
    text = os.fsdecode(path)
    return os.path.join(".", text) if text.startswith("-") else text


def _tell(line: str) -> None:
    """Warns in the name of the code that called this package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _FOLDER:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(line, LullWarning, stacklevel=depth)


def _environment() -> Dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_OF_LAUNCHERS)}


def _error(said: List[str], command: Sequence[str], status: int) -> LullError:
    if not said:
        said = [f"lull: was ended by signal {-status}" if status < 0 else f"lull: failed with status {status}"]
    kind = LullUsageError if status == 2 else LullError
    return kind("\n".join(said), command, status)


class _Call:
    """One run of lull, whose output is read by `with`."""

    def __init__(self, command: List[str]) -> None:
        self.command = command
        self._said: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=self._said, env=_environment())
        assert self._process.stdout is not None
        self.output = io.TextIOWrapper(self._process.stdout, encoding="utf-8", newline="")

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *exception: Any) -> None:
        """Whoever leaves early, by Ctrl-C or an error, leaves no lull behind."""
        if exception[0] is not None:
            self._process.kill()
        self.output.close()
        self._process.wait()
        self._said.close()

    def finish(self, wrong: Optional[ValueError]) -> None:
        """Waits for the end, tells warnings and raises what went wrong: what lull said rather than `wrong`, which is
        what the reader of its output complained of."""
        self.output.close()
        status = self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "backslashreplace").splitlines()
        rest = []
        for line in lines:
            if ": warning: " in line:
                _tell(line)
            elif line:
                rest.append(line)
        stopped = wrong is not None and status == -signal.SIGPIPE  # as nobody read on
        if status != 0 and (rest or not stopped):
            raise _error(rest, self.command, status)
        if wrong is not None:
            raise LullError(f"lull: its output is no JSON: {wrong}", self.command, status) from wrong


def _start(arguments: Sequence[str], lull: Optional[str]) -> _Call:
    command = [find(lull), *arguments]
    try:
        return _Call(command)
    except OSError as wrong:
        raise LullMissing(f"{command[0]}: cannot be started: {wrong.strerror}", command) from wrong


class _Counted:
    """Hands rows on, as many as a table of Python may have."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command, self._rows = command, 0

    def handing(self, each: _stream.Each) -> _stream.Each:
        if each is None:
            return None
        receive = each

        def take(path: _stream.Path, row: Any) -> None:
            self._rows += 1
            if self._rows > MOST_ROWS:
                raise LullError(f"lull {self._command[0]}: more than {MOST_ROWS:,} rows: open a part of the run, "
                                "lull.open(path, window=(begin, end)), or write all of it, run.arrow(folder)", self._command)
            receive(path, row)

        return take


def document(arguments: Sequence[str], schema: Optional[str], large: Mapping[_stream.Path, _stream.Each],
             lull: Optional[str]) -> Any:
    """The JSON document that lull prints with these arguments, whose schema must be this one ("lull-metrics/1"; None:
    any). `large` is as in _stream.read. Raises LullError where there would be more than MOST_ROWS rows."""
    counted = _Counted(arguments)
    handed = {path: counted.handing(each) for path, each in large.items()}
    with _start([*arguments, "--format", "json"], lull) as call:
        wrong, found = None, None
        try:
            found = _stream.read(call.output, handed)
        except ValueError as error:
            wrong = error
        call.finish(wrong)
    if not isinstance(found, dict) or (schema is not None and found.get("schema") != schema):
        has = found.get("schema") if isinstance(found, dict) else "no object"
        raise LullError(f"lull: its output is {has}, this package expects {schema}", call.command)
    return found


def text(arguments: Sequence[str], lull: Optional[str]) -> str:
    """What lull prints with these arguments."""
    with _start(arguments, lull) as call:
        printed = call.output.read()
        call.finish(None)
    return printed
