"""Attribution: what each token contributes to a head's output, and each head to a logit.

The functions take a model and a trace of it: `norms.contributions` returns the norm of each
weighted value vector of a head, `direct_logits` the parts that sum to the logit of one output
token. Methods that attribute an output to input tokens are in Inseq and Captum.
"""
