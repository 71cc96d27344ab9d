// The cases of the Bug clinic, in their order: each is a small model trained with exactly one mistake. case.js has the type of
// a case, and CONTRIBUTING.md says how to add one.
//
// `settings` are those of the correct run, `broken` what the mistake changes in them (a setting, or a fault of
// training/faults.js). `sites` are the lines of the PyTorch file of which each can be changed to repair it, first the line
// with the mistake, and its first `right` line is that of the correct file. The `others` are offered too, and leave the
// symptom.

import { THREE_MODELS } from "./case-three.js";
import { MODEL_CASES } from "./cases-model.js";
import { TRAINING_CASES } from "./cases-training.js";

export const CASES = [THREE_MODELS, ...MODEL_CASES, ...TRAINING_CASES];
