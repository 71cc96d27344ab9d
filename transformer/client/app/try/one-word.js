// A sentence that differs in one word, to compare with.

const WORD_PAIRS = {
  en: [
    ...["red black", "umbrella hat", "rains snows", "never often", "sea city", "home school", "student doctor"],
    ...["house car", "dog cat", "man boy", "woman girl", "big small", "old young", "good bad", "here there"],
    ...["today tomorrow", "he she", "the a", "this that"],
  ],
  fr: [
    ...["rouge noir", "parapluie chapeau", "pleut neige", "jamais souvent", "mer ville", "étudiant médecin"],
    ...["chien chat", "grand petit", "il elle", "le un", "la une"],
  ],
  de: [
    ...["roten schwarzen", "Regenschirm Hut", "regnet schneit", "nie oft", "Meer Haus", "Student Arzt", "Hund Mann"],
    ...["er sie", "der ein"],
  ],
}; // pairs of words that can replace each other without changing any other word; content words come first

const capitalized = (word) => word[0].toUpperCase() + word.slice(1);

// The text with one word replaced by its partner, or "" if it has none of these words.
/** @param {string} text @param {string} language code */
export function oneWordChanged(text, language) {
  for (const pair of WORD_PAIRS[language] ?? []) {
    const [first, second] = pair.split(" ");
    for (const [old, other] of [[first, second], [second, first]]) {
      for (const [from, to] of [[old, other], [capitalized(old), capitalized(other)]]) {
        const changed = text.replace(new RegExp(`(^|[^\\p{L}\\p{N}])${from}(?![\\p{L}\\p{N}])`, "u"), `$1${to}`);
        if (changed !== text) return changed;
      }
    }
  }
  return "";
}
