// Mounts a view on a page of the app, as a Streamlit component (v2): the default export of the joined script is
// called for new content.

const LEAVING = Symbol.for("heads-up-leaving"); // property of the document: the address that is being left
const MAX_LEAVING_MS = 5000; // until a page counts as not left

// Note that another page was asked for: a choice that is sent now would bring the visitor back.
export function noteLeaving() {
  const left = (document[LEAVING] = location.href);
  setTimeout(() => document[LEAVING] === left && delete document[LEAVING], MAX_LEAVING_MS);
}

// `makeView(container, report)` creates the view. `report(choice)` sends an event, even if equal to the last one.
export function streamlitComponent(makeView) {
  const views = new WeakMap(); // by the element that contains the view, kept between calls
  return ({ data, parentElement, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const mounted = { view: null, send: setTriggerValue };
      mounted.view = makeView(parentElement, (choice) => isLeaving() || mounted.send("choice", choice));
      views.set(parentElement, mounted);
    }
    const mounted = views.get(parentElement);
    mounted.send = setTriggerValue; // new with each call, since it refers to the fragment that contains the view
    if (data) mounted.view.show(data);
    return () => mounted.view.close();
  };
}

const isLeaving = () => document[LEAVING] === location.href;
