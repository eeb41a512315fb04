"""Loss, optimiser, schedule, loop and checkpoint: from a config to a trained run directory."""
