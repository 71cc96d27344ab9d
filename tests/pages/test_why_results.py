"""Why self-attention, Results: the paper's Table 2."""

from __future__ import annotations

import json

from tests.pages.conftest import Visit
from transformer.analysis.table1.table2 import TABLE_2


def test_every_figure_of_the_table_is_there(visit: Visit) -> None:
    app = visit("pages/why.py", part="results")
    body = "\n".join(element.proto.body for element in app.get("html"))
    for row in TABLE_2:
        assert row.name in body
        for score in (row.de, row.fr):
            assert score is None or f"<td>{score:g}</td>" in body
    assert "<td>3.3·10¹⁸</td>" in body
    assert "<td>1.2·10²¹</td>" in body
    drawn = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
    assert len(drawn) == 2
    with_both = sum(row.de is not None and row.cost_de is not None for row in TABLE_2)
    assert sum(len(trace["text"]) for trace in drawn[0]) == with_both
    assert [line.value.split("= ")[-1].strip("$\n") for line in app.latex] == [
        r"3.28 \cdot 10^{18}",
        r"2.30 \cdot 10^{19}",
    ]
