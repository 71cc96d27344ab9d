// Disables the page after a reconnect until Streamlit has rerun it. The server may have begun a new session, in
// which a widget that is not drawn yet loses what it sends.

const MAX_RERUN_WAIT_MS = 10000; // until the page is enabled even if no rerun has begun

// Returns a function that stops observing the connection.
export function disableAfterReconnect() {
  const app = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stApp]"));
  if (!app) return () => {};
  let [phase, timer] = ["connected", 0];
  const observer = new MutationObserver(() =>
    setPhase(nextPhase(phase, app.dataset.testConnectionState, app.dataset.testScriptState))
  );
  observer.observe(app, { attributeFilter: ["data-test-connection-state", "data-test-script-state"] });

  function setPhase(newPhase) {
    if (newPhase === phase) return;
    clearTimeout(timer);
    phase = newPhase;
    document.querySelector(".stMain")?.toggleAttribute("inert", ["waiting", "rerunning"].includes(phase));
    if (phase === "waiting") timer = setTimeout(() => setPhase("connected"), MAX_RERUN_WAIT_MS);
  }

  return () => {
    observer.disconnect();
    setPhase("connected");
  };
}

// The phase that follows: "connected", "offline", "waiting" for the rerun after a reconnect, or "rerunning".
export function nextPhase(phase, connectionState, scriptState) {
  if (connectionState !== "CONNECTED") return "offline";
  if (phase === "connected") return phase;
  if (scriptState === "running") return "rerunning";
  return phase === "rerunning" ? "connected" : "waiting";
}
