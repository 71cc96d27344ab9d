// The answers of transformer/api/, unpacked: what the engines "server" and "notebook" share.

import { headerOf, unpack } from "../trace/packing.js";

// A newer request of these does not replace an older one.
export const PARALLEL_KINDS = ["models", "lessons", "load", "part", "cells", "file", "translate"];

/** @param {Uint8Array} bytes */
export const jsonOf = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

// Functions that answer requests, by their kinds; all but those of lessons.
/** @param {(path: string, request: any, signal?: AbortSignal) => Promise<Uint8Array>} send `path` is one of api/kinds.py */
export function pythonAnswers(send) {
  const bytes = (path) => (request, signal) => send(path, request, signal);
  const json = (path) => async (request, signal) => jsonOf(await send(path, request, signal));
  return {
    models: (_, signal) => json("models")(null, signal),
    load: json("ask/load"),
    glance: bytes("ask/glance"),
    change: bytes("ask/change"),
    importance: json("ask/importance"),
    cells: json("ask/cells"),

    async explore(request, signal) {
      const packed = await send("ask/explore", request, signal);
      return { bytes: packed, refused: headerOf(packed).refused ?? "" };
    },

    async part(request, signal) {
      const [part] = unpack(await send("ask/part", request, signal)).parts.values();
      return part;
    },

    file: async (request, signal) => new Blob([/** @type {any} */ (await send("ask/file", request, signal))]),
  };
}
