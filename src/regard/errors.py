"""The mistakes a user can make, each told in one line: what was wrong, where, and how to mend it.

Every room may import this module. A `RegardError` reaches the user as its message alone and exit code 2; anything else
that escapes is a bug of ours.
"""


class RegardError(ValueError):
    """A mistake that the user can mend. The message names the file, line or key, the value, and the fix."""


class ConfigError(RegardError):
    """A setting that does not exist, has the wrong type or is out of range."""


class DataError(RegardError):
    """A corpus that is missing, empty, unequal, or not UTF-8."""


class TextError(RegardError):
    """A tokeniser that cannot be learned or read."""


class BundleError(RegardError):
    """A model directory that is missing, incomplete, damaged or of another format."""


class SearchError(RegardError):
    """A decoding option that is out of range or that cannot be met."""


class TrainError(RegardError):
    """A run that cannot start, go on or be resumed."""


class DiskError(RegardError):
    """The disk refused: full, read-only or not permitted."""
