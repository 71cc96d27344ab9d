import assert from "node:assert/strict";
import { test } from "node:test";

import { withoutInvisible } from "../../../transformer/client/model/normalizer.js";

test("characters that nobody sees are those of Unicode, and joiners stay in emoji and Persian", () => {
  const codes = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => code < 0xd800 || code > 0xdfff);
  const characters = codes.map((code) => String.fromCodePoint(code));
  const dropped = characters.filter((character) => withoutInvisible(`a${character}`) === "a");
  const ignorable = characters.filter((character) => /\p{Default_Ignorable_Code_Point}/u.test(character));
  const others = [..."\0\ufff9\ufffa\ufffb\ufffc"];
  assert.deepEqual(dropped.sort(), [...ignorable.filter((character) => character !== "\u200b"), ...others].sort());
  for (const text of ["👩\u200d💻 writes", "می\u200cخواهم"]) assert.equal(withoutInvisible(`${text}\u2060`), text);
});
