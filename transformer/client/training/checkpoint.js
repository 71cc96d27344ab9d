// A run's model as a checkpoint: config.json's content, the symbols of the vocabulary without the special ones, and a
// safetensors file. Its metadata hold both, so that `Translator.load` reads the file alone, and with `savedRun` how the
// model was trained, so that the page that trains can go on with it. Without `savedRun`, other readers of the file get the
// same outputs: where a head is switched off, its part of W^O is 0.

import { headOfCode, readOff } from "../common/head-codes.js";
import { SPECIAL } from "./data.js";
import { Tensor } from "../model/tensor.js";
import { parameterShapes } from "./parameters.js";

/** @typedef {import("./protocol.d.ts").SavedRun} SavedRun */
/** @param {import("./run.js").Run} run @param {SavedRun | null} [savedRun] @returns {import("./protocol.d.ts").SavedModel} */
export function checkpointOf({ config: model, settings, data, parameters }, savedRun = null) {
  const config = { format: 1, ...model, dropout: settings.dropout };
  const tensors = savedRun ? parameters.tensors : withoutHeads(parameters.tensors, settings);
  const symbols = data.symbols.slice(SPECIAL.length);
  const described = { config, symbols, ...(savedRun && { run: savedRun }) };
  const metadata = Object.fromEntries(Object.entries(described).map(([name, value]) => [name, JSON.stringify(value)]));
  return { config, symbols, safetensors: writeSafetensors(tensors, metadata) };
}

// The weights, with zeros where a head that is switched off would write.
/** @param {Record<string, import("../model/tensor.js").Tensor>} tensors @param {import("./protocol.d.ts").Settings} settings */
function withoutHeads(tensors, settings) {
  if (settings.model !== "transformer") return tensors;
  const result = { ...tensors };
  for (const { kind, layer, head } of [...readOff(settings.off, settings)].map(headOfCode)) {
    const stack = kind === "encoder" ? "encoder" : "decoder";
    const name = `${stack}.layers.${layer}.${kind === "cross" ? "cross_attn" : "self_attn"}.w_o`;
    const { shape, values } = result[name];
    const [width, size] = [shape[1], shape[1] / settings.n_heads];
    const inHead = (i) => Math.floor((i % width) / size) === head;
    result[name] = new Tensor(shape, values.map((value, i) => (inHead(i) ? 0 : value)));
  }
  return result;
}

// FNV-1a of some bytes, as eight hexadecimal digits.
/** @param {Uint8Array} bytes */
export function checksumOf(bytes) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

// The weights of a checkpoint, one after the other as in a RunState, for a run with these settings.
/** @param {Record<string, import("../model/tensor.js").Tensor>} tensors @param {import("./protocol.d.ts").Settings} settings */
export function weightsInOrder(tensors, settings) {
  const shapes = parameterShapes({ ...settings, vocab_size: tensors["embedding.weight"]?.shape[0] ?? 0 });
  const wrong = shapes.find(([name, shape]) => String(tensors[name]?.shape) !== String(shape));
  if (wrong) {
    const [name, shape] = wrong;
    throw new RangeError(`The file has no weights ${name} with the shape ${shape.join(" × ")}, which its run needs.`);
  }
  const weights = new Float32Array(shapes.reduce((sum, [name]) => sum + tensors[name].values.length, 0));
  let end = 0;
  for (const [name] of shapes) {
    weights.set(tensors[name].values, end);
    end += tensors[name].values.length;
  }
  return weights;
}

// Eight bytes with the length of a JSON header, the header with type, shape and offsets of each tensor, the numbers.
/** @param {Record<string, import("../model/tensor.js").Tensor>} tensors @param {Record<string, string>} metadata */
function writeSafetensors(tensors, metadata) {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { shape, values }]) => {
    const start = end;
    end += values.byteLength;
    return [name, { dtype: "F32", shape, data_offsets: [start, end] }];
  });
  const text = new TextEncoder().encode(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }));
  const bodyStart = 8 + Math.ceil(text.length / 8) * 8;
  const file = new Uint8Array(bodyStart + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(bodyStart - 8), true);
  file.fill(32, 8, bodyStart); // spaces, as the format allows
  file.set(text, 8);
  Object.values(tensors).forEach(({ values }, i) => {
    const [start] = /** @type {any} */ (entries[i][1]).data_offsets;
    file.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), bodyStart + start);
  });
  return file;
}
