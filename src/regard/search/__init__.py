"""Search: greedy, beam, diverse beam, constrained beam, sampling, exact and exhaustive, over any model that is a `stepper.Stepper`."""
