// One interface for three browsers: Chromium and Firefox by puppeteer-core (WebDriver BiDi), WebKitGTK's MiniBrowser by
// selenium-webdriver. Elements are found by their visible name, also inside of shadow roots.

import puppeteer from "puppeteer-core";
import selenium from "selenium-webdriver";

const PATHS = { chromium: "/usr/bin/chromium", firefox: "/usr/bin/firefox-esr" };
const MINI_BROWSER = "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser";
const TIMEOUT_MS = 90_000;
const POLL_MS = 100;
const ABORTED = "status=2152398850"; // Firefox about a font of a page that was left while it loaded (NS_BINDING_ABORTED)

// Runs in the page: the visible elements that a selector finds and whose name has this text.
const FIND = `(selector, name) => {
  const found = [];
  const search = (root) => {
    for (const node of root.querySelectorAll(selector)) {
      const text = node.getAttribute("aria-label") ?? node.textContent;
      const isVisible = node.getClientRects().length > 0;
      if (isVisible && text.replace(/\\s+/g, " ").trim().includes(name)) found.push(node);
    }
    for (const node of root.querySelectorAll("*")) if (node.shadowRoot) search(node.shadowRoot);
  };
  search(document);
  return found;
}`;

/** @param {string} browser "chromium", "firefox" or "webkit" */
export async function openBrowser(browser) {
  const pages = browser === "webkit" ? await webkitPage() : await puppeteerPage(browser);
  const page = { ...pages, browser };

  // Waits until `read()` returns something, for example an element.
  async function until(read, description) {
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end;) {
      const value = await read().catch(() => null);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`${browser}: ${description} did not appear within ${TIMEOUT_MS / 1000} s.`);
  }
  const first = (selector, name) =>
    until(
      () => page.element(`(${FIND})(${JSON.stringify(selector)}, ${JSON.stringify(name)})[0]`),
      `${selector} “${name}”`,
    );

  return {
    ...page,
    until,
    click: async (selector, name = "") => page.clickElement(await first(selector, name)),
    fill: async (selector, text) => page.fillElement(await first(selector, ""), text),
    see: (selector, name = "") => first(selector, name),
    text: (selector) =>
      page.evaluate(`(${FIND})(${JSON.stringify(selector)}, "").map((node) => node.innerText).join(" ")`),
  };
}

async function puppeteerPage(name) {
  const browser = await puppeteer.launch({
    browser: name === "firefox" ? "firefox" : "chrome",
    executablePath: PATHS[name],
    headless: true,
    args: name === "chromium" ? ["--no-sandbox", "--disable-gpu"] : [],
    protocolTimeout: TIMEOUT_MS,
  });
  const page = await browser.newPage();
  await page.setViewport({ width: 1366, height: 768 });
  const errors = [];
  page.on("pageerror", ({ message }) => {
    if (!message.includes(ABORTED)) errors.push(message);
  });
  return {
    errors: () => errors,
    goto: (address) => page.goto(address, { waitUntil: "load", timeout: TIMEOUT_MS }),
    url: () => Promise.resolve(page.url()),
    back: () => page.goBack(),
    reload: () => page.reload(),
    beforeScripts: (code) => page.evaluateOnNewDocument(code),
    press: (key) => page.keyboard.press(key),
    type: (text) => page.keyboard.type(text),
    // Whether this browser can slow its processor down.
    async slowDown(factor) {
      if (name === "chromium") await page.emulateCPUThrottling(factor);
      return name === "chromium";
    },
    evaluate: (code) => page.evaluate(code),
    element: async (code) => (await page.evaluateHandle(code)).asElement(),
    async clickElement(element) {
      await element.scrollIntoView();
      await element.click();
    },
    async fillElement(element, text) {
      await element.evaluate((field) => {
        field.focus();
        field.select();
      });
      await page.keyboard.type(text);
    },
    screenshot: (path) => page.screenshot({ path }),
    close: () => browser.close(),
  };
}

async function webkitPage() {
  const port = 9300 + Math.floor(Math.random() * 500);
  const server = new Deno.Command("WebKitWebDriver", { args: ["-p", String(port)], stdout: "null", stderr: "null" })
    .spawn();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const driver = await new selenium.Builder()
    .usingServer(`http://127.0.0.1:${port}`)
    .withCapabilities({
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": { binary: MINI_BROWSER, args: ["--automation"] },
    })
    .build();
  await driver.manage().window().setRect({ width: 1366, height: 828, x: 0, y: 0 });
  await driver.manage().setTimeouts({ script: TIMEOUT_MS, pageLoad: TIMEOUT_MS });
  return {
    errors: () => [], // WebDriver does not report them
    goto: (address) => driver.get(address),
    url: () => driver.getCurrentUrl(),
    back: () => driver.navigate().back(),
    reload: () => driver.navigate().refresh(),
    evaluate: (code) => driver.executeScript(`return ${code}`),
    element: (code) => driver.executeScript(`return ${code}`),
    async clickElement(element) {
      await driver.executeScript('arguments[0].scrollIntoView({ block: "center" })', element);
      await element.click();
    },
    async fillElement(element, text) {
      await element.clear();
      await element.sendKeys(text);
    },
    screenshot: async (path) =>
      Deno.writeFile(path, Uint8Array.from(atob(await driver.takeScreenshot()), (c) => c.charCodeAt(0))),
    async close() {
      await driver.quit();
      server.kill();
    },
  };
}
