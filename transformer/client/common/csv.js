// Tables as files for spreadsheets.

export const NUMBER_PATTERN = /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/;

// CSV as in RFC 4180, with a byte order mark, without which Excel does not recognise UTF-8.
export function csvOf({ columns, rows }) {
  const lines = [columns, ...rows].map((cells) => cells.map(csvCell).join(","));
  return new Blob([`\ufeff${lines.join("\r\n")}\r\n`], { type: "text/csv" });
}

// Text that a spreadsheet would evaluate as a formula gets a leading apostrophe: tokens come from untrusted
// sentences, and "-il" is French. Single signs and numbers are harmless.
function csvCell(cell) {
  let text = cell === null || cell === undefined ? "" : String(cell);
  if (/^[=+\-@\t\r\n＝＋－＠]./s.test(text) && !NUMBER_PATTERN.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
