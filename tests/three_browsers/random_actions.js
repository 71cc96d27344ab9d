// Random actions on the page Try and the pages around it: `random_actions.js EXPECTED.json ACTIONS SEED BROWSER …`. After
// each of them the picture has to equal the address, on a server that takes 0 to 2 s longer and a slow processor.

import { random as makeRandom } from "../figures/scripts/fixtures.js";
import { openBrowser } from "./driver.js";
import { differences, headCodes, placeOf, read } from "./picture.js";

const SLOWDOWN = 6;
const MAX_WAIT_MS = 60_000;
const [POLL_MS, STABLE_MS] = [150, 200]; // the picture has to be right twice, with this time between
const HISTORY_SHOWN = 6; // last actions that are printed with a lost one
const SENTENCES = [
  ...["Good morning.", "The cat sleeps on the old chair.", "We like music.", "Where is the station?"],
  ...["He bought a red car yesterday.", "I do not know why she left.", "It is cold today.", "My brother reads a book."],
];
const LETTERS = "abcdefghilmnoprstu ";

const [file, actionCount, seed, ...browsers] = Deno.args;
const expected = JSON.parse(Deno.readTextFileSync(file));

// Runs before the page's scripts: requests to the server wait, or end when they are aborted.
const DELAYED_FETCH = `(() => {
  const random = (${makeRandom})(${seed} + Date.now() % 1000);
  const original = window.fetch.bind(window);
  window.fetch = async (resource, options = {}) => {
    if (String(resource.url ?? resource).includes("api/")) {
      await new Promise((resolve) => setTimeout(resolve, 2000 * random()));
      options.signal?.throwIfAborted();
    }
    return original(resource, options);
  };
})()`;

const translations = new Map(); // by request

