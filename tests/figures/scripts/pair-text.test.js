// Pasted pairs are read as in Python: tests/text/test_pair_formats.py reads the same texts.

import assert from "node:assert/strict";
import { readPairs, symbolsOf } from "../../../transformer/client/training/pair-text.js";

const { pairs, refused } = JSON.parse(Deno.readTextFileSync(new URL("../../text/pair_texts.json", import.meta.url)));

for (const [name, { text, pairs: expected }] of Object.entries(pairs)) {
  Deno.test(`pairs of: ${name}`, () => assert.deepEqual(readPairs(text), expected));
}

for (const [name, text] of Object.entries(refused)) {
  Deno.test(`refused in one sentence: ${name}`, () =>
    assert.throws(() => readPairs(text), (error) => error instanceof RangeError && !error.message.includes("\n")));
}

Deno.test("scripts without spaces are split into characters with their marks", () => {
  const cases = {
    "我看见2只猫。": "我 看 见 2 只 猫 。",
    "コーヒーを飲む": "コ ー ヒ ー を 飲 む",
    "ฉันเห็นแมว": "ฉ ั น เ ห ็ น แ ม ว",
    "I'm here.": "I' m here .",
    "Tom说OK": "Tom 说 OK",
    "한국어 문장": "한국어 문장",
  };
  // A Thai mark stays with its letter.
  const joined = (text) => text.replace(/ (\p{M})/gu, "$1");
  for (const [text, symbols] of Object.entries(cases)) assert.equal(symbolsOf(text).join(" "), joined(symbols), text);
});
