"""Rows of examples, in the form in which the loops want them."""

from multiplane.data._examples import Examples, Matrix, check_sparse

__all__ = ["Examples", "Matrix", "check_sparse"]
