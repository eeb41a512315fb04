"""Modules that own weights. They take tensors and plain keyword arguments; they know no config and no text."""
