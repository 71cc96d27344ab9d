// The pictures of a case: of its one model, or of three next to each other. All show the same input and the same head.

import { colours, el } from "../../common/base.js";
import { placeName } from "../../views/grids/all-heads.js";
import { MODELS } from "./case.js";
import { headOf, markText, spaced } from "./evidence.js";
import { makeModelView } from "./model-view.js";

const START = { example: 1, head: { kind: /** @type {Kind} */ ("cross"), layer: 0, head: 0 }, mark: null, model: 0 };

/** @param {(mark: import("./evidence.js").Mark, text: string) => void} onMark @param {() => void} onChange */
export function makeViews(onMark, onChange) {
  const node = el("div", { class: "hu-clinic-views" });
  /** @type {ReturnType<typeof makeModelView>[]} */
  let models = [];
  let selection = { ...START };
  let runs = /** @type {import("../trainer/runs.js").Run[]} */ ([]);

  function select(changes) {
    selection = { ...selection, ...changes };
    onChange();
  }

  // Show another case, or the same with its model corrected.
  /** @param {import("./case.js").Case} given */
  function reset(given) {
    selection = { ...START };
    models = (given.seeds ? MODELS : [""]).map((name, model) =>
      makeModelView(name, {
        onMark: (mark) => {
          select({ mark, model });
          onMark({ ...mark, model }, textOf(mark, model, name));
        },
        onExample: (example) => select({ example, mark: null }),
        onHead: (head) => select({ head, mark: null }),
      })
    );
    node.classList.toggle("hu-clinic-three", models.length > 1);
    node.replaceChildren(...models.map((model) => model.node));
  }

  /** @param {import("./evidence.js").Mark} mark @param {number} model @param {string} name */
  function textOf(mark, model, name) {
    const example = runs[model].examples[mark.example];
    const kind = /** @type {Kind} */ (mark.view);
    const head = mark.layer === undefined ? null : headOf(example, kind, mark.layer, mark.head);
    const place = head
      ? placeName({ kind, layer: mark.layer, head: mark.head }, true)
      : example
      ? spaced(example.src)
      : "";
    const text = markText(mark, place, head);
    return name ? `${name}: ${text}` : text;
  }

  /** @param {import("../trainer/runs.js").Run[]} newRuns @param {string[][][]} writings */
  function draw(newRuns, writings) {
    runs = newRuns;
    const theme = colours(node);
    models.forEach((view, model) => {
      const shown = { ...selection, mark: model === selection.model ? selection.mark : null };
      view.draw(runs[model], writings[model] ?? [], shown, theme);
    });
  }
  return { node, draw, reset };
}
