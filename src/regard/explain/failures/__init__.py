"""Failure analysis of a trained translator or language model: `regard probe`. It has nothing to do with `ops/probe.py`."""
