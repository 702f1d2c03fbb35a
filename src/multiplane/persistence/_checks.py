"""What both families of estimators need to be read."""

from __future__ import annotations

from typing import Any

from multiplane.models._container import ModelFileError


def checked_state(training: Any, forms: dict[str, Any]) -> dict[str, Any]:
    """The state of a training, if it has these parts, of these types, and no others."""
    if not isinstance(training, dict) or training.keys() != forms.keys():
        raise ModelFileError(f"its training must have the parts {sorted(forms)}")
    for name, form in forms.items():
        if not isinstance(training[name], form) or isinstance(training[name], bool):
            raise ModelFileError(f"its training has {name} of another type")
    return training
