"""The exceptions of regard for mistakes of the user.

Every room may import this module. The command line prints the message of a `RegardError` and exits with code 2. Any
other exception that escapes is a bug.
"""


class RegardError(ValueError):
    """A mistake that the user can fix. The message names the file, line or key, the value, and the fix."""


class ConfigError(RegardError):
    """A setting that does not exist, has the wrong type or is out of range."""


class FileError(RegardError):
    """A file that is not a regular one, too large, or not valid JSON or TOML."""


class DataError(RegardError):
    """A corpus that is missing, empty, unequal, or not UTF-8."""


class TextError(RegardError):
    """A tokeniser that cannot be learned or read."""


class InputTypeError(RegardError, TypeError):
    """An argument of the API that is not a list of texts."""


class BundleError(RegardError):
    """A model directory that is missing, incomplete, damaged or of another format."""


class SearchError(RegardError):
    """A decoding option that is out of range or that no output can satisfy."""


class TrainError(RegardError):
    """A run that cannot start, continue or be resumed."""


class DiskError(RegardError):
    """A write that failed: the disk is full, read-only or not permitted."""


class ExtensionError(RegardError):
    """A user's own file (`--extension`) that cannot be used."""
