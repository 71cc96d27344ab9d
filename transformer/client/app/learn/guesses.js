// The visitor's answers to lessons, kept in this browser.

const KEY = "heads-up-lessons";
const MAX_GUESSES = 100;
const MAX_LABEL = 500; // characters

/**
 * `label` is that of the chosen option, "" if the answer was found on the page or the visitor gave up; `right`: whether
 * the first answer was right; `revealed`: whether the answer may be shown; `group`: code of the class in which it was
 * given, "" outside of one.
 * @typedef {{ label: string, right: boolean, revealed: boolean, group: string }} Guess
 */

/** @param {Pick<Storage, "getItem" | "setItem">} [storage] */
export function makeGuesses(storage) {
  /** @type {Record<string, Guess>} */
  let unstored = {}; // if the browser stores nothing

  /** @returns {Record<string, Guess>} */
  function all() {
    try {
      return readGuesses(JSON.parse((storage ?? localStorage).getItem(KEY) ?? "null") ?? unstored);
    } catch {
      return unstored;
    }
  }

  function write(guesses) {
    unstored = guesses;
    try {
      (storage ?? localStorage).setItem(KEY, JSON.stringify(guesses));
    } catch { /* switched off or full: kept until the page is closed */ }
  }

  return {
    /** @param {string} name @returns {Guess | null} */
    of(name) {
      const guesses = all();
      return Object.hasOwn(guesses, name) ? guesses[name] : null;
    },
    // Keep an answer. It counts as right only if no earlier one was wrong.
    /** @param {string} name @param {Partial<Guess>} answer */
    keep(name, { label = "", right = false, revealed = true, group = "" }) {
      const { [name]: previous, ...others } = all();
      const guess = { label, right: right && (previous?.right ?? true), revealed, group };
      write(Object.fromEntries([...Object.entries(others).slice(1 - MAX_GUESSES), [name, guess]]));
    },
    reset: () => write({}),
    // How many of these lessons are done, and how many were right at the first attempt.
    /** @param {Lesson[]} lessons */
    count(lessons) {
      const guesses = all();
      const done = lessons.filter(({ name }) => guesses[name]?.revealed);
      return { done: done.length, right: done.filter(({ name }) => guesses[name].right).length };
    },
  };
}

// Those of the stored entries that are guesses.
/** @param {unknown} stored @returns {Record<string, Guess>} */
function readGuesses(stored) {
  const entries = Object.entries(stored && typeof stored === "object" ? stored : {}).filter(([name, guess]) =>
    /^[a-z0-9]{1,20}$/.test(name) && typeof guess?.label === "string"
  );
  const guesses = entries.slice(-MAX_GUESSES).map(([name, { label, right, revealed, group }]) => [
    name,
    {
      label: label.slice(0, MAX_LABEL),
      right: right === true,
      revealed: revealed === true,
      group: typeof group === "string" ? group.slice(0, 40) : "",
    },
  ]);
  return Object.fromEntries(guesses);
}
