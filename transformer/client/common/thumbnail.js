// Pictures with one pixel for each cell, such as the small picture of a head.

// Draw such a picture on its canvas. `pixelAt(row, column)` returns a pixel, 0 for a transparent one.
/** @param {HTMLCanvasElement} canvas @param {number} height @param {number} width @param {(row: number, column: number) => number} pixelAt */
export function paintPixels(canvas, height, width, pixelAt) {
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let row = 0, i = 0; row < height; row++) {
    for (let column = 0; column < width; column++, i++) pixels[i] = pixelAt(row, column);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Draw a thumbnail on its canvas. Masked cells stay transparent.
/** @param {HTMLCanvasElement} canvas @param {Thumb} thumb @param {Pixels} ramp */
export function paintThumb(canvas, { values, height, width }, causal, ramp) {
  const isMasked = (row, column) => causal && column > Math.floor(((row + 1) * width - 1) / height);
  paintPixels(
    canvas,
    height,
    width,
    (row, column) => isMasked(row, column) ? 0 : ramp[values[row * width + column]],
  );
}
