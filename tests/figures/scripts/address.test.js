// Addresses of the app at any path of a server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { splitAddress } from "../../../transformer/client/common/address.js";

const PAGES = ["", "inside", "research"];

test("an address is split into the app's address, the page and the query", () => {
  const cases = [
    ["http://a:1/", "http://a:1/", "", ""],
    ["http://a:1/inside?text=a+b", "http://a:1/", "inside", "text=a+b"],
    ["https://b/class/research?finding=single", "https://b/class/", "research", "finding=single"],
    ["https://b/class/", "https://b/class/", "", ""],
    ["https://b/class", "https://b/class/", "", ""],
  ];
  for (const [href, base, page, query] of cases) assert.deepEqual(splitAddress(href, PAGES), { base, page, query });
});
