import assert from "node:assert/strict";
import { test } from "node:test";

import { makeData } from "../../../transformer/client/training/data.js";

test("pairs with an equal source are held out together", () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const sets = {
    "three times": [1, 2, 3].flatMap(() => numbers.map((n) => [`see ${n}`, `vois ${n}`])),
    "three translations": numbers.flatMap((n) => ["a", "b", "c"].map((word) => [`see ${n}`, `${word} ${n}`])),
    "decomposed": numbers.flatMap((n) => [[`café ${n}`, "oui"], [`cafe\u0301 ${n}`, "oui"]]),
    "frequent": numbers.flatMap((n) => [[`see ${n}`, "x"], ["yes", "oui"]]),
    "few": [["yes", "oui"], ["yes", "ouais"], ["no", "non"]],
    "invisible": numbers.flatMap((
      n,
    ) => [[`see ${n}`, "x"], [`se\u2060e\ufe0f ${n}`, "x"], [`see\u00a0${n}`, "x"], [`see\u200b${n}`, "x"]]),
    "wide": numbers.flatMap((n) => [[`see ${n}`, "x"], [`ｓｅｅ ${n}`, "x"], [`see  ${n} `, "x"]]),
  };
  for (const [name, train] of Object.entries(sets)) {
    const data = makeData(/** @type {any} */ ({ task: "own", options: {} }), { train });
    const sources = (part) =>
      part.map(({ src }) =>
        src.map((id) => data.symbols[id]).join(" ").replace(/[\u2060\ufe0f]/g, "").replaceAll("\u200b", " ").normalize(
          "NFKC",
        )
      );
    const [held, trained] = [new Set(sources(data.valid)), new Set(sources(data.train))];
    assert.ok(held.size > 0 && trained.size > 0, name);
    assert.ok(![...held].some((source) => trained.has(source)), name);
    assert.equal(data.valid.length + data.train.length, train.length, name);
    assert.equal(data.repeats, train.length - held.size - trained.size, name);
    assert.ok(data.valid.length <= train.length / 2, name);
  }
  const one = numbers.map(() => ["yes", "oui"]);
  assert.throws(
    () => makeData(/** @type {any} */ ({ task: "own", options: {} }), { train: one }),
    /same source; at least 2/,
  );
});
