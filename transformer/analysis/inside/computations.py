"""Every tensor of Figure 1 for one sentence and one head, each computed by one small function.

The page Look inside shows these functions as the derivation of a number. Tensors have no batch
dimension; rows are positions. A test compares each result with the model's own tensor.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def rows_of(matrix: Tensor, ids: Tensor) -> Tensor:
    """Return the row of each id: the embedding of each token (section 3.4)."""
    return matrix[ids]


def times_sqrt_d_model(embeddings: Tensor) -> Tensor:
    """Multiply the embeddings by √d_model (section 3.4)."""
    return embeddings * math.sqrt(embeddings.shape[-1])


def angles(ids: Tensor, d_model: int) -> Tensor:
    """Return pos / 10000^(2i/d_model) for each position and dimension (section 3.5)."""
    position, dimension = torch.arange(len(ids)), torch.arange(d_model)
    return position[:, None] / 10000 ** ((dimension - dimension % 2) / d_model)


def sinusoids(angle: Tensor) -> Tensor:
    """Return the sine in even dimensions and the cosine in odd ones (section 3.5)."""
    is_even = torch.arange(angle.shape[-1]) % 2 == 0
    return torch.where(is_even, angle.sin(), angle.cos())


def learned_positions(table: Tensor, ids: Tensor) -> Tensor:
    """Return one learned vector for each position."""
    return table[: len(ids)]


def no_positions(ids: Tensor, d_model: int) -> Tensor:
    """Return zeros: the model has no positions."""
    return torch.zeros(len(ids), d_model)


def add(x: Tensor, y: Tensor) -> Tensor:
    """Add two tensors: embedding and position, or a sublayer's input and output."""
    return x + y


def unchanged(x: Tensor) -> Tensor:
    """Return the tensor as it is."""
    return x


def head_projection(matrix: Tensor, head: int, n_heads: int) -> Tensor:
    """Return the part of W^Q, W^K or W^V that belongs to one head, (d_model, d_k)."""
    return matrix.chunk(n_heads)[head].T


def head_bias(biases: Tensor, part: int, head: int, n_heads: int) -> Tensor:
    """Return one head's bias of the queries (part 0), keys (1) or values (2), (d_k,)."""
    return biases.chunk(3)[part].chunk(n_heads)[head]


def project(x: Tensor, w: Tensor) -> Tensor:
    """Multiply each position's vector by a matrix (section 3.2.2)."""
    return x @ w


