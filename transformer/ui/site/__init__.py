"""The static site: the course and its views as files for any web host.

`write_site` makes it (`python -m transformer site OUT`); what its pages look like is the figures'.
"""

from transformer.ui.site.writing import write_site

__all__ = ["write_site"]
