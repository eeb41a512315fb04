"""Whole networks, each with a typed config, and `build.py`: the one table from config to class. They take tensors, never text."""
