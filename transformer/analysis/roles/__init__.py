"""Roles: every head measured over a corpus and named by published rules.

`head_measures` applies `transformer.measures`, with `corpus_tokens` and `strongest_keys` for what
these need to know; `head_roles` names heads, `known_heads` picks the clearest.
It may not define a measure (that is a module of `transformer.measures`), nor change a head.
"""
