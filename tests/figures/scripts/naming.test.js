import assert from "node:assert/strict";
import { test } from "node:test";

import { truncated } from "../../../transformer/client/common/naming.js";

test("text is cut between characters as a reader counts them", () => {
  const family = "👩‍👩‍👧"; // five code points, eight UTF-16 units
  const decomposed = "e\u0301"; // é in two code points
  assert.equal(truncated(family + decomposed + "abc", 3), `${family}${decomposed}…`);
  assert.equal(truncated(family.repeat(60), 60), family.repeat(60));
  assert.equal(truncated("😀".repeat(61), 60), `${"😀".repeat(59)}…`);
});
