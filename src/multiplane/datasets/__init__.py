"""Data to try the classifiers on: generators with known answers, real sets.

The generators need nothing but a seed; those named ``stream_`` give blocks of rows without end.
:func:`make_infinite_digits` deforms the images of a real set.
The loaders read files from a folder (see :func:`data_directory`) and ask scikit-learn to
download what is not there.
"""

from ._digits import make_infinite_digits
from ._large import load_mnist8m, load_rcv1, load_rcv1_topics, load_url, load_webspam
from ._real import (
    data_directory,
    load_a9a,
    load_cifar10,
    load_cifar10_small,
    load_covtype,
    load_ijcnn1,
    load_letter,
    load_mnist,
    load_news20,
    load_usps,
    load_waveform,
    read_libsvm,
    round_digits,
)
from ._streams import make_waveform, stream_checkerboard, stream_waveform
from ._synthetic import make_checkerboard, make_weights, make_xor_strip

__all__ = [
    "data_directory",
    "load_a9a",
    "load_cifar10",
    "load_cifar10_small",
    "load_covtype",
    "load_ijcnn1",
    "load_letter",
    "load_mnist",
    "load_mnist8m",
    "load_news20",
    "load_rcv1",
    "load_rcv1_topics",
    "load_url",
    "load_usps",
    "load_waveform",
    "load_webspam",
    "make_checkerboard",
    "make_infinite_digits",
    "make_waveform",
    "make_weights",
    "make_xor_strip",
    "read_libsvm",
    "round_digits",
    "stream_checkerboard",
    "stream_waveform",
]
