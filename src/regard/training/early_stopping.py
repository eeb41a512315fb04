"""Early stopping: which validation is the best so far, and when too many came without an improvement."""

from regard.training.progress import Progress


def record_validation(progress: Progress, value: float) -> bool:
    """Note the value of a validation, larger is better; returns whether it is the best so far."""
    best = progress.best is None or value > progress.best
    if best:
        progress.best, progress.best_step, progress.validations_without_improvement = value, progress.step, 0
    else:
        progress.validations_without_improvement += 1
    progress.validated = progress.step
    return best


def out_of_patience(progress: Progress, patience: int) -> bool:
    """Whether early stopping ends the run: `patience` validations in a row did not improve; 0 never does."""
    return bool(patience) and progress.validations_without_improvement >= patience
