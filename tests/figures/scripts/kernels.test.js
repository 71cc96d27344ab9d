// Products with weights that are stored as 16-bit numbers.

import { Kernels } from "../../../transformer/client/model/kernels.js";
import { linear, Tensor } from "../../../transformer/client/model/tensor.js";
import { random } from "./fixtures.js";

Deno.test("products with 16-bit weights equal those with the same weights as 32-bit numbers", () => {
  const draw = random(3);
  const [kernels, width] = [new Kernels(1e6), 16];
  const filled = (array) => array.map(() => 2 * draw() - 1);
  for (const [rows, columns] of [[1, 4], [1, 7], [3, 5], [4, 1], [4, 2], [5, 9], [7, 8], [9, 13]]) {
    const weight = new Tensor([columns, width], kernels.allocate(columns * width));
    weight.half = kernels.allocate(columns * width, Uint16Array);
    const half = filled(new Float16Array(columns * width));
    half[0] = 2 ** -20; // below the range with full precision
    weight.half.set(new Uint16Array(half.buffer));
    weight.values.set(half);
    const bias = new Tensor([columns], kernels.allocate(columns));
    bias.values.set(filled(bias.values));
    const x = new Tensor([rows, width], filled(new Float32Array(rows * width)));
    const actual = linear(x, weight, bias).values;
    weight.half = null;
    linear(x, weight, bias).values.forEach((expected, i) => {
      if (Math.abs(actual[i] - expected) > 1e-5) throw new Error(`${rows} rows, ${columns} columns: number ${i}`);
    });
  }
});
