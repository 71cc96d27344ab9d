// Tokens that stand for no text, with the same cases as tests/inference/test_external_weights.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import { isControl } from "../../../transformer/client/common/naming.js";
import { wordLabels } from "../../../transformer/client/trace/words.js";

// deno-fmt-ignore
const CONTROL = [
  "<s>", "</s>", "<pad>", "<bos>", "<extra_id_0>", "<start_of_turn>", "<unused12>", "<fim_prefix>", "<to_fr>",
  "<|im_start|>", "<|en|>", "<|0.00|>", "<｜begin▁of▁sentence｜>", "<|reserved_special_token_7|>",
  "[CLS]", "[MASK]", "[INST]", "[/INST]", "[unused1]", "[DOC1]",
  "[gMASK]", "<<SYS>>", "<</SYS>>", "<2fr>", "<s>NOTUSED", "__en__", "fra_Latn", "zho_Hans", "fr_XX", ">>fra<<", ">>cmn_Hans<<",
];
const TEXTS = [
  "<0x0A>",
  "<",
  ">",
  "<<",
  "<3",
  "[",
  "[]",
  "[1]",
  "[a]",
  "[Ab]",
  "<|",
  "|>",
  "a>",
  "a_b",
  "__init__",
  "snake_Case",
  ">>",
  "<b>",
  "▁<s>",
  "<a b>",
  "",
];

test("a token stands for text or not, whatever its tokenizer", () => {
  assert.deepEqual(CONTROL.filter((token) => !isControl(token)), []);
  assert.deepEqual(TEXTS.filter(isControl), []);
});

test("such a token is a word of its own", () => {
  for (const token of CONTROL) {
    assert.deepEqual(wordLabels([token, "The", "▁cat", token, "s"]), [token, "The", "cat", token, "s"]);
  }
});
