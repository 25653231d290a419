"""The version, in the one place from which the library, its files and its packaging read it."""

__version__ = "0.2.0"
