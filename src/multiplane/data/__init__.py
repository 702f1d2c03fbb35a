"""Rows of examples, in the form in which the loops want them."""

from multiplane.data._examples import Examples, Matrix

__all__ = ["Examples", "Matrix"]
