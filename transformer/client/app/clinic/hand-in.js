// Below the list of cases: what a student saves and hands in, and what a teacher checks.

import { button, chooseFile, download, el } from "../../common/base.js";
import { CASES } from "./cases.js";
import { VIEWS } from "./evidence.js";
import { makeResult, NO_PROOF, readResult, resultPage, resultTable } from "./result.js";

const MAX_FILE_BYTES = 1e6;
const JSON_FILE = "bug-clinic.json";
const TITLES = Object.fromEntries(CASES.map(({ id, title }) => [id, title]));

/** @param {import("./progress.js").Progress} progress @param {() => void} reset */
export function handInParts(progress, reset) {
  const name = el("input", {
    type: "text",
    maxlength: 60,
    autocomplete: "off",
    "aria-label": "Your name, or any other",
  });
  name.value = progress.name;
  name.addEventListener("change", () => progress.setName(name.value.trim()));
  const message = el("p", { role: "status" });
  const checked = el("div", { class: "hu-clinic-scroll" });

  function result() {
    const solved = CASES.filter(progress.isSolved).map(({ id }) => {
      const { expected, evidence, vagueMarks, wrongMarks, wrongLines, wrongCorrections, hints, seconds, points } =
        progress.stateOf(id);
      const attempts = { vagueMarks, wrongMarks, wrongLines, wrongCorrections, hints };
      return { id, expected, evidence, ...attempts, seconds: Math.round(seconds), points };
    });
    return makeResult(name.value.trim(), solved);
  }

  async function check(file) {
    try {
      const given = readResult(file.size > MAX_FILE_BYTES ? "" : await file.text());
      message.textContent = "The code matches: this file is as the page saved it.";
      checked.replaceChildren(resultTable(given, TITLES, VIEWS));
    } catch (error) {
      message.textContent = error.message;
      checked.replaceChildren();
    }
  }

  const saveResult = () =>
    download(new Blob([JSON.stringify(result(), null, 1)], { type: "application/json" }), JSON_FILE);
  const savePage = () => download(resultPage(resultTable(result(), TITLES, VIEWS)), "bug-clinic.html");
  return [
    el("h2", {}, "Hand in"),
    el("p", { class: "hu-note" }, "Solved cases, with attempts, evidence, time and hints. ", NO_PROOF),
    el(
      "div",
      { class: "hu-line hu-trainer-tools" },
      el("label", {}, "Name ", name),
      button("Save the result", saveResult),
      button("Save as a page to print", savePage),
      button("Check a result", () => chooseFile(".json", check)),
      button("Reset all cases", reset),
    ),
    message,
    checked,
  ];
}
