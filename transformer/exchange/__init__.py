"""Import and export of checkpoints in other formats.

Import layer 3: uses checkpoints. `transformers` is not imported, and no code from a folder is run.
"""

from transformer.exchange.exporting import export_marian
from transformer.exchange.generation_settings import ignored_settings
from transformer.exchange.importing import import_folder, is_marian, read_marian
from transformer.exchange.pretrained import save_pretrained

__all__ = [
    "export_marian",
    "ignored_settings",
    "import_folder",
    "is_marian",
    "read_marian",
    "save_pretrained",
]
