"""Races on the pages: start, progress and result."""
