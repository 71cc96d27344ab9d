"""Journeys through app and site in three browsers."""
