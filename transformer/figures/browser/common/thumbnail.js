// The small picture of a head.

// Draw a thumbnail on its canvas. Masked cells stay transparent.
/** @param {HTMLCanvasElement} canvas @param {Thumb} thumb @param {Pixels} ramp */
export function paintThumb(canvas, thumb, causal, ramp) {
  const { values, height, width } = thumb;
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let row = 0; row < height; row++) {
    const end = causal ? Math.min(Math.floor(((row + 1) * width - 1) / height) + 1, width) : width;
    for (let column = 0; column < end; column++) {
      pixels[row * width + column] = ramp[values[row * width + column]];
    }
  }
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d").putImageData(image, 0, 0);
}
