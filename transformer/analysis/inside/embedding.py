"""The boxes below and above the encoder's layers: embedding, positions, their sum, and memory."""

from __future__ import annotations

from transformer.analysis.inside.variables import Block, Box, Variable


def embedding(block: Block) -> tuple[Box, ...]:
    """Return the input boxes of a stack (sections 3.4 and 3.5)."""
    parts = Variable("block", block.module), _tokens(block), _positions(block), _sum(block)
    return block.joined(*parts)


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
    rows = f"model.embedding.weight[{block.ids}]"
    root = r"\sqrt{d_{model}}\; " if scaled else ""
    id = f"⟨{block.ids}[r]⟩"
    steps = [rf"t_{{r,c}} = {root}E_{{{id},c}},\quad \mathrm{{id}} = {id}"]
    if scaled:
        steps.append(rf"= \sqrt{{{d_model}}} \cdot ⟨e[r, c]⟩")
    return block.box(
        "tokens",
        "Embedding",
        "3.4",
        rf"t = {root}E[\mathrm{{token}}]",
        explanation,
        Variable("e", rows, "Rows of E", "E", origin="embedding.weight"),
        Variable(
            "t",
            f"e * {d_model} ** 0.5" if scaled else "e",
            "Embeddings × √d_model" if scaled else "Embeddings",
            "t",
            steps=tuple(steps),
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
        code = f"block.positions(len({block.ids}))"
        variables = [Variable("pe", code, title, "PE", site=site, origin=origin)]
    return block.box("positions", "Positions", "3.5", equation, explanation, *variables)


def _sinusoids(block: Block, site: str) -> list[Variable]:
    d_model = block.config.d_model
    wave = r"\⟨'cos' if c % 2 else 'sin'⟩"
    steps = (
        wave + r"\left(\frac{pos}{10000^{⟨c - c % 2⟩/d_{model}}}\right)",
        wave + r"\left(\frac{⟨r⟩}{10000^{⟨c - c % 2⟩/" + str(d_model) + r"}}\right)",
        wave + "(⟨number(angle[r, c], 6)⟩)",
    )
    return [
        Variable("i", f"torch.arange({d_model})"),
        Variable(
            "angle",
            f"torch.arange(len({block.ids}))[:, None] / 10000 ** ((i - i % 2) / {d_model})",
        ),
        Variable(
            "pe",
            "torch.where(i % 2 == 0, angle.sin(), angle.cos())",
            "Positional encodings",
            "PE",
            steps=(
                rf"PE_{{r,c}} = {steps[0]},\quad pos = ⟨r⟩,\ 2i = ⟨c - c % 2⟩",
                *(f"= {step}" for step in steps[1:]),
            ),
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
            "t + pe",
            "Input of the first layer",
            "x",
            steps=("x_{r,c} = t_{r,c} + PE_{r,c}", "= ⟨t[r, c]⟩ + ⟨pe[r, c]⟩"),
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
        Variable("m", "x", "Memory", "m", site="encoder.hook_memory", origin=x.origin),
    )
    return block.joined(x, box)
