// The card of the open lesson, which the field `lesson` of the address names: its question, the options, the answer, and
// the way through the course.

import { button, el, replaceChanged } from "../../common/base.js";
import { markdownNodes } from "../../common/inline-markdown.js";
import { openPlace } from "../../common/open.js";
import { fill } from "../../common/sentences.js";
import { lessonPicture } from "./lesson-picture.js";
import { scrollToFigure } from "./see-it.js";
import { checkPlace, LEARN, needsOpening, placeOf, prepareLesson, questionPage } from "./lesson-places.js";

const UNKNOWN = "There is no lesson “{name}”. The first lesson is “{first}”.";
const OTHER_MODEL =
  "This lesson uses the model {model}, because the chosen model does not show the effect: {reason}. Other lessons open with the chosen model again.";
const NOT_SHOWN = "No model here shows this: {reason}.";
const FIND = "Find the answer on this page, then press *Check*.";
const ELSEWHERE = "The page now shows something else. Press *Back to the lesson* first.";
const WAITING = "Your answer: **{label}**. {teacher} will show all answers.";
const [OPEN_ATTEMPTS, OPEN_PAUSE_MS] = [100, 100];
const OTHER_MODEL_KEY = "heads-up-lesson-model"; // in the session: the visitor's model, while a lesson uses another one

let hasOpenedPlace = false; // whether this document has shown a place; only its first one may be a link to an answer

/** @typedef {import("./lesson-places.js").PreparedLesson} PreparedLesson */
/**
 * @param {HTMLElement} container
 * @param {{ ask: Engine["ask"], place: () => import("../../common/open.js").Place, getClass?: () => import("./class-answers.js").ClassState | null,
 *   guesses: ReturnType<typeof import("./guesses.js").makeGuesses>, onVisible?: (isVisible: boolean) => void }} context
 */
