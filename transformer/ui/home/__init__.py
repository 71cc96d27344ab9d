"""The parts of the first page: a sentence translated as it is typed, and the ways to the rooms"""
