"""The app, and every view of it, in a real browser."""
