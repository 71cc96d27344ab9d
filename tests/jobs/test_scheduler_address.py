"""What limits.toml may say of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from transformer.jobs import Limits


@pytest.fixture
def keys(tmp_path: Path) -> str:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786"]
)
def test_one_machine_needs_no_keys(address: str) -> None:
    assert Limits(executor="dask", scheduler=address).scheduler == address


@pytest.mark.parametrize("address", ["tls://10.0.0.5:8786", "tls://cluster.example.org:8786"])
def test_more_machines_need_keys(address: str, keys: str) -> None:
    assert Limits(executor="dask", scheduler=address, cluster_keys=keys).cluster_keys == keys
    with pytest.raises(ValueError, match="needs cluster_keys, the folder of"):
        Limits(executor="dask", scheduler=address)
    (Path(keys) / "key.pem").unlink()
    with pytest.raises(ValueError, match=r"has no key\.pem"):
        Limits(executor="dask", scheduler=address, cluster_keys=keys)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"executor": "ray"}, 'executor must be "dask", or ""'),
        ({"executor": "dask"}, "scheduler must be an address such as"),
        ({"executor": "dask", "scheduler": "127.0.0.1:8786"}, "such as tls://"),
        ({"executor": "dask", "scheduler": "tcp://127.0.0.1:99999"}, "such as tls://"),
        ({"executor": "dask", "scheduler": "tcp://10.0.0.5:8786"}, "is not encrypted"),
        ({"executor": "dask", "scheduler": "tcp://localhost.evil.org:1"}, "is not encrypted"),
        ({"scheduler": "tcp://127.0.0.1:8786"}, 'add executor = "dask"'),
    ],
)
def test_what_cannot_be_or_would_be_open_to_all_is_refused(said: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Limits(**said)
