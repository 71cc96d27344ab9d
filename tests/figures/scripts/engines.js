// Run by a Python test with deno: asks the engine "worker" and the engine "server" the same requests, and prints where
// their answers differ. `engines.js FOLDER ADDRESS`: a folder with the worker's scripts, the models, site.json and
// requests.json, and the address of a server.

import { makeServerEngine } from "../../../transformer/client/engine/server.js";
import { makeWorkerEngine } from "../../../transformer/client/engine/worker-client.js";
import { unpack } from "../../../transformer/client/trace/packing.js";

const [folder, address] = Deno.args;
const TOLERANCE = 1e-4;
const readJson = (name) => JSON.parse(Deno.readTextFileSync(`${folder}/${name}`));
const worker = makeWorkerEngine(readJson("site.json"), () => {}, `file://${folder}/scripts/`);
const server = makeServerEngine(address, () => {});

// What an answer says, without what may differ: ids of traces, the version of the state, and names of fields that only
// one of the views reads.
const contents = {
  load: (answer) => answer,
  glance: (bytes) => packed(bytes, ["trace", "alternatives", "original", "unknown", "has_strip"]),
  explore: ({ bytes, refused }) => ({
    ...packed(bytes, ["sides", "second_kind", "aligner", "has_notices", "later"]),
    refused: Boolean(refused),
  }),
  part: ({ name, shape, values }) => ({ name, shape, values: [...values] }),
  change: (bytes) => {
    const { sites, ...answer } = packed(bytes, ["sides", "altered", "problems", "donor", "sites"]);
    return { ...answer, sites: sites.toSorted(), problems: answer.problems.length };
  },
  importance: (answer) => answer,
  cells: (answer) => answer,
  // One answer names the greatest rounding error of all sums, which is another in another order of adding.
  lesson: (answer) => JSON.parse(JSON.stringify(answer).replaceAll(/rounding error of [^ ]+/g, "rounding error")),
};

function packed(bytes, fields) {
  const { header, parts } = unpack(bytes);
  const weights = [...parts.values()].map(({ name, shape, values, top }) => ({
    name,
    shape,
    weights: Array.from(values, (value) => top ? (value / top) ** 2 : value),
    tolerance: top === 255 ? 0.01 : TOLERANCE,
  }));
  return { ...Object.fromEntries(fields.map((field) => [field, header[field]])), weights };
}

// The places at which two answers differ.
function* differences(a, b, place = "", tolerance = TOLERANCE) {
  if (typeof a === "number" && typeof b === "number") {
    if (!(a === b || Math.abs(a - b) <= tolerance)) yield `${place}: ${a}, ${b}`;
  } else if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return yield `${place}: ${a.length} and ${b.length} entries`;
    for (let i = 0; i < a.length; i++) yield* differences(a[i], b[i], `${place}[${i}]`, tolerance);
  } else if (a && b && typeof a === "object" && typeof b === "object") {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      if (name === "id" && typeof a.id === "string") continue; // of a trace
      if (name === "candidates") yield* differences(a[name].map(probabilityOf), b[name].map(probabilityOf), place);
      else yield* differences(a[name], b[name], `${place}.${name}`, a.tolerance ?? tolerance);
    }
  } else if (a !== b && !(a == null && b == null)) yield `${place}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`;
}

// Candidates are compared by rank: those of equal probability have no order.
const probabilityOf = ([, , probability]) => probability;

const reports = [];
for (const { kind, ...request } of readJson("requests.json")) {
  const answers = await Promise.all([worker, server].map((engine) => engine.ask(kind, request).then(contents[kind])));
  reports.push([...differences(...answers)].slice(0, 5));
}
console.log(JSON.stringify(reports));
Deno.exit(0); // ends the worker
