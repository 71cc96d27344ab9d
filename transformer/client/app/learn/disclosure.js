// What a visitor may see of a lesson. In a class, answers are sealed until the teacher shows them.

/**
 * @param {{ guesses: ReturnType<typeof import("./guesses.js").makeGuesses>,
 *   getClass: () => import("./class-answers.js").ClassState | null, lessonNamed: (name: string) => Lesson | undefined }} context
 */
export function makeDisclosure({ guesses, getClass, lessonNamed }) {
  const isShown = (name) => Boolean(getClass()?.answers[name]?.shown);
  const isInPlace = (name) => Boolean(lessonNamed(name)?.in_place);

  // A guess; of a student who is led, only one that this class has: an earlier group may have used this browser, and a
  // message may be lost. What is to be found on a page is not part of the class.
  /** @param {string} name */
  function guessOf(name) {
    const [guess, group] = [guesses.of(name), getClass()];
    const counts = !group?.led || isInPlace(name) || (guess?.group === group.code && group.answers[name]?.answered);
    return counts ? guess : null;
  }

  // Whether a student's answer waits until the teacher shows all of them.
  /** @param {string} name */
  const isSealed = (name) => Boolean(getClass()?.led) && !isInPlace(name) && !isShown(name);

  /** @param {string} name */
  function isRevealed(name) {
    const [guess, group] = [guessOf(name), getClass()];
    if (group?.teaches) return isShown(name); // the class sees the teacher's screen
    if (group?.led && isShown(name)) return true;
    return Boolean(guess && (guess.revealed || (guess.label && !isSealed(name))));
  }

  return { guessOf, isSealed, isShown, isRevealed };
}
