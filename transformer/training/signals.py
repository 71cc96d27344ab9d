"""The signals that ask a training process to save and end."""

from __future__ import annotations

import signal


def stop_signals() -> list[int]:
    """Return the signals of Ctrl-C, of `kill`, and of a closed terminal unless it is ignored, as
    below `nohup`."""
    signals: list[int] = [signal.SIGINT, signal.SIGTERM]
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        signals.append(hang_up)
    return signals
