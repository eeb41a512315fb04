"""Training: loss, optimiser, learning rate schedule, loop and checkpoints. It trains any `Objective` and names no task."""
