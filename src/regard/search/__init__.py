"""Greedy, beam, sampling, exhaustive search and forced scoring, each once, over any model that satisfies `stepper.Stepper`."""
