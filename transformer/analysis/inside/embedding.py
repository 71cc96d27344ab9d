"""The boxes below and above the encoder's layers: embedding, positions, their sum, and memory."""

from __future__ import annotations

from transformer.analysis.inside import computations as compute
from transformer.analysis.inside.formulas import Values, at, number, operand
from transformer.analysis.inside.variables import Block, Box, Variable


def embedding(block: Block) -> tuple[Box, ...]:
    """Return the input boxes of a stack (sections 3.4 and 3.5)."""
    return block.joined(_tokens(block), _positions(block), _sum(block))


def _tokens(block: Block) -> Box:
    d_model, scaled = block.config.d_model, block.config.scale_embedding
    learned = (
        f"A model computes with numbers: each word, or part of one, becomes {d_model} numbers that "
        "the model has learned for it, its embedding.\n\n"
    )
    if not scaled:
        explanation = (
            f"{learned}The numbers of a token are one row of the matrix E, which serves both "
            "stacks and the output. The paper multiplies them by √d_model, where d_model is the "
            "length of a row; this model does not."
        )
    elif block.stack == "encoder":
        explanation = (
            f"{learned}The numbers of a token are one row of the matrix E, multiplied by √d_model, "
            "where d_model is the length of a row, so that they are not small compared with the "
            "positions that are added next. The same matrix serves both stacks, and the output."
        )
    else:
        explanation = (
            "Each target token selects the row of the same matrix E with its id, times √d_model. "
            "The first one is <s>: the output is shifted right by one, so that a position never "
            "reads the token it has to predict."
        )
    root = r"\sqrt{d_{model}}\; " if scaled else ""

    def steps(values: Values, r: int, c: int) -> list[str]:
        id = int(values[block.ids][r])
        symbols = rf"{at('t', r, c)} = {root}{at('E', id, c)},\quad \mathrm{{id}} = {id}"
        numbers = rf"= \sqrt{{{d_model}}} \cdot {operand(values['e'][r, c])}"
        return [symbols, numbers] if scaled else [symbols]

    return block.box(
        "tokens",
        "Embedding",
        "3.4",
        rf"t = {root}E[\mathrm{{token}}]",
        explanation,
        Variable(
            "e",
            compute.rows_of,
            ("embedding.weight", block.ids),
            "Rows of E",
            "E",
            origin="embedding.weight",
        ),
        Variable(
            "t",
            compute.times_sqrt_d_model if scaled else compute.unchanged,
            ("e",),
            "Embeddings × √d_model" if scaled else "Embeddings",
            "t",
            steps=steps,
            site=f"{block.path}.hook_tokens",
        ),
    )


def _positions(block: Block) -> Box:
    kind, site = block.config.positions, f"{block.path}.hook_positions"
    if kind == "sinusoidal":
        equation = (
            r"PE_{(pos,\,2i)} = \sin\frac{pos}{10000^{2i/d_{model}}},\quad "
            r"PE_{(pos,\,2i+1)} = \cos\frac{pos}{10000^{2i/d_{model}}}"
        )
        explanation = (
            "Attention alone ignores the order of tokens. Each position gets a vector of sines and "
            "cosines: fast waves in the first dimensions, slow ones in the last. Both dimensions "
            "of a pair have the same wavelength."
        )
        variables = _sinusoids(block, site)
    else:
        learned = kind == "learned"
        equation = "PE_{pos} = P[pos]" if learned else "PE_{pos} = 0"
        explanation = (
            "Attention alone ignores the order of tokens. In this model each position has a "
            "learned vector, a row of a table (the paper's Table 3, row E)."
            if learned
            else "Attention alone ignores the order of tokens, and this model gets no position "
            "information: zeros are added."
        )
        title = "Learned positions" if learned else "No positions: zeros"
        origin = f"{block.path}.positions.weight" if learned else ""
        variables = [
            Variable(
                "pe",
                compute.learned_positions if learned else compute.no_positions,
                (origin, block.ids) if learned else (block.ids, block.config.d_model),
                title,
                "PE",
                site=site,
                origin=origin,
            )
        ]
    return block.box("positions", "Positions", "3.5", equation, explanation, *variables)


def _sinusoids(block: Block, site: str) -> list[Variable]:
    d_model = block.config.d_model

    def steps(values: Values, r: int, c: int) -> list[str]:
        wave, even = (r"\cos" if c % 2 else r"\sin"), c - c % 2
        angles = (
            rf"\frac{{pos}}{{10000^{{{even}/d_{{model}}}}}}",
            rf"\frac{{{r}}}{{10000^{{{even}/{d_model}}}}}",
        )
        symbols, numbers = (rf"{wave}\left({angle}\right)" for angle in angles)
        return [
            rf"{at('PE', r, c)} = {symbols},\quad pos = {r},\ 2i = {even}",
            f"= {numbers}",
            f"= {wave}({number(values['angle'][r, c], 6)})",
        ]

    return [
        Variable("angle", compute.angles, (block.ids, d_model)),
        Variable(
            "pe",
            compute.sinusoids,
            ("angle",),
            "Positional encodings",
            "PE",
            steps=steps,
            site=site,
            note="In the formula, pos and i count from 0.",
        ),
    ]


def _sum(block: Block) -> Box:
    return block.box(
        "sum",
        "Sum",
        "3.5",
        "x = t + PE",
        "Token embedding plus position vector: the first layer reads the sum. (In training, "
        "dropout is applied here too.)",
        Variable(
            "x",
            compute.add,
            ("t", "pe"),
            "Input of the first layer",
            "x",
            steps=lambda values, r, c: [
                f"{at('x', r, c)} = {at('t', r, c)} + {at('PE', r, c)}",
                f"= {number(values['t'][r, c])} + {operand(values['pe'][r, c])}",
            ],
            site=f"{block.path}.hook_output",
        ),
    )


def memory(block: Block) -> tuple[Box, ...]:
    """Return the box of the encoder's output."""
    x = block.input("x", "")
    box = block.box(
        "memory",
        "Memory",
        "3.1 and 3.2.3",
        "m = y^{(N)}",
        "The output of the last encoder layer for each source token. It is computed once; every "
        "layer of the decoder computes its keys and values from it.",
        Variable(
            "m",
            compute.unchanged,
            ("x",),
            "Memory",
            "m",
            site="encoder.hook_memory",
            origin=x.origin,
        ),
    )
    return block.joined(x, box)
