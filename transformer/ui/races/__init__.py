"""Races as pages show them: how one is started, how it stands, and what it came to."""
