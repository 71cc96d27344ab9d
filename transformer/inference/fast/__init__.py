"""Everything in decoding that exists only for speed; translations are the same without it.

Speculative decoding, weights of eight and sixteen bits, keys and values kept in blocks, and the
choice among them by measurement. Nothing outside imports it but `inference/acceleration.py`, which
does without where the folder is missing. `python -m benchmarks.fast` prints what each part gains.
"""
