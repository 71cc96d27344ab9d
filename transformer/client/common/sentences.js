// Sentences with named placeholders, so that each can be translated as a whole.

// The sentence with the values of its placeholders: `fill("{count} heads are off.", { count: 3 })`.
/** @param {string} sentence @param {Record<string, string | number>} values */
export const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? "…"));
