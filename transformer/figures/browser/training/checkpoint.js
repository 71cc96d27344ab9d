// A run's model as a checkpoint: config.json's content, the symbols of the vocabulary, and a safetensors file.

import { SPECIAL } from "./data.js";
import { parameterShapes } from "./parameters.js";

/** @param {import("./run.js").Run} run @returns {import("./protocol.d.ts").SavedModel} */
export function checkpointOf({ config, settings, data, parameters }) {
  const { score, dropout } = settings;
  return {
    config: { format: 1, ...config, score, dropout },
    symbols: data.symbols.slice(SPECIAL.length),
    safetensors: writeSafetensors(parameters.tensors),
  };
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
/** @param {Record<string, import("../model/tensor.js").Tensor>} tensors */
function writeSafetensors(tensors) {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { shape, values }]) => {
    const start = end;
    end += values.byteLength;
    return [name, { dtype: "F32", shape, data_offsets: [start, end] }];
  });
  const text = JSON.stringify(Object.fromEntries(entries));
  const header = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const file = new Uint8Array(8 + header.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  Object.values(tensors).forEach(({ values }, i) => {
    const [start] = /** @type {any} */ (entries[i][1]).data_offsets;
    file.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), 8 + header.length + start);
  });
  return file;
}
