// The status line of a class, and the connection that receives the teacher's view from the server. Another head
// of the same sentence is drawn at once; any other change requests a rerun of the page, in which the server draws
// it.

import { splitAddress } from "../../common/address.js";
import { el } from "../../common/base.js";
import { isOpeningPage, TEACHER_VIEW_EVENT } from "../../common/mount.js";

const CLASS_OVER_CODE = 4001; // close code of class_updates.py: no more messages will come
const RERUN_WAIT_MS = 150; // ms to wait for a rerun that may already be under way
const LOST_RERUN_MS = 10_000; // ms after which a requested rerun counts as lost
const RETRY_MS = [500, 5000]; // ms until reconnecting: initial and maximum delay

export function classroomView(root, report) {
  const message = el("span", { role: "status" });
  const dot = el("i", { "aria-hidden": "true" });
  const node = el("p", { class: "hu hu-class-status" }, dot, message);
  root.append(node);
  let [view, classMessage, socket, reconnectTimer, requestTimer, retryDelay] = [null, null, null, 0, 0, RETRY_MS[0]];

  function connect() {
    const url = splitAddress(location.href, view.pages).base.replace(/^http/, "ws").replace(/\/$/, "") + view.path;
    socket = new WebSocket(url);
    socket.addEventListener("message", (event) => {
      if (event.target !== socket) return;
      retryDelay = RETRY_MS[0];
      classMessage = JSON.parse(event.data);
      update();
    });
    socket.addEventListener("close", ({ code, target }) => {
      if (target !== socket) return; // an outdated connection
      if (code === CLASS_OVER_CODE) return report({});
      reconnectTimer = setTimeout(connect, retryDelay * (1 + Math.random()));
      retryDelay = Math.min(2 * retryDelay, RETRY_MS[1]);
    });
  }

  function update() {
    message.textContent = fillNumbers(view.text, classMessage || {});
    // One request at a time, as a rerun draws all changes until then, perhaps on another page: a second request from
    // this page would look like a return to it.
    if (!classMessage || requestTimer) return;
    if (view.teaches) {
      // The teacher has asked, closed or shown a question, or has begun or stopped leading, in another tab.
      if (classMessage.state === view.state && classMessage.questions === view.questions) return;
      requestTimer = setTimeout(requestRerun, RERUN_WAIT_MS);
      return;
    }
    const follows = classMessage.state === "follows";
    const isUnchanged = ["shown", "leads", "questions"].every((name) => classMessage[name] === view[name]);
    if (classMessage.state === view.state && isUnchanged) {
      if (!follows || classMessage.number === view.number) return;
      if (onlyHeadDiffers(view, classMessage) && drawTeacherView(classMessage.params)) {
        Object.assign(view, { number: classMessage.number, params: classMessage.params });
        return;
      }
    }
    const stateChanged = classMessage.state !== view.state && view.state !== "alone";
    requestTimer = setTimeout(requestRerun, stateChanged ? RERUN_WAIT_MS : 0);
  }

  function requestRerun() {
    if (isOpeningPage()) {
      requestTimer = setTimeout(requestRerun, RERUN_WAIT_MS); // show() of the new page cancels this
      return;
    }
    requestTimer = setTimeout(forgetRequest, LOST_RERUN_MS);
    drawTeacherView(null); // stops pending reports of the explorer
    report({});
  }

  function forgetRequest() {
    clearTimeout(requestTimer);
    requestTimer = 0;
    update();
  }

  function show(data) {
    view = { ...data };
    node.dataset.state = view.state;
    if (!socket) connect();
    forgetRequest();
  }

  function close() {
    const oldSocket = socket;
    socket = null;
    clearTimeout(reconnectTimer);
    clearTimeout(requestTimer);
    // Do not close a connection that is still opening: that logs an error in the console.
    if (oldSocket?.readyState === WebSocket.CONNECTING) oldSocket.addEventListener("open", () => oldSocket.close());
    else oldSocket?.close();
  }

  return { show, close };
}

// Whether the teacher's view differs only in fields of the explorer, which can draw it from the data it has.
export function onlyHeadDiffers(view, { page, params }) {
  const otherParams = (all) =>
    JSON.stringify(Object.entries(all).filter(([name]) => !view.explorer_fields.includes(name)).sort());
  return page === view.page && "layer" in params && "head" in params &&
    otherParams(params) === otherParams(view.params);
}

// The text with the message's numbers filled in; "…" while there are none.
export const fillNumbers = (text, classMessage) =>
  text.replace(/\{(\w+)\}/g, (_, name) => String(classMessage[name] ?? "…"));

// Ask the views on this page to draw the teacher's view; returns whether one has.
const drawTeacherView = (params) =>
  !document.dispatchEvent(new CustomEvent(TEACHER_VIEW_EVENT, { detail: params, cancelable: true }));
