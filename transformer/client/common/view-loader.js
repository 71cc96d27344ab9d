// Fetches a view's script from the app, once per browser: Streamlit would send a component's script again with
// every new content.

import { splitAddress } from "./address.js";

const RETRY_DELAYS_MS = [300, 1500, 6000]; // ms between retries after a network error

// Mounts the view whose script is at `path`, and adds its style where the view is drawn.
/** @param {string} path @param {string[]} pages */
export async function servedView(path, pages) {
  const { default: draw, STYLE } = await importWithRetries(splitAddress(location.href, pages).base + path);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  return (view) => {
    const root = view.parentElement.getRootNode();
    if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
    return draw(view);
  };
}

// A browser may cache a failed import, so each retry uses another address.
/** @param {string} url @param {(url: string) => Promise<any>} load @param {number[]} delays */
export async function importWithRetries(url, load = (address) => import(address), delays = RETRY_DELAYS_MS) {
  for (const [count, delay] of delays.entries()) {
    try {
      return await load(count ? `${url}?${count}` : url);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
  return load(`${url}?${delays.length}`);
}
