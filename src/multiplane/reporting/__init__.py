"""A page about a fitted classifier: `multiplane.report`."""
