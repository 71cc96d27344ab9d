"""One thread of torch for each session, set where the server begins and nowhere else.

What a page computes is one sentence: hundreds of products of some microseconds, from which a
second thread gains nothing (`python -m benchmarks.threads`), and other sessions need the cores.
Torch hands the number to every thread that computes for the first time, so it must not be set in a
session.
"""

from __future__ import annotations

import torch

torch.set_num_threads(1)
