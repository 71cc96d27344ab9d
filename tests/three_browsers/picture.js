// What a page of the app shows, read from the screen alone, and what its address says that it must show.

// Runs in the page: everything that an address determines, as it is drawn.
const READ = `() => {
  const rootsIn = (root) =>
    [root, ...[...root.querySelectorAll("*")].flatMap((node) => node.shadowRoot ? rootsIn(node.shadowRoot) : [])];
  const roots = rootsIn(document);
  const all = (selector) => roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  const visible = (selector) => all(selector).filter((node) => node.getClientRects().length > 0);
  const textOf = (node) => (node?.innerText ?? "").replace(/\\s+/g, " ").trim();
  const words = (node) => [...(node?.querySelectorAll("button") ?? [])].map((word) => word.textContent);
  const one = (selector) => visible(selector)[0];
  const codes = (selector) => visible(selector).map((node) => node.dataset.head);
  const choice = (label) =>
    visible(".hu-live-check").find((node) => node.textContent.startsWith(label + " "))?.querySelector("select").value;
  const [source, target] = visible(".hu-glance-words");
  const [pinnedSource, pinnedTarget] = one(".hu-pinwords") ? all(".hu-pinline") : [];
  const selected = one(".hu-mosaic [role=radio][aria-checked=true]");
  return {
    address: location.href,
    heading: textOf(one("h1")),
    page: one(".hu-pages a[aria-current=page]")?.dataset.page,
    isRunning: document.querySelector("[data-testid=stApp]")?.dataset.testScriptState !== "notRunning",
    field: one(".hu-glance-field textarea")?.value,
    problem: textOf(one(".hu-glance-problem")) || textOf(one(".hu-live-problem")),
    complaints: all('[role=alert], [data-testid=stAlert]').map(textOf).filter((text) => text.includes("The address has")),
    depth: textOf(one(".hu-glance-depths [aria-pressed=true]")),
    bands: source && { source: words(source), target: words(target) },
    stripOff: one(".hu-strip [data-head]") && codes('.hu-strip [data-head][aria-checked="false"]'),
    view: one(".hu-tabs [aria-selected=true]")?.dataset.view,
    kind: one(".hu-kinds [aria-pressed=true]")?.dataset.kind,
    title: textOf(one(".hu-title")),
    selected: selected?.dataset.head,
    pins: pinnedSource && { source: words(pinnedSource), target: words(pinnedTarget) },
    pin: all('.hu-pinword[aria-pressed="true"]')[0]?.dataset.pin,
    method: all('[data-method][aria-pressed="true"]')[0]?.dataset.method,
    boardOff: one(".hu-switchboard [data-head]") && codes('.hu-switchboard [data-head][aria-checked="false"]'),
    results: visible(".hu-live-results section").map((node) => node.innerText.split("\\n").filter(Boolean)),
    ablation: choice("Kind of ablation"),
    pickers: ["Attention", "Layer", "Head"].map(choice),
  };
}`;
const KINDS = ["encoder", "decoder", "cross"];
const [LAYERS, HEADS] = [6, 8]; // of the model

export const read = (page) => page.evaluate(`(${READ})()`);

/** The path of an address below the app's, and its fields. */
export function placeOf(address, app) {
  const url = new URL(address);
  return { page: url.pathname.slice(new URL(app).pathname.length), fields: Object.fromEntries(url.searchParams) };
}

/** The codes of single heads: "c5" is all heads of a layer. */
export const headCodes = (off) =>
  (off ?? "").split(",").filter(Boolean).flatMap((code) =>
    code.includes(".") ? [code] : Array.from({ length: HEADS }, (_, head) => `${code}.${head}`)
  ).filter((code) => Number(code.slice(1).split(".")[0]) < LAYERS).sort();

const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");

/**
 * One sentence for each difference between a page and its address.
 * @param {any} picture what `read` returns
 * @param {any} expected headings by path, the first example, and the labels of the depths
 * @param {(text: string, changes: Record<string, string>) => Promise<string>} translate by the server, asked directly
 */
export async function differences(picture, expected, translate) {
  const { page, fields } = placeOf(picture.address, expected.app);
  const found = [];
  const check = (name, shown, wanted) => {
    if (JSON.stringify(shown) !== JSON.stringify(wanted)) {
      found.push(`${name}: ${JSON.stringify(shown)} is drawn, the address says ${JSON.stringify(wanted)}`);
    }
  };
  check("page", picture.page, page);
  check("heading", picture.heading, expected.headings[page]);
  check("problems of the address", picture.complaints, []);
  if (page !== "") return found;

  const text = fields.text ?? expected.example;
  const depth = fields.depth ?? "bands";
  const isErased = picture.field?.trim() === "" && picture.problem !== ""; // then the address keeps the last sentence
  if (!isErased) check("sentence", picture.field, text);
  check("depth", picture.depth, expected.depths[depth]);
  const off = headCodes(fields.off);

  if (depth === "bands") {
    check("source words", picture.bands?.source.join(" "), text.trim().split(/\s+/u).join(" "));
    check("heads off", picture.stripOff?.sort(), off.filter((code) => code.startsWith("c")));
    check("translation", picture.bands?.target.join(" "), await translate(text, { off: fields.off ?? "" }));
  }
  if (depth === "heads" || depth === "steps") {
    check("source words", letters(picture.pins?.source.join(" ") ?? ""), letters(text));
    check("pinned word", picture.pin ?? "", fields.pin ?? "");
    check("method", picture.method, fields.method ?? "greedy");
    if (!fields.method) {
      const translation = letters(await translate(text, {}));
      check("translation", letters(picture.pins?.target.join(" ") ?? ""), translation);
    }
  }
  if (depth === "heads") {
    check("view", picture.view, fields.view ?? "heads");
    if (picture.kind) check("kind", picture.kind, fields.kind ?? "cross");
    if (Number(fields.layer ?? -1) >= 0 && Number(fields.head ?? -1) >= 0) {
      const [layer, head] = [Number(fields.layer), Number(fields.head)];
      if (picture.selected) check("selected head", picture.selected.slice(1), `${layer}.${head}`);
      const isNamed = /^Layer \d+, head \d+$/.test(picture.title);
      if (isNamed && fields.exact !== "1") check("title", picture.title, `Layer ${layer + 1}, head ${head + 1}`);
    }
  }
  if (depth === "off") {
    const changes = { off: fields.off ?? "", ...(fields.off && fields.ablation ? { ablation: fields.ablation } : {}) };
    const [before, after] = picture.results;
    check("heads off", picture.boardOff?.sort(), off);
    if (picture.ablation) check("ablation", picture.ablation, fields.ablation ?? "zero");
    if (!fields.method) check("translation", before?.slice(0, 2), ["With all heads", await translate(text, {})]);
    if (!fields.method && off.length) {
      check("changed translation", after?.slice(0, 2), ["After the change", await translate(text, changes)]);
    } else check("changed translation", after?.[0] === "After the change", off.length > 0);
    const [kind, layer, head] = picture.pickers;
    if (kind) { // "One head" is open
      check("head", [kind, layer, head], [
        KINDS.includes(fields.kind) ? fields.kind : "cross",
        String(Math.max(Number(fields.layer ?? 0), 0)),
        String(Math.max(Number(fields.head ?? 0), 0)),
      ]);
    }
  }
  return found;
}
