// Reverse-mode automatic differentiation. Every operation on a tensor of a tape leaves on it how its gradients follow
// from that of its result; `backward` then goes through the operations in reverse order, which is all that
// `loss.backward()` does in PyTorch (Linnainmaa 1970; Baydin et al. 2018, arXiv 1502.05767).

import { Tensor } from "./tensor.js";

export class Tape {
  // A tape that is not training computes without gradients and without dropout, for many sequences at once.
  /** @param {import("./kernels.js").Kernels} kernels @param {{ training?: boolean, drops?: boolean, dropoutSeed?: number }} [options] */
  constructor(kernels, { training = false, drops = training, dropoutSeed = 0 } = {}) {
    this.kernels = kernels;
    this.training = training;
    this.drops = drops; // whether dropout drops
    this.dropoutSeed = dropoutSeed;
    this.start = kernels.nextFree;
    /** @type {(() => void)[]} */
    this.operations = [];
  }

  // A tensor on this tape: its values are to be overwritten, its gradient begins with zeros. Rows of all sequences of a
  // batch lie end to end; sequence i has the rows from starts[i] to starts[i + 1].
  /** @param {number[]} shape @param {Int32Array | null} starts */
  tensor(shape, starts = null) {
    const count = shape.reduce((a, b) => a * b, 1);
    const tensor = new Tensor(shape, this.kernels.allocate(count));
    if (this.training) tensor.grad = this.kernels.allocate(count).fill(0);
    return Object.assign(tensor, { tape: this, starts });
  }

  // `back` adds to the gradients of an operation's inputs, given that of its result.
  /** @param {() => void} back */
  record(back) {
    if (this.training) this.operations.push(back);
  }

  // Adds the gradient of the loss to every tensor and weight that it depends on.
  backward() {
    for (const back of this.operations.reverse()) back();
    this.free();
  }

  // Forgets the operations, and frees the memory of all tensors of this tape.
  free() {
    this.operations = [];
    this.kernels.nextFree = this.start;
  }

  // A different seed for each use of dropout.
  nextDropoutSeed() {
    this.dropoutSeed = Math.imul(this.dropoutSeed ^ (this.dropoutSeed >>> 15), 0x2c1b3c6d) + 0x297a2d39 | 0;
    return this.dropoutSeed;
  }
}
