// Keeps one history entry for each page that is opened. Streamlit adds one when it opens a page, and another if the
// page then completes its address, for example with the sentence that was typed after its link was drawn.

let isInstalled = false;

export function completeAddressInPlace() {
  const app = document.querySelector("[data-testid=stApp]");
  if (isInstalled || !app) return;
  isInstalled = true;
  let isOpening = false; // whether the first run of a page goes on, and the visitor has done nothing since
  const endOpening = () => (isOpening = false);
  const push = history.pushState.bind(history);
  history.pushState = (state, unused, url) => {
    const { pathname } = new URL(url ?? "", location.href);
    if (isOpening && pathname === location.pathname) {
      history.replaceState(state, unused, url);
      return;
    }
    isOpening = pathname !== location.pathname;
    push(state, unused, url);
  };
  new MutationObserver(() => {
    if (app.getAttribute("data-test-script-state") === "notRunning") endOpening();
  }).observe(app, { attributeFilter: ["data-test-script-state"] });
  for (const name of ["pointerdown", "keydown"]) document.addEventListener(name, endOpening, true);
}
