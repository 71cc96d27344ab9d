"""Measurements of a model: roles, alignment, attribution, importance, findings, Table 1.

A subpackage may import those before it in this list: `evidence`, `corpora`, `attribution`,
`alignment`, `interventions`, `importance`, `roles`, `findings`. The others (`inside`, `positions`,
`table1`) may import all of these, but not each other. `reports` lists everything that can be
measured over a corpus, for the command line and for the pages. Nothing here draws, waits in a queue
or depends on a page.
"""
