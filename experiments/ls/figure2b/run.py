"""Least-squares paper, Figure 2(b): how long the runs of Figure 2(a) took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...records import Record, mean
from ..figure2a.run import PEERS, by_features, features_of, picture


def draw(records: list[Record], path: Path) -> None:
    picture(records, path, "seconds", "processor seconds of training")


def claims(records: list[Record]) -> Iterator[tuple[str, bool, str]]:
    """A peer that was ended counts with the seconds it was given."""
    for update in ("linear", "calibrated", "logistic"):
        ours = {n: mean(r, "seconds") for n, r in by_features(records, update).items()}
        ratios = {
            (features_of(r), r["column"]): seconds(r) / ours[features_of(r)]
            for r in records
            if r["column"] in PEERS and ours and ("missing" not in r or "limit" in r)
        }
        if not ratios:
            continue
        n, peer = min(ratios, key=lambda name: ratios[name])
        many = sum(ratio >= 10 for ratio in ratios.values())
        least = f"least: {ratios[n, peer]:.1f} times, {peer} with {n:,} features"
        if update == "logistic":
            what, shown = "the logistic update is faster than all peers", ratios[n, peer] > 1
        else:
            what, shown = (
                f"{update} is at least ten times faster than all peers",
                many == len(ratios),
            )
        yield what, shown, f"{least}; ten times in {many} of {len(ratios)} runs"


def seconds(found: Record) -> float:
    return float(found["limit"]) if "missing" in found else mean(found, "seconds")
