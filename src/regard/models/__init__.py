"""Networks, each with a typed config, and `build.py`, the tables from config to class. They take tensors, never text."""
