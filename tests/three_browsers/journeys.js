// Ten journeys through the site and the app, each in three browsers: `journeys.js EXPECTED.json BROWSER …`.
// EXPECTED.json has the addresses of both, a sentence with its translation by Python, and the checksum of a run.

import { openBrowser } from "./driver.js";

const [file, ...browsers] = Deno.args;
const expected = JSON.parse(Deno.readTextFileSync(file));
const FIELD = "textarea";
const WORDS = '[role=group][aria-label^="Translated words"]';

const bySite = (path) => (page) => page.goto(expected.site + path);
const byApp = (path) => (page) => page.goto(expected.app + path);
const sentence = encodeURIComponent(expected.text);

const shows = (page, text) =>
  page.until(async () => (await page.text(WORDS)).replace(/\s+/g, " ").includes(text), `the translation “${text}”`);
const addressHas = (page, part) =>
  page.until(async () => decodeURIComponent(await page.url()).includes(part), `an address with ${part}`);

/** @type {[string, (page: any) => Promise<unknown>, (page: any) => Promise<unknown>][]} */
const JOURNEYS = [
  ["site: a typed sentence is translated as in Python", bySite(""), async (page) => {
    await page.see('[role=group][aria-label^="Translated words"] button');
    await page.fill(FIELD, expected.text);
    await shows(page, expected.word);
    await addressHas(page, "text=Who");
  }],
  ["site: a head is switched off in the bands", bySite(`?text=${sentence}`), async (page) => {
    await shows(page, expected.word);
    await page.click("[role=switch]", "layer 6, head 8");
    await addressHas(page, "off=c5.7");
  }],
  ["site: all heads, and back", bySite(`?text=${sentence}`), async (page) => {
    await page.click("button", "All heads");
    await page.see("span, p, div", "Pin a word");
    await page.click("button", "Bands");
    await page.back();
    await addressHas(page, "depth=heads");
    await page.see("p, span, div", "Pin a word");
  }],
  ["site: a token is masked", bySite(`?depth=off&text=${sentence}`), async (page) => {
    await page.click("summary", "Mask source tokens");
    await page.click(".hu-token-choice button", "red");
    await addressHas(page, "masked_tokens=");
    await page.see("h2", "After the change");
  }],
  ["site: a lesson is answered", bySite("learn.html?lesson=umbrella"), async (page) => {
    await page.click(".hu-lesson-option", "her");
    await page.see(".hu-lesson-answer", "Correct");
    await page.click("button", "Open in All heads");
    await page.see(".hu-mosaic, .hu-split", "");
  }],
  ["site: a link is a run, bit for bit", bySite("train.html"), async (page) => {
    await page.click("button", "Go on"); // the run has stopped where a head has found the right tokens
    await page.see("button", "finished after");
    await page.see("p, span, div", expected.checksum);
  }],
  ["site: the bug clinic opens a case", bySite("clinic.html"), async (page) => {
    await page.click("button", "2. A perfect loss");
    await page.see("button", "Show a hint");
  }],
  ["app: a typed sentence is translated as in Python", byApp("/"), async (page) => {
    await page.see('[role=group][aria-label^="Translated words"] button');
    await page.fill(FIELD, expected.text);
    await shows(page, expected.word);
    await addressHas(page, "text=Who");
  }],
  ["app: a run is trained in the tab", byApp("/train?here=task%3Dreverse"), async (page) => {
    await page.click("button", "Go on");
    await page.see("button", "finished after");
    await page.see("p, span, div", expected.checksum);
  }],
  ["app: Look inside and Research open", byApp("/inside"), async (page) => {
    await page.see("h1", "Look inside");
    await page.goto(`${expected.app}/research`);
    await page.see("h1", "Research");
  }],
];

let failures = 0;
for (const browser of browsers) {
  const page = await openBrowser(browser);
  for (const [name, open, walk] of JOURNEYS) {
    const start = performance.now();
    try {
      await open(page);
      await walk(page);
      console.log(`${browser}: ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failures++;
      console.log(`${browser}: FAILED ${name}: ${error.message}`);
      await page.screenshot(`${expected.folder}/${browser}-${failures}.png`).catch(() => {});
    }
  }
  for (const error of page.errors()) console.log(`${browser}: an error in a page: ${error}`);
  failures += page.errors().length;
  await page.close();
}
console.log(`${browsers.length * JOURNEYS.length - failures} passed, ${failures} failed`);
Deno.exit(failures ? 1 : 0);
