"""The learning algorithms, one a file; each reads like its pseudo-code."""

from multiplane.solvers._sgd import (
    Alternating,
    Assignment,
    Online,
    Result,
    Settings,
    fit,
    one_pass,
)

__all__ = ["Alternating", "Assignment", "Online", "Result", "Settings", "fit", "one_pass"]
