"""Import and export of checkpoints in other formats.

Floor 3: knows checkpoints. Nothing of `transformers` is imported, and no code from a folder is run.
"""

from transformer.exchange.exporting import export_marian
from transformer.exchange.importing import import_folder, is_marian, read_marian
from transformer.exchange.pretrained import save_pretrained

__all__ = ["export_marian", "import_folder", "is_marian", "read_marian", "save_pretrained"]
