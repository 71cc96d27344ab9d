// Words for what a visitor does with a pointer: a finger taps and cannot hover.

// The text for a mouse, or the one for a finger where that is what this device has.
/** @param {string} mouse @param {string} finger */
export const byPointer = (mouse, finger) => globalThis.matchMedia?.("(hover: none)").matches ? finger : mouse;
