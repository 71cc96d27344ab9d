// Formatted numbers, read back, equal the originals up to the digits shown.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  cellNumber,
  fixed,
  numberText,
  percentText,
  showWeight,
  tensorNumber,
} from "../../../transformer/client/common/numbers.js";
import { formatMeasure, formatOffset } from "../../../transformer/client/common/measures.js";
import { random } from "./fixtures.js";

const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const parse = (text) => {
  const [mantissa, exponent = ""] = text.replaceAll("−", "-").split("·10");
  return Number(
    `${mantissa}e${
      [...exponent].map((character) => (character === "⁻" ? "-" : DIGITS.indexOf(character))).join("") || 0
    }`,
  );
};

test("a number of any size keeps the requested digits", () => {
  const draw = random(3);
  for (let i = 0; i < 2000; i++) {
    const value = (draw() - 0.5) * 10 ** Math.round(draw() * 24 - 12);
    for (const digits of [2, 3, 4]) {
      const parsed = parse(numberText(value, digits));
      assert.ok(
        Math.abs(parsed - value) <= Math.abs(value) * 0.5001 * 10 ** (1 - digits),
        `${value} as ${numberText(value, digits)}`,
      );
    }
  }
});

test("examples of formatted numbers", () => {
  assert.deepEqual([0, -0.5, 1e-6, 123456, null].map((x) => numberText(x)), [
    "0",
    "−0.5",
    "1·10⁻⁶",
    "1.235·10⁵",
    "not a number",
  ]);
  assert.deepEqual([-Infinity, NaN, -0.25].map((x) => tensorNumber(x)), ["−∞", "not a number", "−0.25"]);
  assert.equal(fixed(-0.12345), "−0.1235");
  assert.deepEqual([3, -7, 0.004, 0.5, 12.34, 2000.4, -0.0004].map((x) => cellNumber(x, 20)), [
    "3",
    "−7",
    "0.0",
    "0.5",
    "12.3",
    "2000",
    "0.0",
  ]);
  assert.deepEqual([0.5, 12.34, 123.4].map(formatMeasure), ["0.50", "12.3", "123"]);
  assert.deepEqual([2, 0, -1].map(formatOffset), ["+2", "0", "−1"]);
});

test("only a probability of 1 is shown as 100%, and small values as “<”", () => {
  assert.deepEqual([1, 0.99996, 0.9, 0.0005, 0.00009, 0].map(percentText), [
    "100.0%",
    "> 99.9%",
    "90.0%",
    "0.05%",
    "< 0.01%",
    "< 0.01%",
  ]);
  for (let p = 0.0001; p < 1; p += 0.0001) assert.notEqual(percentText(p), "100.0%");
  assert.deepEqual([0.5, 0.00004, 0].map((w) => showWeight(w, 65535)), ["0.5000", "< 0.0001", "0.0000"]);
  assert.deepEqual([0.5, 0.004, 0].map((w) => showWeight(w, 255)), ["≈ 0.50", "< 0.01", "≈ 0.00"]);
});
