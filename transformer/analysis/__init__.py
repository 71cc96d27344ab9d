"""Numbers about a model: roles, alignment, attribution, importance, findings, Table 1.

Subpackages, each below those after it: `evidence`, `corpora`, `attribution`, `alignment`,
`interventions`, `importance`, `roles`, `findings`; `inside`, `positions` and `table1` are
independent. `reports` lists everything that can be measured over a corpus, for the command line and
for the pages. Nothing here draws, waits in a queue or depends on a page.
"""
