// Mounts a view on a page of the app, as a Streamlit component (v2): the default export of the joined script is
// called for new content.

// `makeView(container, report)` creates the view. `report(choice)` sends an event, even if equal to the last one.
export function streamlitComponent(makeView) {
  const views = new WeakMap(); // by the element that contains the view, kept between calls
  return ({ data, parentElement, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const mounted = { view: null, send: setTriggerValue };
      mounted.view = makeView(parentElement, (choice) => mounted.send("choice", choice));
      views.set(parentElement, mounted);
    }
    const mounted = views.get(parentElement);
    mounted.send = setTriggerValue; // new with each call, since it refers to the fragment that contains the view
    if (data) mounted.view.show(data);
    return () => mounted.view.close();
  };
}
