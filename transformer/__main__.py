"""`python -m transformer …`"""

import os
import sys

from transformer.cli import main

if __name__ == "__main__":
    status = main()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        # Under torchrun, torch's own threads may outlive the interpreter and abort it on its way
        # out ("terminate called without an active exception"), after everything is written.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    raise SystemExit(status)
