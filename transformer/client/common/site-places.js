// Places of the static site: pages are files, and those of the app that need a server are missing.

/** @typedef {{ page: string, params: Record<string, string>, file: string }} SiteFile a place, and the file that shows it */

// The address of a place, or null if no file shows it. The first file whose fields the place has is used; its other fields
// become the query.
/** @param {SiteFile[]} files @param {import("./open.js").Place} place @returns {string | null} */
export function siteAddress(files, { page, params }) {
  const found = files.find((file) =>
    file.page === page && Object.entries(file.params).every(([name, value]) => params[name] === value)
  );
  if (!found) return null;
  const query = new URLSearchParams(Object.entries(params).filter(([name]) => !Object.hasOwn(found.params, name)));
  return found.file + (query.size ? `?${query}` : "");
}
