// Where a lesson asks its question and shows its answer, and which model it uses.

export const LEARN = "learn"; // the page that asks every question whose own page would reveal the answer
/** @type {import("../../common/open.js").Place} */
export const CLINIC_PLACE = { page: LEARN, params: { clinic: "1" } };
const PERSONAL_FIELDS = ["exact", "size"]; // of an address, which every visitor sets
const NO_MODEL_FITS = "no available model can read such a text";

/**
 * A lesson with its question; `question` is null if no model shows what the lesson is about. `reason` says why the first
 * model that was tried does not.
 * @typedef {{ model: string, label: string, text: string, question: Question | null, reason: string }} PreparedLesson
 */

/**
 * `key` names the question among the visitor's answers and in a class (classroom/lesson_answers.py); `ownSentence` is a
 * teacher's, "" for the lesson's own.
 * @typedef {Lesson & { key: string, ownSentence: string }} OpenLesson
 */

// The lesson on a teacher's sentence, if it can ask its question about any.
/** @param {Lesson} lesson @param {string} [sentence] @returns {OpenLesson} */
export function lessonAbout(lesson, sentence = "") {
  const { name } = lesson;
  if (!sentence || !lesson.takes_sentence) return { ...lesson, key: name, ownSentence: "" };
  return { ...lesson, key: `${name}: ${sentence}`, ownSentence: sentence, sentences: [sentence] };
}

/** @param {Lesson} lesson */
export const questionPage = (lesson) => lesson.in_place ? lesson.page : LEARN;

// The models that fit a lesson, the preferred one first.
/** @param {Record<string, ModelInfo>} models @param {Lesson} lesson @param {string} chosen the visitor's model */
export function lessonModels(models, lesson, chosen) {
  const fits = (name) => {
    const { kind, languages, in_menu = true } = models[name];
    return kind === lesson.task && (lesson.task || languages[0]) && (in_menu || name === chosen);
  };
  // A visitor's own run of a training task may have learned something else.
  const order = (name) => lesson.task ? Number(models[name].is_run ?? false) : Number(name !== chosen);
  return Object.keys(models).filter(fits).sort((a, b) => order(a) - order(b));
}

// The lesson's question about the first of the models that shows what it is about; null if a newer request has replaced
// this one.
/** @param {Engine["ask"]} ask @param {Lesson} lesson @param {string} chosen @param {boolean} exact @returns {Promise<PreparedLesson | null>} */
export async function prepareLesson(ask, lesson, chosen, exact) {
  const { models } = await ask("models");
  const names = [...lessonModels(models, lesson, chosen), ...Object.keys(lesson.models ?? {})];
  let firstReason = "";
  for (const model of names) {
    let reply;
    try {
      reply = await ask("lesson", { model, lesson: lesson.name, texts: lesson.sentences, exact });
    } catch {
      continue; // the page of the model says what is wrong with it
    }
    if (!reply) return null;
    if (reply.question) {
      const label = models[model]?.label ?? lesson.models[model];
      return { model, label, text: reply.text, question: reply.question, reason: firstReason };
    }
    firstReason ||= reply.missing;
  }
  const [model = ""] = names;
  return { model, label: "", text: lesson.sentences[0], question: null, reason: firstReason || NO_MODEL_FITS };
}

// The place of a lesson before or after its answer may be seen.
/**
 * @param {OpenLesson} lesson @param {PreparedLesson} prepared @param {boolean} answered
 * @param {Record<string, string>} params of the place that is open @param {string} firstModel whose name addresses leave out
 * @returns {import("../../common/open.js").Place}
 */
export function placeOf(lesson, { model, text, question }, answered, params, firstModel) {
  const kept = Object.fromEntries([...PERSONAL_FIELDS, ...(lesson.task ? ["model"] : [])].map((n) => [n, params[n]]));
  const named = { lesson: lesson.name, lesson_text: lesson.ownSentence };
  const shared = { ...kept, ...(lesson.task || model === firstModel ? {} : { model }), ...named };
  if (!answered && !lesson.in_place) return { page: LEARN, params: textsOf(shared) };
  const fields = {
    ...(lesson.task ? {} : { text }),
    ...lesson.fields,
    ...question?.startFields,
    ...(answered ? question?.answerFields : {}),
  };
  return { page: lesson.page, params: textsOf({ ...shared, ...fields }) };
}

// Fields of an address as texts, without empty ones.
/** @param {Record<string, string | number | undefined>} fields @returns {Record<string, string>} */
const textsOf = (fields) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => value || value === 0 ? [[name, `${value}`]] : []),
  );

// Whether this place would show the answer of a lesson to somebody who has not answered, or is an address of the
// lesson's page that somebody has typed, without a view.
/** @param {Lesson} lesson @param {import("../../common/open.js").Place} place @param {boolean} isRevealed */
export function needsOpening(lesson, { page, params }, isRevealed) {
  if (page !== lesson.page) return false;
  const isTyped = Object.keys(params).every((name) => ["lesson", "lesson_text", "model", "depth"].includes(name));
  return isTyped || (page !== questionPage(lesson) && !isRevealed);
}

// Whether the place shows what the visitor has to find, and an explanation (Markdown).
/**
 * @param {Engine["ask"]} ask @param {Question} question @param {PreparedLesson} prepared
 * @param {Record<string, string>} params of the place @returns {Promise<[boolean, string]>}
 */
export async function checkPlace(ask, question, { model, text }, params) {
  if (question.verdicts) {
    const { kind = "cross", layer = "0", head = "0" } = params;
    return question.verdicts[kind]?.[Number(layer)]?.[Number(head)] ?? [false, "Choose one of the heads first."];
  }
  const { off = "", ablation } = params;
  if (!off) return [false, "No head is switched off yet. Choose a head, or the name of a layer."];
  const changes = /** @type {{ ablation?: SentenceRequest["ablation"] }} */ (ablation ? { ablation } : {});
  const { text: translation } = await ask("translate", { model, text, off, ...changes });
  if (translation === question.unchanged) {
    return [false, "Without these heads the translation is still the same. Switch off more heads."];
  }
  return [true, `Without these heads the translation is: ${translation.replace(/[\\`*_$]/g, "\\$&") || "(empty)"}`];
}
