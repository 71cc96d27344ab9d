"""A site without a server: the course, with the views that answer it, as files for any page host.

`write_site` makes it (`python -m transformer site OUT`); what its pages look like is the figures'.
"""

from transformer.ui.site.writing import write_site

__all__ = ["write_site"]
