"""Experiments of the lectures. Each is a function that returns a typed result, and draws a figure of it."""
