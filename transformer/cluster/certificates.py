"""`python -m transformer.cluster.certificates FOLDER`: TLS keys for all machines of a cluster.

Anyone who has the three files can join the cluster and run programs on its machines; no one else
can connect to it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from distributed.security import Security

from transformer.jobs.limits import KEY_FILES
from transformer.text.files import new_folder


def write_keys(folder: Path) -> None:
    """Write ca.pem, cert.pem and key.pem, readable only by their owner.

    The certificate is self-signed and the only one that is trusted (mutual TLS, as Dask requires).
    It is valid for a year. Raises FileExistsError if `folder` exists: keys in use are never
    replaced.
    """
    security = Security.temporary()
    contents = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    with new_folder(folder) as temporary:
        for name, content in zip(KEY_FILES, contents, strict=True):
            path = os.open(temporary / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(path, "w", encoding="ascii") as file:
                file.write(str(content))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("python -m transformer.cluster.certificates FOLDER", file=sys.stderr)
        return 2
    try:
        write_keys(Path(arguments[0]))
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{arguments[0]}: copy it to every machine of the cluster and keep it secret")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
