"""Table 1 of the paper and the text around it (sections 3.2.1, 4 and 6.1).

`complexity` counts multiplications, `timing` measures seconds, `paths` reads path lengths from
gradients; `score_scale` shows what d_k does to a softmax, `table2` holds the published results. The
race between these layers is a task of `transformer.training`.
"""
