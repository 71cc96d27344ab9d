// The page Try in the app, mounted by Streamlit once: its models are on the server.

import { splitAddress } from "../../common/address.js";
import { streamlitComponent } from "../../common/mount.js";
import { withOwnModel } from "../../engine/own-engine.js";
import { makeServerEngine } from "../../engine/server.js";
import { makeEnd } from "./end.js";
import { openTry } from "./try.js";

/** @param {Record<string, Tab>} tabs the explorer's views */
export const tryComponent = (tabs) =>
  streamlitComponent((container) => {
    let [opening, closed] = [/** @type {ReturnType<typeof openTry> | null} */ (null), false];
    return {
      // `pages`: paths of the app's pages; `places`: what to see next; `large`: for a projector.
      async show({ pages, places, large }) {
        const { base } = splitAddress(location.href, pages);
        opening ??= openTry(container, {
          tabs,
          makeEngine: (onLoading) => withOwnModel(makeServerEngine(base, onLoading)),
          makeEnd: (context) =>
            makeEnd(context, places, ({ page, params }) => `${base}${page}?${new URLSearchParams(params)}`),
        });
        const page = await opening;
        if (closed) return page.close();
        page.enlarge(large);
      },
      close() {
        closed = true;
        opening?.then((page) => page.close());
      },
    };
  });
