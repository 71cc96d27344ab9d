// A view on a page of the app, as Streamlit's components of the second kind import one: the default
// export of the joined script is called for every new content.

export const LED = "heads-up-led"; // an event with an address's parameters: draw this at once; cancelled by who did; null: say no more
const TURN = Symbol.for("heads-up-turn"); // of the document, which all views share

// `make(place, report, setState)` makes the view; `report(choice)` is an event, heard even if the same
// is chosen again, `setState(state)` what lasts until it is another.
export function mounted(make) {
  const views = new WeakMap(); // one for each place in the page, kept from call to call
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const tell = {};
      const report = (choice) => inTurn(() => tell.trigger("choice", choice));
      const setState = (state) => inTurn(() => tell.state("state", state));
      views.set(parentElement, { view: make(parentElement, report, setState), tell });
    }
    const { view, tell } = views.get(parentElement);
    // Each call's own: they name the fragment that the view stands in, which may be another by now.
    Object.assign(tell, { state: setStateValue, trigger: setTriggerValue });
    if (data) view.show(data);
    return () => view.close();
  };
}

// What is said within one turn of the browser, Streamlit sends as one message, which draws the fragment
// of the first who spoke and nothing of the others'. It sends in a timer: one of our own before `say` lets
// what a button has said go first, one after it keeps the next view waiting until this is sent.
function inTurn(say) {
  const said = () =>
    new Promise((sent) => {
      setTimeout(() => {
        try {
          say();
        } finally {
          setTimeout(sent);
        }
      });
    });
  document[TURN] = (document[TURN] || Promise.resolve()).then(said);
}
