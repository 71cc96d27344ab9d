"""Training: loss, learning-rate schedule, trainer, run folders, evaluation."""
