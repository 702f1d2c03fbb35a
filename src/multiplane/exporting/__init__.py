"""Fitted classifiers as files for other runtimes: ONNX graphs and C headers."""
