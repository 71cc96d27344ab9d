// Sentences with named placeholders, so that each can be translated as a whole.

// The sentence with the values of its placeholders: `fill("{count} heads are off.", { count: 3 })`.
/** @param {string} sentence @param {Record<string, string | number>} values */
export const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? "…"));

// The same as nodes: a value may be a node, such as a word that no page translator may touch.
/** @param {string} sentence @param {Record<string, string | number | Node>} values @returns {(string | Node)[]} */
export const fillNodes = (sentence, values) =>
  sentence.split(/\{(\w+)\}/).map((part, i) => i % 2 ? /** @type {string | Node} */ (values[part] ?? "…") : part);
