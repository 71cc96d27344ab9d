"""One thread of torch for each session, set where the server begins and nowhere else.

What a page computes is one sentence: hundreds of products of some microseconds. A second thread
gains little on an idle machine; where anything else wants the same core, each product waits for
the slower half, and a page takes twenty times as long (`python -m benchmarks.busy`). Torch hands
the number to every thread that computes for the first time, so it must not be set in a session.
"""

from __future__ import annotations

import torch

torch.set_num_threads(1)
