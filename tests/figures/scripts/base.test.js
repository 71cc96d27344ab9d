// Black or white text on a colour has a contrast of at least 4.5 : 1.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isBright, luminance } from "../../../transformer/figures/browser/common/base.js";

test("luminance is that of WCAG 2.2", () => {
  assert.equal(luminance(0xffffffff), 1);
  assert.equal(luminance(0xff000000), 0);
  assert.ok(Math.abs(luminance(0xff777777) - 0.18447) < 1e-4);
});

test("text on any colour has enough contrast", () => {
  for (let colour = 0; colour < 0xffffff; colour += 997) {
    const contrast = isBright(colour) ? (luminance(colour) + 0.05) / 0.05 : 1.05 / (luminance(colour) + 0.05);
    assert.ok(contrast >= 4.5, `${colour.toString(16)}: ${contrast}`);
  }
});
