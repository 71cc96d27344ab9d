// The visitor's answers to lessons, kept in this browser by the key of the question (`lessonAbout`).

const KEY = "heads-up-lessons";
const MAX_GUESSES = 100;
const MAX_LABEL = 500; // characters

/**
 * `label` is that of the chosen option, "" if the answer was to be found on the page; `answered`: false if the visitor
 * had the answer shown instead; `right`: whether the first answer was right; `revealed`: whether the answer may be shown;
 * `group`: code of the class in which it was given, "" outside of one.
 * @typedef {{ label: string, answered: boolean, right: boolean, revealed: boolean, group: string }} Guess
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

  /** @param {string} name @param {Guess} guess */
  function store(name, guess) {
    const { [name]: _, ...others } = all();
    write(Object.fromEntries([...Object.entries(others).slice(1 - MAX_GUESSES), [name, guess]]));
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
      const previous = this.of(name);
      store(name, { label, answered: true, right: right && (previous?.right ?? true), revealed, group });
    },
    // The visitor has the answer shown.
    /** @param {string} name */
    giveUp(name) {
      const answered = this.of(name)?.answered ?? false;
      store(name, { label: "", answered, right: false, revealed: true, group: "" });
    },
    reset: () => write({}),
    // How many of these lessons are done, answered, and right at the first attempt.
    /** @param {Lesson[]} lessons */
    count(lessons) {
      const guesses = all();
      const done = lessons.filter(({ name }) => guesses[name]?.revealed);
      const [answered, right] = ["answered", "right"].map((key) =>
        done.filter(({ name }) => guesses[name][key]).length
      );
      return { done: done.length, answered, right };
    },
  };
}

// Those of the stored entries that are guesses.
/** @param {unknown} stored @returns {Record<string, Guess>} */
function readGuesses(stored) {
  const entries = Object.entries(stored && typeof stored === "object" ? stored : {}).filter(([name, guess]) =>
    /^[a-z0-9]{1,20}(: .{1,200})?$/u.test(name) && typeof guess?.label === "string"
  );
  const guesses = entries.slice(-MAX_GUESSES).map(([name, { label, answered, right, revealed, group }]) => [
    name,
    {
      label: label.slice(0, MAX_LABEL),
      answered: answered === true,
      right: right === true,
      revealed: revealed === true,
      group: typeof group === "string" ? group.slice(0, 40) : "",
    },
  ]);
  return Object.fromEntries(guesses);
}
