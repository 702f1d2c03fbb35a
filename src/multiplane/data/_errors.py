"""What is wrong with data that was read."""


class DataError(ValueError):
    """A file, or a block of rows, that is not what it should be; the message says where and how."""
