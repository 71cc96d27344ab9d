"""Services that all sessions share: models, traces, jobs, classes, uploads, cached results."""
