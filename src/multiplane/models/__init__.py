"""Fitted models: they score, and know nothing of how they were learnt."""

from multiplane.models._hyperplanes import HyperplaneModel
from multiplane.models._kernels import KernelModel

__all__ = ["HyperplaneModel", "KernelModel"]
