// Mounts a view on a page of the app, as a Streamlit component (v2): the default export of the joined script is
// called for new content.

export const LED_EVENT = "heads-up-led"; // event with an address's parameters to draw at once. The view that handles it cancels the event; null stops pending reports
const TURN = Symbol.for("heads-up-turn"); // property of the document that all views share

// `make(place, report, setState)` creates the view. `report(choice)` sends an event, even if equal to the last
// one; `setState(state)` sets a value that lasts.
export function mounted(make) {
  const views = new WeakMap(); // one per place in the page, kept between calls
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const tell = {};
      const report = (choice) => inOwnMessage(() => tell.trigger("choice", choice));
      const setState = (state) => inOwnMessage(() => tell.state("state", state));
      views.set(parentElement, { view: make(parentElement, report, setState), tell });
    }
    const { view, tell } = views.get(parentElement);
    // New with each call, since they refer to the fragment that contains the view, which may have changed.
    Object.assign(tell, { state: setStateValue, trigger: setTriggerValue });
    if (data) view.show(data);
    return () => view.close();
  };
}

// Streamlit sends everything that is set within one task of the event loop as one message, which reruns only
// the first view's fragment. It sends in a timer: a timer before `say` lets a button's value go first, a timer
// after it holds back the next view until this message is sent.
function inOwnMessage(say) {
  const sendAlone = () =>
    new Promise((sent) => {
      setTimeout(() => {
        try {
          say();
        } finally {
          setTimeout(sent);
        }
      });
    });
  document[TURN] = (document[TURN] || Promise.resolve()).then(sendAlone);
}
