"""Analysis: attention weights in, figures about them out."""
