// What the client asks of an engine, and the answers. An engine is `ask`: worker-client.js (a model in this tab) or
// server.js (the server's models); own-engine.js joins the two. For the type checker only. api/requests.py describes
// the same requests to the server, and a test compares the two.

interface ModelRequest {
  model?: string; // its name; "" or none for the first in the list
}

interface SentenceRequest extends ModelRequest {
  text: string;
  prefix?: number[]; // ids of tokens with which the translation must begin
  method?: "greedy" | "beam" | "sample" | "forced"; // how it is translated
  target?: string; // the translation for the method "forced"
  beam_size?: number;
  length_penalty?: number;
  temperature?: number;
  top_k?: number; // 0 samples from the whole vocabulary
  top_p?: number;
  seed?: number;
  off?: string; // heads that are changed, such as "e3.2,c5"
  ablation?: "zero" | "uniform" | "mean"; // how they are changed
  edited_row?: string; // a row of one head with weights in percent for its keys, such as "c5.1.3:0x70,4x30"
  masked_tokens?: string; // positions of the source that no head can attend to, such as "0,3"
  patch?: string; // a hook point whose activations come from the sentence `other`, such as "encoder.hook_memory:1:1"
  other?: string; // another sentence
}

interface GlanceRequest extends SentenceRequest {
  with_alternatives?: boolean; // of every word
}

// A second translation to compare with has a token forced, or is that of the other sentence or by the other model, or of
// the changed model.
interface ExploreRequest extends SentenceRequest {
  other_model?: string; // the name of another model
  force?: string; // a step of the translation and the id of a token, such as "2:1234"
  start?: Record<string, string | number>; // fields of the explorer's state, where they differ from the defaults
  visit?: number; // a view that is already on screen takes over `start` if this number has changed
  number?: number; // not used; a client can number its requests
}

interface PartRequest extends ExploreRequest {
  name: string; // side, vector, kind of attention, layer and head, such as "0.query.cross.5.2"
}

interface FileRequest extends ExploreRequest {
  format?: "html" | "npz"; // a web page that opens alone, or all tensors of the first trace
}

interface HeadOfKind {
  kind: Kind;
  layer: number;
  head: number;
}

interface CellsRequest extends SentenceRequest {
  head: HeadOfKind;
  row?: number; // whose cells are blanked one at a time; -1 for none
}

interface ImportanceRequest extends SentenceRequest {
  step?: number; // which writes the token whose probability is asked for; -1 for the whole translation
}

interface LessonRequest extends ModelRequest {
  lesson: string;
  texts: string[]; // the question is about the first that shows what the lesson asks about
  exact?: boolean; // whether to name tokens as the model does
}

// A question that Python makes.
interface QuestionRequest extends ModelRequest {
  lesson: string;
  exact?: boolean; // whether to name tokens as the model does
}

interface Requests {
  models: Record<string, never>;
  lessons: Record<string, never>;
  load: ModelRequest;
  glance: GlanceRequest;
  explore: ExploreRequest;
  part: PartRequest;
  change: SentenceRequest;
  file: FileRequest;
  importance: ImportanceRequest;
  cells: CellsRequest;
  translate: SentenceRequest;
  lesson: LessonRequest;
}

type Question = import("../trace/questions/case.js").Question;
type QuestionReply = { question?: Question; missing?: string }; // or why the sentence shows nothing to ask about

interface Answers {
  models: SiteData;
  lessons: Course;
  load: LoadedModel;
  glance: Uint8Array; // packed: trace, alternatives, unknown words
  explore: { bytes: Uint8Array; refused: string }; // packed, and why a token cannot be forced
  part: import("../trace/packing.js").PackedPart;
  change: Uint8Array; // packed: the sentence as it is and under the changed model, and what that model writes
  file: Blob;
  importance: [string, number][]; // code of a head, and how much less probable the translation, or the token of a step, is without it, in nats
  cells: { norms: number[]; effects: number[][] }; // of all cells of the head; of the cells of the row, by token
  translate: { text: string };
  lesson: QuestionReply & { text?: string };
}

// A step of the course, as transformer/lessons/lesson.py describes it.
interface Lesson {
  name: string;
  title: string;
  picture: string;
  part: string;
  minutes: number;
  page: string;
  text: string;
  question: string;
  takeaway: string;
  section: string;
  fields: Record<string, string | number>;
  sentences: string[];
  task: string;
  misprint: string;
  in_place: boolean;
  extra: boolean;
  takes_sentence: boolean; // whether its question can be about any sentence
  models?: Record<string, string>; // models of its questions that the list of models does not have: name and label
}

interface Course {
  lessons: Lesson[];
  end: string; // the name of the last page of the course in addresses
}

// What is known of a model once it is loaded.
interface LoadedModel {
  languages: [string, string][]; // target languages that a text can ask for: code and name
  facts: string[]; // sentences about its training
  symbols: string[] | null; // all that it saw in training, if they are few
}

// A model as the client lists it.
interface ModelInfo {
  label: string;
  kind: string; // what it reads: the name of a training task, the code of a language, or "" for English
  reads: string;
  writes: string;
  languages: string[]; // codes of both; "" for models of symbols
  hint: string;
  examples: string[];
  mistakes?: { text: string; wrong: string; note: string }[]; // sentences that are too hard for a small model
  config: Record<string, unknown>;
  aligner: { layer: number; head: number; weights_to: "output" | "input" } | null;
  aligner_agreement: { agreement: number; sentences: number; source: string } | null;
  weights?: number; // how many
  prepared: { text: string | null; picture?: string }; // the first picture, if the page contains it
  is_run?: boolean; // trained on this server
  in_menu?: boolean; // false for other visitors' runs, which only links name
  files?: ModelFile[] | null; // with which a browser can run the model itself; null if it cannot
}

interface ModelFile {
  path: string; // below the site or the app, or an address
  bytes: number;
  sha256: string;
}

// What the values of a field of the address may be: a number in bounds, one of some choices, or text of a form. `must`
// says it at the end of a sentence.
interface AddressField {
  default: string | number;
  label: string;
  bounds?: number[];
  is_integer?: boolean;
  choices?: string[];
  form?: string;
  must: string;
}

interface SiteData {
  models: Record<string, ModelInfo>;
  explorer: Record<string, unknown>; // the explorer's header that is the same for all sentences
  fields: Record<string, AddressField>; // of the address
  depths: [string, string][];
  ablations: Record<string, string>;
  methods: Record<string, string>; // decoding methods of the engine: name and label
  files: ("html" | "npz")[]; // formats in which the engine writes the explorer's traces
  scripts?: string[]; // of the worker, on the static site
}

// News of a model that is loading or cannot be reached; `model` is "" for a problem of all models. `problem` is a
// sentence; `ready` ends it.
interface Loading {
  model: string;
  bytes?: number;
  loaded?: number;
  ready?: boolean;
  stored?: boolean;
  problem?: string;
}

interface Engine {
  // The answer, or null if a newer request of this kind has replaced it.
  ask<K extends keyof Requests>(kind: K, request?: Requests[K]): Promise<Answers[K] | null>;
}
