"""Fitted models: they score, and know nothing of how they were learnt."""
