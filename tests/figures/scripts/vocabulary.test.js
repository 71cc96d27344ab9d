// Vocabularies whose pieces the browser would compute differently from SentencePiece are refused.

import assert from "node:assert/strict";
import { test } from "node:test";

import { symbolPieces, Vocabulary } from "../../../transformer/client/model/vocabulary.js";

test("user-defined symbols are refused", () => {
  const pieces = symbolPieces(["a", "b"]);
  assert.deepEqual(new Vocabulary(pieces).encode("b a"), [5, 4, 2]);
  assert.throws(() => new Vocabulary([...pieces, { text: "<sep>", score: 0, kind: 4 }]), /user-defined symbols/);
});
