// What is typed into a text field: reported after a short pause, with Enter, or when the field loses the focus.

/** @param {HTMLTextAreaElement} area @param {() => number} delay in ms after the last key @param {() => void} onText */
export function listenForText(area, delay, onText) {
  let timer = 0;

  function report() {
    clearTimeout(timer);
    timer = 0;
    onText();
  }
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(report, delay());
  });
  area.addEventListener("blur", () => timer && report());
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // Enter ends the sentence
    report();
  });
  return {
    report,
    get isPending() {
      return timer !== 0;
    },
    forget() {
      clearTimeout(timer);
      timer = 0;
    },
  };
}