async function translate(text, changes) {
  const body = JSON.stringify({ text, ...changes });
  if (!translations.has(body)) {
    const answer = await fetch(`${expected.app}api/translate`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    const { text: translation, problem } = await answer.json();
    translations.set(body, translation ?? problem);
  }
  return translations.get(body);
}

async function run(name) {
  const random = makeRandom(Number(seed));
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const page = await openBrowser(name);
  const isSlow = await page.slowDown(SLOWDOWN);
  console.log(`${name}: ${isSlow ? `processor slowed ${SLOWDOWN} times` : "its processor cannot be slowed"}`);
  await page.beforeScripts(DELAYED_FETCH);
  await page.goto(expected.app);
  const history = [];
  let [lost, clicksByScript] = [0, 0];

  // A random one of the visible elements.
  async function find(selector) {
    const list = `(${FIND_ALL})(${JSON.stringify(selector)})`;
    const count = await page.evaluate(`${list}.length`);
    return count ? page.element(`${list}[${Math.floor(random() * count)}]`) : null;
  }

  // Clicks it with the mouse, or as assistive technology does if something has moved in between.
  async function click(element) {
    await element.evaluate((node) => {
      globalThis.wasClicked = false;
      node.addEventListener("click", () => (globalThis.wasClicked = true), { once: true, capture: true });
    });
    await page.clickElement(element).catch(() => {});
    if (await page.evaluate("globalThis.wasClicked")) return;
    clicksByScript++;
    await element.evaluate((node) => node.click());
  }

  // An action that clicks one of these elements; `effect` is what the address must have then, by its data.
  const clicking = (name, selector, effect = () => ({})) => async () => {
    const element = await find(selector);
    if (!element) return null;
    const data = await element.evaluate((node) => ({
      ...node.dataset,
      text: node.textContent.trim(),
      isPressed: node.getAttribute("aria-pressed") === "true",
      isOn: node.getAttribute("aria-checked") === "true",
    }));
    await click(element);
    return { name: `${name} ${data.head ?? data.view ?? data.pin ?? data.text.slice(0, 30)}`, ...effect(data) };
  };

  const typing = (name, write, text) => async () => {
    const element = await find(FIELD);
    if (!element) return null;
    await click(element);
    await write(element);
    const typed = await element.evaluate((field) => field.value);
    return { name: `${name} “${typed}”`, fields: text === null || !typed.trim() ? {} : { text: typed } };
  };

  const choosing = (name, selector) => async () => {
    const element = await find(selector);
    if (!element) return null;
    const number = random();
    const value = await element.evaluate((select, share) => {
      select.selectedIndex = Math.floor(share * select.options.length);
      select.dispatchEvent(new Event("change", { bubbles: true }));
      return select.value;
    }, number);
    return { name: `${name} ${value}` };
  };

  const headOf = ({ head: code }) => {
    const [layer, head] = code.slice(1).split(".");
    const kind = { e: "encoder", d: "decoder", c: "cross" }[code[0]];
    return { fields: { kind, layer, head } };
  };
  const switched = ({ head, isOn }) => ({ heads: { [head]: isOn } });
  const pressKeys = async () => {
    const element = await find(".hu-mosaic [tabindex='0'], .hu-model [tabindex='0'], .hu-strip [tabindex='0']");
    if (!element) return null;
    await element.evaluate((node) => node.focus());
    const keys = Array.from({ length: 1 + Math.floor(3 * random()) }, () => oneOf(ARROWS));
    for (const key of keys) await page.press(key);
    return { name: keys.join(" "), chooses: ["kind", "layer", "head"] };
  };
  const chooseMethod = async () => {
    const closed = await find("details:not([open]) > summary");
    const isMethods = closed && (await closed.evaluate((node) => node.textContent)).includes("Decoding method");
    if (isMethods) await click(closed);
    return clicking("method", "[data-method]", ({ method }) => ({ fields: { method } }))();
  };
  const opened = ({ page }) => ({ isMove: true, page });
  const moving = (name, move) => async () => {
    await move();
    return { name, isMove: true };
  };

  /** @type {[number, () => Promise<any>][]} weight and action */
  const ACTIONS = [
    [
      8,
      typing("type a letter:", async () => {
        await page.press("End");
        await page.type(oneOf([...LETTERS]));
      }),
    ],
    [3, typing("type", (element) => page.fillElement(element, oneOf(SENTENCES)))],
    [
      1,
      typing("erase", async (element) => {
        await element.evaluate((field) => field.select());
        await page.press("Backspace");
      }, null),
    ],
    [4, clicking("example", ".hu-glance-examples button", ({ text }) => ({ fields: { text } }))],
    [10, clicking("depth", ".hu-glance-depths button", ({ text }) => ({ fields: { depth: depthOf(text) } }))],
    [8, clicking("switch", ".hu-strip [data-head]", switched)],
    [1, clicking("layer", ".hu-strip .hu-edge")],
    [2, clicking("open", ".hu-open-head", () => ({ fields: { depth: "heads" } }))],
    [8, clicking("head", ".hu-mosaic [data-head], .hu-model [data-head]", headOf)],
    [4, pressKeys],
    [3, clicking("tab", ".hu-tabs [role=tab]", ({ view }) => ({ fields: { view } }))],
    [1, clicking("tools", ".hu-moretools")],
    [4, clicking("kind", ".hu-kinds [data-kind]", ({ kind }) => ({ fields: { kind } }))],
    [4, clicking("pin", ".hu-pinword", ({ pin, isPressed }) => ({ fields: { pin: isPressed ? "" : pin } }))],
    [8, clicking("switch", ".hu-switchboard [data-head]", switched)],
    [2, choosing("ablation", ".hu-off-ablation select")],
    [2, choosing("head", ".hu-off-head > .hu-line select")],
    [2, clicking("open", ".hu-off-more summary")],
    [1, clicking("restore", ".hu-off-effect .hu-button")],
    [3, chooseMethod],
    [6, clicking("page", ".hu-pages a[data-page=''], .hu-pages a[data-page=learn]", opened)],
    [4, clicking("page", ".hu-pages a[data-page=inside], .hu-pages a[data-page=glossary]", opened)],
    [6, moving("back", () => page.evaluate(travel("back")).catch(() => {}))],
    [4, moving("forward", () => page.evaluate(travel("forward")).catch(() => {}))],
    [1, moving("reload", () => page.reload())],
  ];
  const total = ACTIONS.reduce((sum, [weight]) => sum + weight, 0);
  function randomAction() {
    let at = random() * total;
    return ACTIONS.find(([weight]) => (at -= weight) < 0)[1];
  }

  // What the address must have after these actions; after another page, only what the picture shows is compared.
  function wantedAfter(actions) {
    const wanted = { fields: {}, heads: {} };
    const hasOtherText = actions.some(({ fields }) => fields?.text !== undefined);
    for (const { fields = {}, heads = {}, isMove, chooses = [] } of actions) {
      // The next action has to wait until a page is there.
      if (isMove) return { fields: {}, heads: {}, page: actions.at(-1).page };
      for (const name of chooses) delete wanted.fields[name]; // another head than the one clicked before
      Object.assign(wanted.fields, fields);
      Object.assign(wanted.heads, heads);
      if (hasOtherText || fields.depth !== undefined) delete wanted.fields.pin; // it may be another word
      if (fields.depth !== undefined) delete wanted.fields.view; // each depth has its own
    }
    return wanted;
  }

  function lostChanges(address, { fields: wantedFields, heads, page: wantedPage }) {
    const { page, fields } = placeOf(address, expected.app);
    if (wantedPage !== undefined && page !== wantedPage) return [`the page “${wantedPage}” is not open`];
    const off = headCodes(fields.off);
    const changed = Object.entries(wantedFields).filter(([name, value]) =>
      (fields[name] ?? DEFAULTS[name] ?? "") !== (value.trim?.() ? value : DEFAULTS[name] ?? value)
    );
    return [
      ...changed.map(([name, value]) => `${name}=${value} is not in the address`),
      ...Object.entries(heads).filter(([code, isOff]) => off.includes(code) !== isOff)
        .map(([code, isOff]) => `${code} should be ${isOff ? "off" : "on"} in the address`),
    ];
  }

  async function problems(wanted) {
    const picture = await read(page);
    if (!picture.address.startsWith(expected.app)) {
      await page.evaluate("history.forward()"); // before the first page of the app
      return ["The browser has left the app"];
    }
    return [...lostChanges(picture.address, wanted), ...await differences(picture, expected, translate)];
  }

  async function settle(wanted) {
    let found = ["nothing could be read"];
    let rightSince = 0;
    for (const end = Date.now() + MAX_WAIT_MS; Date.now() < end;) {
      try {
        found = await problems(wanted);
        if (!found.length && rightSince && Date.now() - rightSince >= STABLE_MS) return [];
        rightSince = found.length ? 0 : rightSince || Date.now();
      } catch (error) {
        found = [error.message]; // the page is being loaded
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    return found;
  }

  await settle({ fields: {}, heads: {} });
  const start = Date.now();
  for (let done = 0; done < Number(actionCount);) {
    const length = random() < 0.25 ? 2 + Math.floor(2 * random()) : 1; // sometimes in quick succession
    const actions = [];
    while (actions.length < length) {
      const action = await randomAction()().catch(() => null); // an element that has gone
      if (action) actions.push(action);
    }
    done += actions.length;
    history.push(actions.map(({ name }) => name).join(" + "));
    const found = await settle(wantedAfter(actions));
    if (found.length) {
      lost++;
      const address = decodeURIComponent(await page.url());
      console.log(`${name}: LOST after ${done} actions, at ${address}`);
      for (const line of found) console.log(`    ${line}`);
      console.log(`    last actions: ${history.slice(-HISTORY_SHOWN).join(" | ")}`);
      await page.screenshot(`${expected.folder}/random-${name}-${done}.png`).catch(() => {});
      await page.goto(expected.app);
      await settle({ fields: {}, heads: {} });
    }
    if (Math.floor(done / 50) > Math.floor((done - actions.length) / 50)) {
      console.log(`${name}: ${done} actions in ${Math.round((Date.now() - start) / 1000)} s, ${lost} lost`);
    }
  }
  for (const error of new Set(page.errors())) console.log(`${name}: an error in a page: ${error}`);
  if (clicksByScript) {
    console.log(`${name}: ${clicksByScript} clicks missed what had moved and were repeated by a script`);
  }
  console.log(`${name}: ${lost} of ${actionCount} lost`);
  await page.close();
  return lost + page.errors().length;
}

const FIELD = ".hu-glance-field textarea";
const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const DEFAULTS = { text: expected.example, depth: "bands", view: "heads", kind: "cross", method: "greedy" };
// Goes back or forward, until the address has changed.
const travel = (way) =>
  `new Promise((done) => {
    addEventListener("popstate", done, { once: true });
    setTimeout(done, 4000); // there may be no such entry
    history.${way}();
  }).then(() => {})`;
const depthOf = (label) => Object.keys(expected.depths).find((name) => expected.depths[name] === label);

// Runs in the page: the visible elements that a selector finds, also inside of shadow roots.
const FIND_ALL = `(selector) => {
  const all = (root) => [
    ...root.querySelectorAll(selector),
    ...[...root.querySelectorAll("*")].flatMap((node) => node.shadowRoot ? all(node.shadowRoot) : []),
  ];
  return all(document).filter((node) => node.getClientRects().length > 0 && !node.closest("[inert]"));
}`;

let failures = 0;
for (const browser of browsers) failures += await run(browser);
Deno.exit(failures ? 1 : 0);
