// Keeps the browser's page translation away from what Streamlit draws of a model or a visitor: charts, tables, programs,
// fields and sentences. Text that our own code draws is marked where it is made.

const PARTS = ["stPlotlyChart", "stDataFrame", "stCode", "stTextInputRootElement", "stTextAreaRootElement"];
const KEYS = ["example", "whole-sentence", "full-sentence-on-phone", "unknown-words"]; // of ui/widgets/controls.py
const KEPT = [...PARTS.map((name) => `[data-testid=${name}]`), ...KEYS.map((key) => `.st-key-${key}`)]
  .map((selector) => `${selector}:not([translate])`).join();

// Marks what is there and what is added later; returns a function that ends this.
export function keepWords(root = document.body) {
  let request = 0;
  const mark = () => {
    request = 0;
    for (const node of root.querySelectorAll(KEPT)) node.setAttribute("translate", "no");
  };
  const observer = new MutationObserver(() => request ||= requestAnimationFrame(mark));
  observer.observe(root, { childList: true, subtree: true });
  mark();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(request);
  };
}
