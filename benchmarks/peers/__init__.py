"""multiplane beside what one would otherwise pick: `python -m benchmarks.peers`."""
