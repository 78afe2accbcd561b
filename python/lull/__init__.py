# SPDX-License-Identifier: BSD-3-Clause
"""Runs of parallel programs that lull recorded, as pandas DataFrames, or as dictionaries where pandas is missing.

    import lull
    run = lull.open("heat.lull")
    run.metrics().loc["parallel_efficiency", "value"]
    run.by("region").sort_values("exclusive", ascending=False)
    run.findings()[["sentence", "gain_seconds"]]

All numbers are those of the program lull, which this package starts and whose JSON it reads."""

from ._frame import Table
from ._program import LullError, LullMissing, LullUsageError, LullWarning
from ._run import Result, Run, command, compare, fit, metrics, open, simulate

__version__ = "1.0.0rc1"
__all__ = ["LullError", "LullMissing", "LullUsageError", "LullWarning", "Result", "Run", "Table", "command", "compare",
           "fit", "metrics", "open", "simulate"]

for _public in __all__:
    globals()[_public].__module__ = __name__  # where users find it
