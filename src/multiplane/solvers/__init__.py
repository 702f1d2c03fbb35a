"""The learning algorithms, one a file; each reads like its pseudo-code."""
