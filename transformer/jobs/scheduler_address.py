"""Validation of the cluster settings in `limits.toml`, without connecting to the cluster."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

KEY_FILES = ("ca.pem", "cert.pem", "key.pem")
"""Files in the folder of keys: trusted certificates, own certificate and its private key."""
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


def check_cluster(executor: str, scheduler: str, keys: str) -> None:
    """Raise ValueError for invalid settings, or for an unencrypted cluster on the network."""
    if executor not in ("", "dask"):
        raise ValueError(f'executor must be "dask", or "" for this machine, not {executor!r}')
    if not executor:
        if scheduler or keys:
            raise ValueError('scheduler and cluster_keys need a cluster: add executor = "dask"')
        return
    match = _ADDRESS.fullmatch(scheduler)
    if not match or not 0 < int(match[3]) < 65536:
        raise ValueError(
            f"scheduler must be an address such as tls://10.0.0.5:8786, not {scheduler[:80]!r}"
        )
    if match[1] == "tcp":
        if not _is_loopback(match[2]):
            raise ValueError(
                f"{scheduler} is not encrypted, and anyone who reaches a scheduler can run "
                "programs there: use tls:// and cluster_keys; tcp:// is only for 127.0.0.1"
            )
        return
    if not keys:
        raise ValueError("tls:// needs cluster_keys, the folder of ca.pem, cert.pem and key.pem")
    for name in KEY_FILES:
        if not (Path(keys) / name).is_file():
            raise ValueError(f"cluster_keys: the folder {keys} has no {name}")


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
