// Mistakes that a model can be trained with, for the Bug clinic: what each changes in the model's config (`model`), in what
// the decoder reads (`target`) and in the loop of training and writing. A correct run has the fault "".

/** @typedef {{ model: Record<string, unknown>, target: "right" | "not" | "left", warmup: "linear" | "constant" | "none", clearsGradients: boolean, dropsWhenWriting: boolean }} Fault */

/** @type {Fault} */
const NONE = { model: {}, target: "right", warmup: "linear", clearsGradients: true, dropsWhenWriting: false };

/** @type {Record<string, Partial<Fault>>} */
const CHANGES = {
  "": {},
  "mask one too late": { model: { causal: 2 } }, // each position sees the next one
  "mask two too late": { model: { causal: 3 } },
  "softmax over queries": { model: { softmax: "queries" } },
  "no residual": { model: { residual: false } },
  "source ignored": { model: { cross: "decoder" } }, // cross-attention has its keys and values from the decoder
  "source ignored, no mask": { model: { cross: "decoder without mask" } },
  "embeddings not scaled": { model: { scale_embedding: false } },
  "targets not shifted": { target: "not" },
  "targets shifted left": { target: "left" },
  "no warm-up": { warmup: "constant" }, // the highest rate from the first step on
  "no warm-up, no limit": { warmup: "none" }, // the first rates are higher still
  "gradients not cleared": { clearsGradients: false },
  "dropout when writing": { dropsWhenWriting: true },
};

export const FAULTS = Object.keys(CHANGES);

/** @param {string} fault @returns {Fault} */
export const faultOf = (fault) => ({ ...NONE, ...CHANGES[fault] });
