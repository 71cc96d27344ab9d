// A view in an HTML file: the data are in the page, and selections are not reported.

import { bytesOfBase64 } from "./base64.js";

export function openFile(makeView, data) {
  const view = makeView(document.body, () => {});
  document.querySelector(".hu").classList.add("hu-file");
  view.show(data);
}

// Reads the JSON element of `view_page` in figures/views.py.
export const jsonIn = (node) => JSON.parse(node.textContent);

// Reads the bytes of `data_script`.
export async function bytesIn(node) {
  const stream = new Blob([bytesOfBase64(node.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
