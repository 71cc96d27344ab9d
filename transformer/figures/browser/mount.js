// A view on a page of the app, as Streamlit's components of the second kind import one: the default
// export of the joined script is called for every new content.

export const LED = "heads-up-led"; // an event with an address's parameters: draw this at once; cancelled by who did; null: say no more

// `make(place, report, setState)` makes the view; `report(choice)` is an event, heard even if the same
// is chosen again, `setState(state)` what lasts until it is another.
export function mounted(make) {
  const views = new WeakMap(); // one for each place in the page, kept from call to call
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const report = (choice) => setTriggerValue("choice", choice);
      views.set(parentElement, make(parentElement, report, (state) => setStateValue("state", state)));
    }
    const view = views.get(parentElement);
    if (data) view.show(data);
    return () => view.close();
  };
}
