"""Estimators in files: written whole, read without trust."""
