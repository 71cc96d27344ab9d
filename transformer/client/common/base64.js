// Bytes in base64 (RFC 4648), as HTML files contain them.

// A loop, since `Uint8Array.from` with a callback calls a function for each byte.
/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function bytesOfBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
