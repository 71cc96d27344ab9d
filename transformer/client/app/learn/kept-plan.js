// The plan that a visitor has opened in this tab, to return to it from a lesson.

const PLAN_KEY = "heads-up-plan";

// The plan as its link has it, or "".
export function keptPlan() {
  try {
    return sessionStorage.getItem(PLAN_KEY) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} code */
export function keepPlan(code) {
  try {
    sessionStorage.setItem(PLAN_KEY, code);
  } catch { /* the browser's way back leads to the plan, too */ }
}
