"""Metrics computed from plain lists, and significance tests. No torch, no model, no files."""
