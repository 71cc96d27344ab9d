// Tooltips of terms by their key; they come from figures/glossary.py with the data.
export const TERMS = {};
