"""The heads lab: what a head does, what a weight moves, and what happens without it."""
