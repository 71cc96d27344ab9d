// One training run in a worker, so that the page stays responsive. Every fork and every seed is a run in a worker of its
// own.
//
//     const worker = new Worker("scripts/training/worker.js", { type: "module" });
//     worker.onmessage = ({ data }) => show(data);                                  // a Report
//     worker.postMessage({ type: "start", description: { settings: { task: "reverse", seed: 3 } } });   // a Command
//
// protocol.d.ts lists all messages. In short:
//
// | the page sends | the worker answers |
// |---|---|
// | start, with a description { settings, changes } | started, then progress up to 30 times a second, evaluation every 25 steps, finished |
// | pause; step (one step); resume; speed | paused, with the checksum of the weights |
// | change, such as { off: "c0.1" } or { learning_rate: 0.01 } | the next steps use it, and it becomes part of the description |
// | state, then start with it in another worker and one more change | a fork: both runs go on from the same weights |
// | translate, an own input | an Example: output and attention of all heads |
// | weights | config, symbols and a safetensors file |
// | evaluate | accuracy by length of the first `count` held-out pairs |
//
// A run that diverges says so (`diverged`) and keeps the last weights with a finite loss. A run is deterministic: the
// same description gives the same checksum at every step, whether it was forked from a state or replayed from step 0.