export function lessonCard(container, context) {
  const { ask, guesses, onVisible = () => {} } = context;
  const getClass = context.getClass ?? (() => null);
  const node = el("section", { class: "hu-lesson", "aria-label": "Lesson", hidden: "" });
  container.append(node);
  /** @type {Map<string, Promise<PreparedLesson | null>>} */
  const preparing = new Map(); // by lesson, model and how tokens are named
  /** @type {Map<string, PreparedLesson>} */
  const prepared = new Map();
  /** @type {Course | null} */
  let course = null;
  let firstModel = "";
  /** @type {[boolean, string] | null} */
  let verdict = null; // of the last check
  let [drawnKey, drawnState, awaitedAnswers] = ["", "", ""];

  const lessonNamed = (name) => course?.lessons.find((each) => each.name === name);
  const isShown = (name) => Boolean(getClass()?.answers[name]?.shown);

  // A guess; of a student who is led, only one that this class has: an earlier group may have used this browser, and a
  // message may be lost. What is to be found on a page is not part of the class.
  function guessOf(name) {
    const [guess, group] = [guesses.of(name), getClass()];
    const counts = !group?.led || lessonNamed(name)?.in_place ||
      (guess?.group === group.code && group.answers[name]?.answered);
    return counts ? guess : null;
  }

  // Whether a student's answer waits until the teacher shows all of them.
  const isSealed = (name) => Boolean(getClass()?.led) && !lessonNamed(name)?.in_place && !isShown(name);

  function isRevealed(name) {
    const [guess, group] = [guessOf(name), getClass()];
    if (group?.teaches) return isShown(name); // the class sees the teacher's screen
    if (group?.led && isShown(name)) return true;
    return Boolean(guess && (guess.revealed || (guess.label && !isSealed(name))));
  }

  async function load() {
    course ??= await ask("lessons");
    firstModel ||= Object.keys((await ask("models")).models)[0] ?? "";
  }

  // The lesson's question, requested once; null if a request for another lesson has replaced this one.
  /** @param {Lesson} lesson @param {string} model @param {boolean} exact */
  function prepare(lesson, model, exact) {
    const key = keyOf(lesson.name, model, exact);
    if (!preparing.has(key)) {
      const ready = prepareLesson(ask, lesson, model, exact).then((result) => {
        if (result) prepared.set(key, result);
        return result;
      }).finally(() => prepared.has(key) || preparing.delete(key));
      preparing.set(key, ready);
    }
    return preparing.get(key);
  }

  async function draw() {
    const place = context.place();
    const name = place.params.lesson ?? "";
    const isFirst = !hasOpenedPlace;
    hasOpenedPlace = true;
    if (!name) return hide();
    await load();
    if (name !== context.place().params.lesson) return; // a newer place
    if (name === course.end) return hide();
    const lesson = lessonNamed(name);
    node.hidden = false;
    onVisible(true);
    if (!lesson) {
      drawnState = "";
      return node.replaceChildren(el("p", { role: "alert" }, fill(UNKNOWN, { name, first: course.lessons[0].name })));
    }
    const { model = firstModel, exact } = place.params;
    const key = keyOf(name, model, exact === "1");
    if (key !== drawnKey) [drawnKey, verdict] = [key, null];
    if (isFirst && !isRevealed(name) && place.page === lesson.page && place.page !== questionPage(lesson)) {
      return openSoon(LEARN, { lesson: name, ...(place.params.model ? { model } : {}) });
    }
    if (!prepared.has(key)) {
      render(lesson, place, null);
      await prepare(lesson, model, exact === "1");
      if (key !== drawnKey || !prepared.has(key)) return; // a newer request
    }
    if (isFirst && needsOpening(lesson, place, isRevealed(name))) return open(lesson, prepared.get(key));
    const guess = guessOf(name);
    if (guess && !guess.revealed && guess.label && isRevealed(name)) guesses.keep(name, { ...guess, revealed: true });
    if (awaitedAnswers === name && isRevealed(name)) {
      awaitedAnswers = "";
      return open(lesson, prepared.get(key));
    }
    render(lesson, context.place(), prepared.get(key));
  }

  // Show the answers to the class, and what the lesson shows once the news of it have come.
  function showToClass(name) {
    if (getClass().send({ show: name })) awaitedAnswers = name;
  }

  function hide() {
    node.hidden = true;
    drawnState = "";
    node.replaceChildren();
    onVisible(false);
  }

  // Draw the card if something on it has changed. What stays equal keeps its focus, and a click that has begun.
  /** @param {Lesson} lesson @param {import("../../common/open.js").Place} place @param {PreparedLesson | null} ready */
  function render(lesson, place, ready) {
    const { name } = lesson;
    const isElsewhere = elsewhere(lesson, place, ready);
    const state = JSON.stringify([
      drawnKey,
      place.page,
      Boolean(ready),
      isElsewhere,
      verdict,
      guessOf(name),
      getClass(),
    ]);
    if (state === drawnState) return;
    const isSameQuestion = drawnState && JSON.parse(drawnState)[0] === drawnKey;
    drawnState = state;
    const isDone = isRevealed(name);
    const question = ready?.question ?? null;
    const isSearch = question !== null && !question.options.length;
    const asks = !isDone || !question;
    const parts = [
      header(lesson),
      ...modelNote(lesson, ready),
      ...(asks ? questionNodes(lesson, question, place.page === LEARN, false) : []),
      ...(ready && !question ? [note("hu-lesson-note", fill(NOT_SHOWN, { reason: ready.reason }))] : []),
      ...(question && isSearch ? searchNodes(lesson, question, ready) : []),
      ...(question && !isSearch ? choiceNodes(lesson, question, ready) : []),
      ...(question && isDone ? answerNodes(lesson, question, place.page === LEARN) : []),
      navigation(lesson, place, ready, isElsewhere),
      ...(question && isDone ? [again(lesson, question)] : []),
    ];
    if (isSameQuestion) replaceChanged(node, parts);
    else node.replaceChildren(...parts);
  }

  /** @param {Lesson} lesson */
  function header(lesson) {
    const group = groupOf(lesson);
    const { done, right } = guesses.count(group);
    const number = group.indexOf(lesson) + 1;
    const count = fill(lesson.extra ? "Extra lesson {number} of {count}" : "Lesson {number} of {count}", {
      number,
      count: group.length,
    });
    return el(
      "header",
      {},
      el("p", { class: "hu-label" }, done ? `${count} · ${rightAnswers(right, done)}` : count),
      el("progress", { max: group.length, value: done, "aria-label": "Lessons done" }),
      el("h2", {}, lesson.title, lesson.section ? el("small", {}, ` Paper, section ${lesson.section}`) : null),
    );
  }

  // The model of the lesson if it is not the visitor's. It is remembered, for the lessons that follow.
  /** @param {Lesson} lesson @param {PreparedLesson | null} ready */
  function modelNote(lesson, ready) {
    if (!ready?.question || lesson.task) return [];
    const replaced = readReplaced();
    const { reason } = ready.reason ? ready : replaced?.lesson === lesson.name ? replaced : { reason: "" };
    return reason ? [el("p", { class: "hu-note" }, fill(OTHER_MODEL, { model: ready.label, reason }))] : [];
  }

  // The introduction and the question.
  /** @param {Lesson} lesson @param {Question | null} question */
  function questionNodes(lesson, question, withPicture, answered) {
    return [
      ...(withPicture && question?.picture ? [lessonPicture(question.picture, answered)] : []),
      note("", lesson.text),
      ...(lesson.misprint ? [el("blockquote", {}, ...markdownNodes(`Misprint: ${lesson.misprint}`))] : []),
      ...(question?.exhibit ? [note("hu-lesson-exhibit", question.exhibit)] : []),
      note("hu-lesson-question", lesson.question),
      ...(lesson.in_place ? [note("", FIND)] : []),
    ];
  }

  // The options; in a class what has become of the answer.
  /** @param {Lesson} lesson @param {Question} question @param {PreparedLesson} ready */
  function choiceNodes(lesson, question, ready) {
    const [{ name }, group, guess] = [lesson, getClass(), guessOf(lesson.name)];
    if (isRevealed(name)) return isShown(name) ? bars(question, group.answers[name].counts) : [];
    if (group?.teaches) {
      return [
        el("ul", {}, ...question.options.map(({ label }) => el("li", {}, ...markdownNodes(label)))),
        note(
          "",
          fill("{count} of {members} answered", { count: group.answers[name]?.count ?? 0, members: group.members }),
        ),
        button("Show the answers", () => showToClass(name), { class: "hu-button hu-primary" }),
      ];
    }
    if (guess && isSealed(name)) {
      const teacher = group.teacher.charAt(0).toUpperCase() + group.teacher.slice(1);
      return [note("hu-lesson-note", fill(WAITING, { label: guess.label, teacher }))];
    }
    const choose = ({ label }, number) => {
      const group = getClass(); // now, as this button may be older than the last news
      group?.send({ answer: { lesson: name, option: number } });
      const revealed = !isSealed(name);
      guesses.keep(name, { label, right: number === question.correct, revealed, group: group?.code });
      if (revealed) open(lesson, ready); // else the news of the class draw the card
    };
    const options = question.options.map((each, n) =>
      button(markdownNodes(each.label), () => choose(each, n), { class: "hu-button hu-lesson-option" })
    );
    return [el("div", { class: "hu-lesson-options" }, ...options)];
  }

  // The buttons of a question whose answer is to be found on the page.
  /** @param {Lesson} lesson @param {Question} question @param {PreparedLesson} ready */
  function searchNodes(lesson, question, ready) {
    const { name } = lesson;
    const isDone = isRevealed(name);
    const check = async () => {
      const place = context.place();
      verdict = place.page === lesson.page && place.params.text === ready.text
        ? await checkPlace(ask, question, ready, place.params)
        : [false, ELSEWHERE];
      guesses.keep(name, { right: verdict[0], revealed: verdict[0] || isDone });
      draw();
    };
    const giveUp = () => {
      if (getClass()?.teaches) return showToClass(name);
      guesses.keep(name, {});
      open(lesson, ready);
    };
    return [
      el(
        "div",
        { class: "hu-line" },
        button("Check", check, { class: `hu-button${isDone ? "" : " hu-primary"}` }),
        ...(isDone ? [] : [button("Show the answer", giveUp)]),
      ),
      ...(verdict ? [note("hu-lesson-verdict", verdict[0] ? `**Correct.** ${verdict[1]}` : verdict[1], "status")] : []),
    ];
  }

  // Whether the guess was right, and the answer. A guess that is none of the options, because it was made about another
  // model, is not judged.
  /** @param {Lesson} lesson @param {Question} question */
  function answerNodes(lesson, question, withPicture) {
    const label = guessOf(lesson.name)?.label ?? "";
    const chosen = question.options.find((each) => each.label === label);
    const isRight = chosen !== undefined && chosen === question.options[question.correct];
    const start = isRight
      ? "**Correct.** "
      : chosen
      ? `${fill("**Not quite. You chose: {label}.** {feedback}", chosen)} `
      : "";
    const train = button("Train such a model in this tab →", () => openPlace("train", { here: `task=${lesson.task}` }));
    return [
      ...(withPicture && question.picture ? [lessonPicture(question.picture, true)] : []),
      note(`hu-lesson-answer${isRight ? " hu-right" : ""}`, start + question.answer, "status"),
      ...(lesson.task ? [train] : []),
    ];
  }

  /** @param {Lesson} lesson @param {Question} question */
  function again(lesson, question) {
    const label = guessOf(lesson.name)?.label;
    const items = question.options.map((each, n) =>
      el(
        "li",
        {},
        n === question.correct ? "✓ " : "– ",
        ...markdownNodes(each.label),
        ...(label === each.label ? [" ← your answer"] : []),
      )
    );
    return el(
      "details",
      {},
      el("summary", {}, "Show the question again"),
      ...questionNodes(lesson, question, true, true),
      el("ul", { class: "hu-lesson-marked" }, ...items),
    );
  }

  // Buttons to the lesson's own page, its neighbours and the list.
  /** @param {Lesson} lesson @param {import("../../common/open.js").Place} place @param {PreparedLesson | null} ready */
  function navigation(lesson, place, ready, isElsewhere) {
    const lessons = groupOf(lesson);
    const at = lessons.indexOf(lesson);
    const [before, after] = [lessons[at - 1], lessons[at + 1]];
    const isDone = isRevealed(lesson.name);
    const finished = ready && (isDone || !ready.question) && !isElsewhere;
    const nextLabel = after ? finished ? "Next →" : "Skip →" : "Finish →";
    const ownLabel = isDone && place.page === LEARN ? "Show the page →" : "Back to the lesson";
    const close = () => {
      const { lesson: _, ...params } = context.place().params;
      openPlace(context.place().page, params);
    };
    return el(
      "nav",
      { class: "hu-line hu-lesson-way", "aria-label": "Lessons" },
      ...(isElsewhere && ready?.question
        ? [button(ownLabel, () => open(lesson, ready), { class: "hu-button hu-primary" })]
        : []),
      ...(before ? [button("← Previous", () => openLesson(before.name))] : []),
      button(nextLabel, () => openLesson(after ? after.name : course.end), {
        class: `hu-button hu-lesson-next${finished ? " hu-primary" : ""}`,
      }),
      ...(place.page === LEARN ? [] : [
        link("All lessons", () => openLesson("")),
        button("See it ↓", scrollToFigure, { class: "hu-link-text hu-lesson-see" }),
      ]),
      link("Close", close),
    );
  }

  // Whether another page than the lesson's, or another sentence, is open.
  /** @param {Lesson} lesson @param {import("../../common/open.js").Place} place @param {PreparedLesson | null} ready */
  function elsewhere(lesson, { page, params }, ready) {
    const ownPage = isRevealed(lesson.name) ? lesson.page : questionPage(lesson);
    const isOtherText = ready && ownPage !== LEARN && !lesson.task && (params.text ?? ready.text) !== ready.text;
    return page !== ownPage || Boolean(isOtherText);
  }

  // Open the lesson's place, before or after its answer may be seen.
  /** @param {Lesson} lesson @param {PreparedLesson} ready */
  function open(lesson, ready) {
    const { params } = context.place();
    if (ready.reason && ready.question && !lesson.task) {
      const chosen = readReplaced()?.chosen ?? params.model ?? "";
      writeReplaced({ lesson: lesson.name, chosen, used: ready.model, reason: ready.reason });
    }
    const place = placeOf(lesson, ready, isRevealed(lesson.name), params, firstModel);
    openSoon(place.page, place.params);
    draw();
  }

  // Open another lesson, "" for the list, with the model that the visitor has chosen.
  /** @param {string} name */
  async function openLesson(name) {
    await load();
    const { params } = context.place();
    const replaced = readReplaced();
    let model = params.model ?? "";
    if (replaced && replaced.used === (model || firstModel)) model = replaced.chosen;
    if (replaced) writeReplaced(null);
    const shared = Object.fromEntries(
      Object.entries({ model, exact: params.exact, lesson: name }).filter(([, value]) => value),
    );
    const lesson = lessonNamed(name);
    if (!lesson || (!isRevealed(name) && !lesson.in_place)) return openPlace(LEARN, shared);
    const ready = await prepare(lesson, model || firstModel, params.exact === "1");
    if (ready) open(lesson, ready);
  }

  /** @param {Lesson} lesson */
  const groupOf = (lesson) => course.lessons.filter(({ extra }) => extra === lesson.extra);

  return { draw, openLesson };
}