def project_with_bias(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Multiply each position's vector by a matrix and add a bias."""
    return x @ w + b


def dot_products(q: Tensor, k: Tensor) -> Tensor:
    """Return one score for each query and key (section 3.2.1)."""
    return q @ k.T


def head_vector(v: Tensor, head: int) -> Tensor:
    """Return one head's vector of the additive score, as a row."""
    return v[head][None]


def additive_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Return v · tanh(q + k) for each query and key (Bahdanau et al. 2015)."""
    return (q[:, None] + k).tanh() @ v[0]


def divide_by_sqrt_d_k(scores: Tensor, d_k: int) -> Tensor:
    """Divide the scores by √d_k (section 3.2.1, equation 1)."""
    return scores / math.sqrt(d_k)


def causal_mask(scores: Tensor) -> Tensor:
    """Allow each query its own position and those before it (section 3.2.3)."""
    return torch.ones_like(scores).bool().tril()


def no_mask(scores: Tensor) -> Tensor:
    """Allow every query every key: one sentence has no padding."""
    return torch.ones_like(scores).bool()


def hide(scores: Tensor, allowed: Tensor) -> Tensor:
    """Set the scores that are not allowed to −∞ (section 3.2.3)."""
    return scores.masked_fill(~allowed, -torch.inf)


def exponentials(masked: Tensor) -> Tensor:
    """Return e^(score − M), where M is the highest score of the row."""
    return (masked - masked.max(-1, keepdim=True).values).exp()


def normalize(e: Tensor) -> Tensor:
    """Divide by the sum of the row; together with `exponentials` this is the softmax."""
    return e / e.sum(-1, keepdim=True)


def weighted_values(weights: Tensor, v: Tensor) -> Tensor:
    """Return the average of all values, weighted by each row of weights (equation 1)."""
    return weights @ v


def concatenate(heads: Tensor) -> Tensor:
    """Write the outputs of all heads in one row (section 3.2.2)."""
    return torch.cat(tuple(heads), dim=-1)


def head_output_matrix(matrix: Tensor, head: int, n_heads: int) -> Tensor:
    """Return the rows of W^O that belong to one head, (d_k, d_model)."""
    return matrix.T.chunk(n_heads)[head]


def contributions(heads: Tensor, matrix: Tensor) -> Tensor:
    """Return head_h W^O_h for every head, (n_heads, length, d_model)."""
    return heads @ torch.stack(matrix.T.chunk(len(heads)))


def sum_over_heads(parts: Tensor) -> Tensor:
    """Add the contributions of all heads: the same as Concat(heads) W^O."""
    return parts.sum(0)


def sum_over_heads_with_bias(parts: Tensor, b: Tensor) -> Tensor:
    """Add the contributions of all heads and a bias."""
    return parts.sum(0) + b


def mean(x: Tensor) -> Tensor:
    """Return the mean of each row (Ba et al. 2016, equation 3)."""
    return x.mean(-1, keepdim=True)


def variance(x: Tensor, mu: Tensor) -> Tensor:
    """Return the variance of each row (Ba et al. 2016, equation 3)."""
    return ((x - mu) ** 2).mean(-1, keepdim=True)


def standardize(x: Tensor, mu: Tensor, var: Tensor, eps: float) -> Tensor:
    """Shift each row to mean 0 and scale it to variance 1."""
    return (x - mu) / (var + eps).sqrt()


def as_row(parameter: Tensor) -> Tensor:
    """Return a vector as a table with one row."""
    return parameter[None]


def scale_and_shift(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    """Multiply each dimension by its gain γ and add its shift β (Ba et al. 2016, equation 4)."""
    return x * gain + shift


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return x Wᵀ + b, as `torch.nn.Linear` stores W (section 3.3, equation 2)."""
    return x @ w.T + b


def convolution(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return the same as `linear`, as a convolution with kernel size 1 (section 3.3)."""
    return functional.conv1d(x.T, w[:, :, None], b).T


def relu(z: Tensor) -> Tensor:
    """Set negative numbers to 0 (section 3.3, equation 2)."""
    return z.clamp(min=0)


def swish(z: Tensor) -> Tensor:
    """Return z · σ(z)."""
    return z / (1 + (-z).exp())


def gelu(z: Tensor) -> Tensor:
    """Return z · Φ(z), with the distribution function Φ of the normal distribution."""
    return z / 2 * (1 + torch.erf(z / math.sqrt(2)))


def share_above_0(a: Tensor) -> Tensor:
    """Return the share of hidden units above 0 at each position."""
    return (a > 0).float().mean(-1, keepdim=True)


def highest(x: Tensor, count: int) -> Tensor:
    """Return the columns of the highest numbers of each row, highest first."""
    return x.topk(count).indices


def pick(x: Tensor, columns: Tensor) -> Tensor:
    """Return the numbers in these columns of each row."""
    return x.gather(1, columns)


def project_to_vocabulary(y: Tensor, embedding: Tensor) -> Tensor:
    """Return the dot product of each decoder state with every embedding (section 3.4)."""
    return y @ embedding.T


def probabilities(z: Tensor, logits: Tensor) -> Tensor:
    """Return the softmax over the whole vocabulary at the logits z (section 3.4)."""
    return (z - logits.logsumexp(-1, keepdim=True)).exp()


def rank(logits: Tensor, chosen: Tensor) -> Tensor:
    """Return 1 + the number of tokens with a higher logit than the chosen one."""
    return (logits > chosen).sum(-1, keepdim=True) + 1
