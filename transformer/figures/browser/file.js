// A view as a file of its own: its data stand in the page, and nobody hears what is chosen.

export function openFile(make, data) {
  const view = make(document.body, () => {});
  document.querySelector(".hu").classList.add("hu-file");
  view.show(data);
}

// What `view_page` of figures/views.py wrote into an element.
export const jsonIn = (node) => JSON.parse(node.textContent);

// The bytes that its `data_script` wrote.
export async function bytesIn(node) {
  const packed = Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