/** @param {string} lesson @param {string} model @param {boolean} exact */
const keyOf = (lesson, model, exact) => JSON.stringify([lesson, model, exact]);

// Open a place, also while the page is being drawn and what opens places is not there yet.
/** @param {string} page @param {Record<string, string>} params */
async function openSoon(page, params) {
  for (let attempt = 0; attempt < OPEN_ATTEMPTS && !openPlace(page, params); attempt++) {
    await new Promise((resolve) => setTimeout(resolve, OPEN_PAUSE_MS));
  }
}

// The answers of a class as bars, with a mark on the right one.
/** @param {Question} question @param {number[]} counts */
function bars(question, counts) {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (!total) return [];
  const rows = question.options.map(({ label }, n) =>
    el(
      "li",
      {},
      n === question.correct ? "✓ " : "",
      ...markdownNodes(label),
      ` · ${counts[n] ?? 0}`,
      el("span", { class: "hu-share", style: `width: ${(100 * (counts[n] ?? 0)) / total}%; height: 0.4rem` }),
    )
  );
  return [el("ul", { class: "hu-lesson-bars" }, ...rows)];
}

/** @param {number} right @param {number} done */
export function rightAnswers(right, done) {
  if (done === 1) return right ? "The one answer is right." : "The one answer is wrong.";
  return fill("{right} of {done} answers right", { right, done });
}

/** @param {string} className @param {string} markdown @param {string | null} role */
const note = (className, markdown, role = null) => el("p", { class: className, role }, ...markdownNodes(markdown));
const link = (label, onClick) => button(label, onClick, { class: "hu-link-text" });

function readReplaced() {
  try {
    return JSON.parse(sessionStorage.getItem(OTHER_MODEL_KEY) ?? "null");
  } catch {
    return null;
  }
}

function writeReplaced(value) {
  try {
    sessionStorage.setItem(OTHER_MODEL_KEY, JSON.stringify(value));
  } catch { /* the lessons that follow open with the other model */ }
}
