"""The parts of decoding that exist only for speed; translations are the same without them.

Speculative decoding, int8 and bfloat16 weights, a cache of keys and values that grows in blocks,
and the choice among them by measurement. Only `inference/acceleration.py` imports this folder, and
works without it.
"""
