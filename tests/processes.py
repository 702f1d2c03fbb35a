"""What test_ls_experiments.py runs in processes of their own: quick to import."""

import os
import time


def spin(seconds, ready):
    ready()
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
    return seconds


def absent(ready):
    raise ModuleNotFoundError("No module named 'absent'")


def crash(ready):
    os.abort()
