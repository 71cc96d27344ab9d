// Types of the data that scripts exchange, for the type checker only: `make lint` reads this file, browsers do
// not. Python packs the traces in figures/packed_trace.py; the state is that of figures/state.py.

type Kind = "encoder" | "decoder" | "cross";
type Pen = CanvasRenderingContext2D; // or the one of svg-pen.js
type Pixels = Uint32Array<ArrayBuffer>; // 256 colours, four bytes each

// Pieces, the words they form, and which pieces are special tokens. `plain` are the words without punctuation;
// what is not a word has the label "".
interface Labels {
  tokens: string[];
  words: number[];
  word_labels: string[];
  special: boolean[];
  names: string[]; // of the pieces, as displayed
  plain: number[];
  plain_labels: string[];
  lang: string; // code of the language, "" if it is unknown
}

interface Head {
  layer: number;
  head: number;
}
interface Cell {
  row: number;
  column: number;
}
interface Span extends Cell {
  rows: number;
  columns: number;
}

// A packed array; `top` is the level of weight 1, or 0 for values that are not quantized.
interface Part {
  name: string;
  type: string;
  shape: number[];
  top: number;
  values: Uint8Array | Uint16Array | Float32Array;
}

interface Thumb {
  values: Part["values"];
  height: number;
  width: number;
}
interface Weights {
  values: Float32Array;
  top: number;
}
// By layer, head and word: the strongest attention to or from it, and the word at the other end.
interface PinWeights {
  weights: Float32Array;
  others: Uint16Array;
  words: number;
}
interface Tree {
  parent: (number | null)[];
  depth: number[];
  token: string[];
  id: number[];
  probability: number[];
  log_probability: number[];
  score: number[];
  status: string[];
  best: boolean[];
  beam_size: number;
  length_penalty: number;
}

// A sentence with its translation and attention.
interface Side {
  id: string;
  digest: string;
  number: number;
  name: string;
  model: string;
  source: string;
  text: string;
  kinds: Kind[];
  depths: Record<Kind, number>;
  n_heads: number;
  d_k: number;
  score: string;
  src: Labels;
  tgt: Labels;
  predicted: Labels;
  trace: import("./trace/packed-trace.js").ViewTrace;
  measures: Record<Kind, Record<string, number[][]>>;
  clearest: Record<Kind, [number, number]>; // layer and head
  steps: { candidates: [string, number, number][]; chosen: [string, number, number] }[]; // token, id, probability
  tree: Tree | null;
  labels(kind: Kind): { rows: Labels; columns: Labels; writes: Labels | null };
  weights(kind: Kind, layer: number, head: number): Weights;
  thumb(kind: Kind, layer: number, head: number): Thumb;
  pinWeights: Record<Kind, { to: PinWeights; from: PinWeights }>;
  readPinWeights: Record<Kind, { to: PinWeights; from: PinWeights }>; // with the rows that read a word
  vectors(kind: Kind, layer: number, head: number): Record<string, Part> | null;
}

// The explorer's state: `FIELDS` of figures/state.py.
interface State extends Head, Cell {
  view: string;
  kind: Kind;
  heads: string;
  combine: "one" | "mean" | "max";
  tokens: string;
  zoom: number;
  pin: string;
  marks: string; // cells that a lesson speaks of
  way: "both" | "to" | "from";
  exact: number;
  special: "shown" | "dimmed" | "hidden";
  renormalise: number;
  word_row: "output" | "input";
  scale: "sqrt" | "linear" | "row";
  more: number;
  measure: string;
  order: "layers" | "measure";
  step: number;
  node: number;
  force: string;
  size: "normal" | "large";
}

// A row or column of a table; `members` are the positions of its pieces.
interface Entry {
  text: string;
  written: string | null;
  special: boolean;
  dim: boolean;
  members: number[];
  lang?: string; // of the text
  writtenLang?: string;
}

interface Matrix {
  kind: Kind;
  rows: Entry[];
  columns: Entry[];
  nRows: number;
  nColumns: number;
  values: Float32Array;
  top: number;
  masked(row: number, column: number): boolean;
}

// Colours of the current theme.
interface Theme {
  ramp: Pixels;
  css(level: number): string;
  diverging: Pixels;
  divergingCss(level: number): string;
  series: string[];
  text: string;
  muted: string;
  faint: string;
  line: string;
  soft: string;
  background: string;
  accent: string;
  choice: string;
  font: string;
  size: number;
  key: string;
}

// Something to notice: text in which words of the source ("s") and of the translation ("t") are marked, and the state that
// shows it.
interface Notice {
  segments: [string, "" | "s" | "t"][];
  state: Partial<State>;
}

interface Figure {
  title: string;
  width: number;
  height: number;
  paint(pen: Pen): void;
}
interface Table {
  caption: string;
  columns: string[];
  rows: unknown[][];
}
type Pair = [number | null, number | null]; // indices in A and B, null for none
interface Pairs {
  src_tokens: Pair[];
  tgt_tokens: Pair[];
}

type WordAlternatives = { text: string; p: number; step: number; ids: number[] }[][];

// The context of a view.
interface Context {
  set(changes: Partial<State>): void;
  store: { laterParts: Map<string, () => Promise<Part>> };
  canForce: boolean;
  staysInView(): boolean; // whether a head is chosen without opening it
  alternatives: WordAlternatives | null; // of every word that the table of steps shows, for a table in whole words
  views: string[];
  secondKind: string;
  state: State;
  theme: Theme; // the screen's, or the one for print
  sides: Side[];
  side: Side;
  pairs: Pairs;
  matrix(side?: Side, changes?: Partial<State>): Matrix | null;
  title(): string;
}

// A view of the explorer and its constructor: `EXPLORER` of figures/views.py.
interface View {
  node: HTMLElement;
  draw(): void;
  options?: string[]; // names of the controls that it needs
  kinds?: boolean; // false: it shows all kinds of attention, so none can be chosen
  keys?: string[][]; // keys for the help dialog, and what they do
  title?(): string;
  code?(): string; // Python that gives the same numbers
  marks?(): Matrix | null; // the table of the marked cells, if it is not the current one
  note?(): string; // instead of the note about attention sinks
  figure?(): Figure | null; // to save as SVG or PNG; null: nothing to save yet
  table?(): Table | null; // to show and to save as CSV
  choose?(head: Head): void; // called instead of selecting the head whose thumbnail is clicked
  close?(): void; // another view is opened
}
interface Tab {
  label: string;
  make(ctx: Context): View;
  mosaic?: boolean; // whether the thumbnails of all heads of the kind are beside it
  vectors?: boolean; // whether it draws the vectors of the selected head
}
