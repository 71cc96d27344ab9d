"""Table 1 of the paper and the text around it (sections 3.2.1 and 4).

`complexity` counts multiplications, `paths` reads path lengths from
gradients; `score_scale` shows what d_k does to a softmax. The
race between these layers is a task of `transformer.training`.
"""
