"""Fitted models: they score, and know nothing of how they were learnt."""

from multiplane.models._hyperplanes import HyperplaneModel

__all__ = ["HyperplaneModel"]
