"""Attribution: how much each token contributed to a vector, a layer or an output token.

The functions take a model and a trace of it and return matrices over the tokens of the trace:
`norms` and `contribution` for one head, `rollout` and `gradients` through all layers,
`value_zeroing` for one layer, `token_attribution` for several methods in one table,
`direct_logits` for the logit of one output token.
"""
