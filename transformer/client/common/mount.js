// Mounts a view on a page of the app, as a Streamlit component (v2): the default export of the joined script is
// called for new content.

const LEAVING = Symbol.for("heads-up-leaving"); // property of the document: since when a page is being left
const MAX_LEAVING_MS = 5000; // until it counts as not left
const LEAVING_CHECK_MS = 50;

// Note that another page was asked for. A choice that was sent now would bring the visitor back, so it waits until its view
// is closed, or drawn again, or the page is not left after all.
export function noteLeaving() {
  document[LEAVING] = performance.now();
}

// `makeView(container, report, reportAlways)` creates the view. `report(choice)` sends an event, even if equal to the last
// one; `reportAlways(choice)` sends it also while the page is being left.
export function streamlitComponent(makeView) {
  const views = new WeakMap(); // by the element that contains the view, kept between calls
  return ({ data, parentElement, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const mounted = { view: null, send: setTriggerValue, shownAt: 0, isClosed: false };
      const reportAlways = (choice) => mounted.send("choice", choice);
      const report = (choice) => {
        if (mounted.isClosed) return;
        if (isLeaving(mounted.shownAt)) setTimeout(() => report(choice), LEAVING_CHECK_MS);
        else reportAlways(choice);
      };
      mounted.view = makeView(parentElement, report, reportAlways);
      views.set(parentElement, mounted);
    }
    const mounted = views.get(parentElement);
    mounted.shownAt = performance.now();
    mounted.send = setTriggerValue; // new with each call, since it refers to the fragment that contains the view
    if (data) mounted.view.show(data);
    return () => {
      mounted.isClosed = true;
      mounted.view.close();
    };
  };
}

// Whether a view is on a page that is being left.
/** @param {number} shownAt when it was drawn */
function isLeaving(shownAt) {
  const since = document[LEAVING] ?? 0;
  return since > shownAt && performance.now() - since < MAX_LEAVING_MS;
}
