// A run in a browser that does not allow it, and heads that are off.

import assert from "node:assert/strict";
import { firstFollower } from "../../../transformer/client/app/trainer/captions.js";
import { Run } from "../../../transformer/client/training/run.js";

const SMALL = { task: "copy", d_model: 32, d_ff: 32, n_layers: 1, n_heads: 2, steps: 5 };

Deno.test("a policy that forbids WebAssembly is named, and a browser without its instructions too", () => {
  const { Module, validate } = WebAssembly;
  try {
    // As Chromium does under `default-src 'self'`; validating needs no permission.
    WebAssembly.Module = /** @type {any} */ (function () {
      throw new WebAssembly.CompileError("Refused to compile or instantiate WebAssembly module");
    });
    assert.throws(() => new Run({ settings: SMALL }), /Content-Security-Policy of this page forbids WebAssembly/);
    WebAssembly.validate = () => false; // without SIMD
    assert.throws(
      () => new Run({ settings: SMALL }),
      /This browser cannot train the model: it needs WebAssembly with SIMD/,
    );
  } finally {
    Object.assign(WebAssembly, { Module, validate });
  }
});

Deno.test("a head that is off puts no weight on the right tokens", () => {
  const shares = (off) => new Run({ settings: { ...SMALL, off } }).evaluate(20).linkShares;
  const [[first, second]] = shares("");
  assert.ok(first > 0 && second > 0);
  assert.deepEqual(shares("c0.1"), [[first, 0]]);
  assert.deepEqual(shares("c0"), [[0, 0]]);
  assert.equal(firstFollower([{ step: 25, linkShares: [[0.4, 0]] }]), null);
});
