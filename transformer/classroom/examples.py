"""Questions to ask before and after a part of the lesson; teachers may change them.

The wrong options are guesses as in the course's lessons (docs/teaching.md). The right ones are
those of Vaswani et al. 2017, sections 3.1 to 3.5.
"""

from __future__ import annotations

from transformer.classroom.plan import MeasuredQuestion

EXAMPLES = {
    "The weights of a row": MeasuredQuestion(
        "A head computes attention weights from one token to all tokens that it may attend to. "
        "What do these weights sum to?",
        (
            "1, for every token",
            "The number of tokens",
            "More for important words",
            "It depends on the head",
        ),
        0,
        "The weights are a softmax of the scores, so each row sums to 1.",
    ),
    "The causal mask": MeasuredQuestion(
        "In training the decoder reads the whole translation at once. How much attention can a "
        "position pay to the words after it?",
        ("A little", "As much as to the words before it", "None", "Only in the last layer"),
        2,
        "The causal mask sets the scores of later words to minus infinity before the softmax.",
    ),
    "Queries, keys and values": MeasuredQuestion(
        "What decides how much weight a token gets in attention?",
        (
            "Its value vector",
            "Its query vector",
            "The product of its key with the query of the attending token",
            "How often the token occurs in the text",
        ),
        2,
        "Query times key is the score; the value is what the weight is applied to.",
    ),
    "Word order": MeasuredQuestion(
        "What would the encoder lose without positional encodings?",
        (
            "The order of the words",
            "The meaning of rare words",
            "The first word of every sentence",
            "Nothing, since it reads from left to right",
        ),
        0,
        "Attention treats its input as a set; only the positional encodings tell the order.",
    ),
    "Scaling by √d_k": MeasuredQuestion(
        "Why are the scores divided by √d_k before the softmax?",
        (
            "So that the weights sum to 1",
            "Because large scores would make the softmax almost 0 or 1 and its gradients tiny",
            "So that no score is negative",
            "To make the computation faster",
        ),
        1,
        "The variance of a dot product grows with d_k; the division keeps it at 1.",
    ),
}
"""By title."""
