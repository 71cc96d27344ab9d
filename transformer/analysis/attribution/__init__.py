"""Attribution: how much each token contributed to a vector, layer or output token.

In go a model and a trace of it, out come matrices over the trace's own tokens: `norms` and
`contribution` for one head, `rollout`, `flow`, `alti` and `gradients` through all layers,
`value_zeroing` for one layer, `token_attribution` with several beside each other.
It may not run the model with an intervention of its own kind (but value zeroing's), nor read a
corpus.
"""
