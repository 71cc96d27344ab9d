"""The course: lessons, and the questions about a model that Python makes."""
