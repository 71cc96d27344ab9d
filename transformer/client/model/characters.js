// The characters that bytes spell, each with its own bytes; `text` is null for a byte outside a valid
// character.
/** @param {number[]} bytes @returns {{ text: string | null, bytes: number[] }[]} */
export function charactersOf(bytes) {
  const characters = [];
  for (let start = 0; start < bytes.length;) {
    const prefixes = [1, 2, 3, 4].map((length) => bytes.slice(start, start + length));
    const character = prefixes.find((prefix) => decodeStrictly(prefix) !== null) ?? [bytes[start]];
    characters.push({ text: decodeStrictly(character), bytes: character });
    start += character.length;
  }
  return characters;
}

function decodeStrictly(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes));
  } catch {
    return null;
  }
}
