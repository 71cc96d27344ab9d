// Black or white text on a colour has a contrast of at least 4.5 : 1.

import assert from "node:assert/strict";
import { test } from "node:test";

import { luminance, textOn } from "../../../transformer/client/common/base.js";

test("luminance is that of WCAG 2.2", () => {
  assert.equal(luminance("#ffffff"), 1);
  assert.equal(luminance("#000000"), 0);
  assert.ok(Math.abs(luminance("#777777") - 0.18447) < 1e-4);
});

test("text on any colour has enough contrast", () => {
  for (let number = 0; number < 0xffffff; number += 997) {
    const colour = `#${number.toString(16).padStart(6, "0")}`;
    const isBlack = textOn(colour) === "#000000";
    const contrast = isBlack ? (luminance(colour) + 0.05) / 0.05 : 1.05 / (luminance(colour) + 0.05);
    assert.ok(contrast >= 4.5, `${colour}: ${contrast}`);
  }
});
