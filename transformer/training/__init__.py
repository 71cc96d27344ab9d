"""Training: loss, schedule, trainer, run folder, evaluation."""
