"""What writes the static site."""
