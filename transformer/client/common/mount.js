// Mounts a view on a page of the app, as a Streamlit component (v2): the default export of the joined script is
// called for new content.

const LINK_CHECK_MS = 20;
const QUEUE = Symbol.for("heads-up-message-queue"); // property of the document that all views share

let leftPath = ""; // of the page that a clicked link leaves, until another page is shown or the link has failed
let linkResult = null; // observer of Streamlit's state

// Whether the visitor has clicked a link to a page that is not open yet. A value sent now would rerun the page being
// left, and the visitor would return to it.
export const isOpeningPage = () => leftPath !== "" && leftPath === location.pathname;

function noteLink({ target, ctrlKey, metaKey, shiftKey }) {
  const link = target instanceof Element && target.closest("a");
  if (!link || link.target || link.download || link.origin !== location.origin || ctrlKey || metaKey || shiftKey) {
    return;
  }
  const app = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stApp]"));
  if (!app) return;
  leftPath = link.pathname === location.pathname ? "" : location.pathname;
  linkResult ??= new MutationObserver(() => {
    const { testConnectionState, testScriptState } = app.dataset;
    const hasEnded = testConnectionState !== "CONNECTED" || testScriptState === "notRunning";
    if (hasEnded || !isOpeningPage()) forgetLink();
  });
  linkResult.observe(app, { attributeFilter: ["data-test-connection-state", "data-test-script-state"] });
}

// A run may end so soon that Streamlit's state never changes. After a step in the history nobody waits for a link.
function forgetLink() {
  leftPath = "";
}

// `makeView(container, report, setState)` creates the view. `report(choice)` sends an event, even if equal to the last
// one; `setState(state)` sets a value that is kept between reruns.
export function streamlitComponent(makeView) {
  document.addEventListener("click", noteLink, true);
  addEventListener("popstate", forgetLink);
  const views = new WeakMap(); // by the element that contains the view, kept between calls
  return ({ data, parentElement, setStateValue, setTriggerValue }) => {
    if (!views.has(parentElement)) {
      const setters = {};
      const report = (choice) => inOwnMessage(() => setters.trigger("choice", choice));
      const setState = (state) => inOwnMessage(() => setters.state("state", state));
      views.set(parentElement, { view: makeView(parentElement, report, setState), setters });
    }
    const { view, setters } = views.get(parentElement);
    // New with each call, since they refer to the fragment that contains the view, which may have changed.
    Object.assign(setters, { state: setStateValue, trigger: setTriggerValue });
    if (data) view.show(data);
    return () => view.close();
  };
}

// Call `send` so that its value gets a message of its own. Streamlit puts all values set within one task of the
// event loop into one message, which reruns only the first view's fragment. It sends messages in a timer: the
// timer before `send` lets a button's value go first, the timer after it delays the next view until this message
// is sent. A value of a page that has been left is dropped.
function inOwnMessage(send) {
  const path = location.pathname;
  const sendAlone = () =>
    new Promise((resolve) => {
      setTimeout(function sendOnOpenPage() {
        if (isOpeningPage()) {
          setTimeout(sendOnOpenPage, LINK_CHECK_MS);
          return;
        }
        try {
          if (location.pathname === path) send();
        } finally {
          setTimeout(resolve);
        }
      });
    });
  document[QUEUE] = (document[QUEUE] || Promise.resolve()).then(sendAlone);
}
