// A view's script, asked of the app once a browser and kept there: Streamlit sends a component's script
// again with every new content.

import { partsOf } from "./address.js";

const WAITS = [300, 1500, 6000]; // milliseconds until it is asked once more, where the network failed

// What mounts the view whose script lies at `path`; its style goes where the view is drawn.
/** @param {string} path @param {string[]} pages */
export async function servedView(path, pages) {
  const { default: draw, STYLE } = await fetched(partsOf(location.href, pages).base + path);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  return (view) => {
    const root = view.parentElement.getRootNode();
    if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    return draw(view);
  };
}

// A browser may remember that an address gave no script: each try asks at another one.
/** @param {string} url @param {(url: string) => Promise<any>} load @param {number[]} waits */
export async function fetched(url, load = (at) => import(at), waits = WAITS) {
  for (const [count, wait] of waits.entries()) {
    try {
      return await load(count ? `${url}?${count}` : url);
    } catch {
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  return load(`${url}?${waits.length}`);
}
