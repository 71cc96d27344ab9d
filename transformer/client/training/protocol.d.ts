// The messages between a page and training/worker.js, for the type checker and for whoever writes the page. Browsers
// do not read this file.

// A run is described by its settings, and by the changes made to them while it trained: the same description gives the
// same weights, bit for bit, on every machine whose browser has WebAssembly SIMD. Names are those of Python's ModelConfig
// and TrainingConfig, but for `batch`, which counts sequences, and `causal`; defaults and limits are in settings.js.
export interface Settings {
  task: string; // a name in TASKS of tasks.js, or "pairs", whose data come with the command "start"
  options: Record<string, number>; // of the task, such as { longest: 10, letters: 10 }
  // A recurrent model has a GRU as its encoder and one as its decoder, of d_model units, and only the training settings
  // matter to it.
  model: "transformer" | "gru" | "gru_attention";
  n_layers: number; // of the encoder, and again of the decoder
  n_heads: number;
  d_model: number; // a multiple of 4 × n_heads
  d_ff: number; // a multiple of 4
  positions: "sinusoidal" | "learned" | "none";
  score: "scaled_dot" | "dot" | "additive"; // q·k / √d_k, q·k, or v·tanh(q + k)
  causal: boolean; // false removes the decoder's mask: during training the model sees the tokens that it must predict
  dropout: number;
  label_smoothing: number;
  learning_rate: number; // at its highest, at the end of the warm-up
  warmup: number; // steps
  cooldown: number; // final fraction of the run in which the rate falls to 0
  steps: number;
  batch: number; // sequences per step
  clip_norm: number; // 0: no clipping
  weight_decay: number;
  seed: number; // of the initial weights, the batches and dropout
  fault: string; // a mistake of faults.js; "" is none
  off: string; // heads switched off, as in the address: "c0.1,e1" is a cross-attention head and an encoder layer
}

// Settings that differ from step `step` + 1 on. The shape of the model cannot change: see CHANGEABLE in settings.js.
// A change of `seed` draws other batches from there on: five of them are five orders of batches of a fork.
export interface Change {
  step: number;
  settings: Partial<Settings>;
}

export interface RunDescription {
  settings: Partial<Settings>;
  changes?: Change[];
}

// Sentence pairs as symbols separated by spaces, with gold links (source position, target position) if there are any;
// links matter for held-out pairs only. For the task "french" the worker finds them itself, in french-pairs.js.
export interface PairData {
  symbols?: string[];
  train: DataPair[];
  valid?: DataPair[];
}
export type DataPair = [source: string, target: string, links?: [number, number][]];

// Everything that a run needs to continue bit for bit: for a fork in another worker, and to store in the browser.
export interface RunState {
  description: RunDescription;
  step: number;
  weights: Float32Array;
  firstMoment: Float32Array;
  secondMoment: Float32Array;
  seconds?: number;
  reached?: Evaluation["reached"]; // as in Evaluation
  drawn: number; // training pairs since the batches were last seeded
}

// Page to worker. Commands with an `id` are answered by { type: "answer", id, result } or { type: "answer", id, problem }.
export type Command =
  // Starts a run at step 0, or continues `state`: pass the state of another worker with one more change to fork it.
  | {
    type: "start";
    description: RunDescription;
    state?: RunState;
    data?: PairData;
    paused?: boolean;
    stepsPerSecond?: number;
    forkSteps?: number[]; // steps after which the worker sends its state, for forks that begin there
    stopsAtShare?: number; // pauses once, after the first evaluation with a linkShare of at least this
  }
  | { type: "pause" }
  | { type: "resume" }
  | { type: "step" } // one step, then it pauses
  | { type: "speed"; stepsPerSecond: number } // 0: as fast as possible
  | { type: "state"; id: number } // result: RunState
  | { type: "weights"; id: number; savedRun?: SavedRun } // result: SavedModel
  | { type: "translate"; id: number; text: string }; // result: Example

// Worker to page.
export type Report =
  | {
    type: "started";
    step: number;
    description: RunDescription;
    settings: Settings;
    parameters: number;
    symbols: string[];
    trainCount: number;
    validCount: number;
    linked: boolean;
    unseen?: { words: number; pairs: number }; // words of held-out pairs that no training pair has
    repeats?: number; // pairs whose source another pair has, too
  }
  // At most 30 times a second: the steps since the last report, and what the three examples show now. Their `output` is
  // null where only the attention was computed.
  | { type: "progress"; step: number; steps: StepRecord[]; seconds: number; examples: Example[] }
  | { type: "evaluation"; evaluation: Evaluation } // every 25 steps: of 64 held-out pairs, or of all if these are correct
  | { type: "paused"; step: number; checksum: string; isFound?: boolean } // isFound: because of stopsAtShare
  | { type: "forkState"; state: RunState }
  | { type: "finished"; step: number; seconds: number; checksum: string; evaluation: Evaluation }
  // The loss or the gradient is no longer finite; the weights are those before `step`, and the run is paused.
  | { type: "diverged"; step: number; problem: string; checksum: string }
  | { type: "problem"; problem: string } // a command that cannot be done, as a sentence; the run has stopped
  | { type: "answer"; id: number; result?: RunState | SavedModel | Example | Evaluation; problem?: string };

export interface StepRecord {
  step: number;
  loss: number;
  rate: number;
  gradientNorm: number;
} // loss in nats per target token

// One sentence pair now: what the model writes by itself (greedy), and where its heads look while it is given the target
// (of an own input: what it wrote). `attention` has the weights of every head, one matrix after the other: kind
// (encoder, decoder, cross), layer, head, row, column.
export interface Example {
  src: string[]; // columns of encoder and cross, rows of encoder: `</s>` last
  tgt: string[]; // rows of cross and decoder, columns of decoder: `<s>` first
  crossKeys: string[]; // columns of cross: those of `src`, unless a fault takes the decoder's
  gold: string[] | null; // `</s>` last; null for an own input
  output: string[] | null; // `</s>` last, where it was written
  links: [number, number][] | null; // gold: (column, row) of the cross-attention matrix
  correct: boolean | null;
  layers: number;
  heads: number;
  kinds: string[]; // of attention, those that the model has
  attention: Float32Array;
}

export interface Evaluation {
  step: number;
  seconds: number;
  checksum: string;
  count: number;
  correct: number; // sequences that greedy decoding writes without an error
  byLength: { length: number; count: number; correct: number }[]; // of the source, without `</s>`
  // Share of the weight of each cross-attention head on the gold links: [layer][head]; null without links.
  linkShares: number[][] | null;
  linkCount: number; // of held-out pairs whose attention linkShares is measured on
  reached: { step: number; seconds: number } | null; // when 99 % were first correct
}

// How a saved model was trained: the link of its run, the step, and the visitor's own pairs.
export interface SavedRun {
  link: string;
  step: number;
  pairs: PairData | null;
}

// A checkpoint: `safetensors` has the weights by the names of Python's model, `config` is its config.json.
export interface SavedModel {
  config: Record<string, unknown>;
  symbols: string[];
  safetensors: Uint8Array;
}
