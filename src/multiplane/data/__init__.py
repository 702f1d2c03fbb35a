"""Rows of examples: read from anywhere, block by block, as the loops want them."""

from multiplane.data._cache import CacheSource, write_cache
from multiplane.data._errors import DataError
from multiplane.data._examples import Examples as Examples
from multiplane.data._examples import Matrix as Matrix
from multiplane.data._examples import check_sparse as check_sparse
from multiplane.data._examples import filled as filled
from multiplane.data._examples import widened as widened
from multiplane.data._open import open_source
from multiplane.data._source import Block, Source

__all__ = ["Block", "CacheSource", "DataError", "Source", "open_source", "write_cache"]
