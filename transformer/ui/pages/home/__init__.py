"""The home page: a sentence translated while it is typed, and links to the other pages."""
