// Compares the decoder with the reference implementation for every architecture, in serving with and without the KV
// cache, in training, and with LoRA.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { GraphBuilder } from "../src/lib/graph/builder.ts";
import { cacheDims } from "../src/lib/graph/cache-products.ts";
import type { Tensor } from "../src/lib/graph/tensor.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import type { CacheShape, ModelConfig } from "../src/inference/architectures/config.ts";
import { readModelConfig } from "../src/inference/architectures/config/read-config.ts";
import { servingLoraInputs, type LoraAdapter } from "../src/inference/architectures/lora.ts";
import { loraParameters } from "../src/inference/architectures/parameters.ts";
import { readLoraAdapter } from "../src/inference/architectures/peft-folder.ts";
import { readSafetensorsHeader } from "../src/lib/model-files/safetensors.ts";
import { readFloats, readIntegers } from "../src/lib/model-files/stored-tensor.ts";
import {
  buildContinuationGraph,
  buildDecodeGraph,
  buildPrefillGraph,
  laterPartCount,
  laterPartNames,
} from "../src/inference/architectures/serving-graphs.ts";
import {
  cacheNames,
  cacheShapes,
  stateNames,
  stateShapes,
} from "../src/inference/architectures/serving/sequence-memory.ts";
import type { WeightForms } from "../src/inference/architectures/quantized/weight-forms.ts";
import { createRandomAdapter } from "../src/inference/architectures/testing/random-adapter.ts";
import { addTrainingForward } from "../src/inference/architectures/training/forward.ts";
import type { WeightSource } from "../src/lib/graph/weight-source.ts";
import { readInt8TrainingWeights, readModelWeights } from "../src/inference/architectures/weights.ts";
import { integerKernels } from "../src/inference/onnx/integer-kernels.ts";
import { createSession, type Session } from "../src/inference/onnx/session.ts";
import { recurrenceOf } from "../src/inference/architectures/recurrent/recurrence.ts";

const goldens = "test/fixtures/goldens";
const names = [
  "llama",
  "llama3-rope",
  "llama-biases",
  "qwen2",
  "qwen3",
  "mistral-sliding",
  "gemma3",
  "granite",
  "smollm3",
  "olmo2",
  "phi3",
  "phi3-sliding",
  "qwen3-yarn",
  "olmo3",
  "ministral3",
  "gemma3-capped",
  "gemma3-images",
  "granite4",
  "granite4-hybrid",
  "nemotron-h",
  "lfm2",
  "lfm2-biases",
  "qwen3.5",
  "qwen3.5-biases",
  "qwen3.5-images",
  "gemma4",
  "gemma4-images",
  "gemma4-large",
  "qwen3-moe",
  "qwen3-moe-sums",
  "qwen3.5-moe",
  "gpt-oss",
  "gpt-oss-mxfp4",
];

type Feeds = Record<string, Tensor>;

interface Model {
  readonly config: ModelConfig;
  readonly weights: ReadonlyMap<string, WeightSource>;
}

function readModel(name: string): Model {
  const folder = `${goldens}/models/${name}`;
  const config = readModelConfig(folder);
  return { config, weights: readModelWeights(folder, config, { cacheFolder: null }) };
}

function sizeOf(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

function integers(values: Iterable<number>, dims: readonly number[]): Tensor {
  return { dtype: "int64", dims, data: BigInt64Array.from(values, BigInt) };
}

function floats(data: Float32Array, dims: readonly number[]): Tensor {
  return { dtype: "float32", dims, data };
}

function floatData(tensor: Tensor | undefined): Float32Array {
  assert.ok(tensor?.dtype === "float32");
  return tensor.data;
}

function greatestDifference(left: ArrayLike<number>, right: ArrayLike<number>): number {
  assert.equal(left.length, right.length);
  let greatest = 0;
  // Written so that NaN counts as the greatest difference.
  for (let index = 0; index < left.length; index++) {
    const difference = Math.abs(left[index] - right[index]);
    if (!(difference <= greatest)) greatest = difference;
  }
  return greatest;
}

function logprobOf(logits_V: Float32Array, id: number): number {
  const greatest = logits_V.reduce((most, value) => Math.max(most, value), -Infinity);
  const sum = logits_V.reduce((total, value) => total + Math.exp(value - greatest), 0);
  return logits_V[id] - greatest - Math.log(sum);
}

function greatestIndex(values: Float32Array): number {
  return values.reduce((best, value, index) => (value > values[best] ? index : best), 0);
}

function servingLora(config: ModelConfig, adapter: LoraAdapter | null): Feeds {
  return Object.fromEntries(
    [...servingLoraInputs(config, adapter)].map(([name, { shape, data }]) => [name, floats(data, shape)]),
  );
}

/**
 * Returns the form of the adapter's matrices. The adapters of these tests have low ranks, for which matrices stay
 * whole.
 */
function formOf(lora: Feeds | null): "whole" | null {
  return lora === null ? null : "whole";
}

async function withSession<T>(
  graph: Parameters<typeof createSession>[0],
  { weights }: Model,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await createSession(graph, { weights, threads: 1 });
  try {
    return await use(session);
  } finally {
    await session.release();
  }
}

/**
 * Returns inputs for models with convolutions: the rows of each sequence's last positions. Models with delta rules also
 * get the sequence's length. Other models get no inputs.
 */
function rowEnds(
  config: ModelConfig,
  { rowCount, length, padding }: Readonly<Record<"rowCount" | "length" | "padding", number>>,
): Feeds {
  if (config.convolution === null) return {};
  const size = config.convolution.kernelSize - 1;
  const ends = Array.from({ length: rowCount }, (_, row) =>
    Array.from({ length: size }, (__, place) => row * (size + length + padding) + length + place),
  );
  return {
    ends: integers(ends.flat(), [rowCount, size]),
    ...(recurrenceOf(config) !== null && {
      lengths: integers(Array<number>(rowCount).fill(length), [rowCount]),
    }),
  };
}

/** Returns the logits after every token of each row as a flat array [rows, T, V]. */
async function prefillLogits(
  model: Model,
  tokens: readonly number[][],
  lora: Feeds | null = null,
): Promise<Float32Array> {
  const length = tokens[0].length;
  const graph = buildPrefillGraph(model.config, { lora: formOf(lora) });
  const count = tokens.length * length;
  return withSession(graph, model, async (session) => {
    const outputs = await session.run({
      tokens: integers(tokens.flat(), [tokens.length, length]),
      places: integers(Array(count).keys(), [count]),
      ...rowEnds(model.config, { rowCount: tokens.length, length, padding: 0 }),
      ...lora,
    });
    return floatData(outputs["logits"]);
  });
}

/** Returns the log-probability of each next token as training computes it, as a flat array [rows, T - 1]. */
async function trainingLogprobs(
  model: Model & { readonly forms?: WeightForms },
  tokens: readonly number[][],
  adapter: LoraAdapter | null = null,
): Promise<{ readonly logprobs: Float32Array; readonly entropy: Float32Array }> {
  const length = tokens[0].length;
  const builder = new GraphBuilder();
  const inputs = {
    layout: {
      kind: "rows",
      tokens_BT: builder.input("tokens", "int64", ["B", "T"]),
      ...(recurrenceOf(model.config) !== null && { chunks_U: builder.input("chunks", "int64", ["U"]) }),
    } as const,
    places_N: builder.input("places", "int64", ["N"]),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const learns =
    adapter === null
      ? ({ kind: "nothing" } as const)
      : ({ kind: "lora", targets: adapter.targets, rank: adapter.rank, scale: adapter.scale } as const);
  const { forms } = model;
  const forward = addTrainingForward(builder, model.config, inputs, { learns, hasEntropy: true, forms });
  assert.ok(forward.entropy_N !== null);
  const graph = builder.build({ logprobs: forward.logprobs_N, entropy: forward.entropy_N });
  const places = tokens.flatMap((_, row) => Array.from({ length: length - 1 }, (_, t) => row * length + t));
  const matrices = adapter === null ? [] : loraParameters(model.config, adapter);
  return withSession(graph, model, async (session) => {
    const outputs = await session.run({
      tokens: integers(tokens.flat(), [tokens.length, length]),
      ...(recurrenceOf(model.config) !== null && { chunks: integers([0], [1]) }),
      places: integers(places, [places.length]),
      targets: integers(
        tokens.flatMap((row) => row.slice(1)),
        [places.length],
      ),
      ...Object.fromEntries(
        matrices.map(({ name, shape }) => [name, floats(adapter!.matrices.get(name)!, shape)]),
      ),
    });
    return { logprobs: floatData(outputs["logprobs"]), entropy: floatData(outputs["entropy"]) };
  });
}

/** A KV cache with one row. The tests fill it with the outputs of prefill and decode graphs. */
class RowCache {
  readonly #config: ModelConfig;
  readonly #capacity: number;
  readonly #arrays = new Map<string, Float32Array>();
  readonly #states: Float32Array[];
  length = 0;

  constructor(config: ModelConfig, capacity: number) {
    this.#config = config;
    this.#capacity = capacity;
    for (const [cache, { kvHeadCount, headSize }] of cacheShapes(config).entries()) {
      const size = kvHeadCount * capacity * headSize;
      // Unfilled positions must not be read.
      this.#arrays.set(cacheNames(cache).keys, new Float32Array(size).fill(1e3));
      this.#arrays.set(cacheNames(cache).values, new Float32Array(size).fill(1e3));
    }
    this.#states = stateShapes(config).map(({ dims }) => new Float32Array(sizeOf(dims)));
  }

  /** Returns the inputs of the graph that computes one token per row. */
  feeds(): Feeds {
    const dims = ({ kvHeadCount, headSize }: CacheShape) =>
      cacheDims(1, kvHeadCount, this.#capacity, headSize);
    return { ...this.#feedsOf(dims), ...this.stateFeeds() };
  }

  /** Returns the inputs that contain the states of the cache's only row. */
  stateFeeds(): Feeds {
    return Object.fromEntries(
      stateShapes(this.#config).map(({ dims }, state) => [
        stateNames(state).state,
        floats(this.#states[state], [1, ...dims]),
      ]),
    );
  }

  /**
   * Returns the inputs that contain the states of `partCount` parts. The first part has the states of this row; the
   * states of the other parts are zeros.
   */
  partStateFeeds(partCount: number): Feeds {
    const feeds: Feeds = {};
    for (const [state, { kind, dims }] of stateShapes(this.#config).entries()) {
      const values = new Float32Array(partCount * sizeOf(dims));
      values.set(this.#states[state]);
      if (kind === "inputs") {
        feeds[stateNames(state).state] = floats(values, [partCount, ...dims]);
        continue;
      }
      for (let part = 0; part < partCount; part++) {
        const own = values.subarray(part * sizeOf(dims), (part + 1) * sizeOf(dims));
        feeds[stateNames(state, part).state] = floats(own, [1, ...dims]);
      }
    }
    return feeds;
  }

  /** Returns the inputs of one part for the graph that computes later parts of a prompt. */
  partFeeds(part: number): Feeds {
    const feeds = this.#feedsOf(({ kvHeadCount, headSize }) => [1, kvHeadCount, this.#capacity, headSize]);
    return Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [`${name}.${part}`, tensor]));
  }

  #feedsOf(dimsOf: (shape: CacheShape) => readonly number[]): Feeds {
    const feeds = cacheShapes(this.#config).flatMap((shape, cache) => {
      const { keys, values } = cacheNames(cache);
      return [keys, values].map((name) => [name, floats(this.#arrays.get(name)!, dimsOf(shape))] as const);
    });
    return Object.fromEntries(feeds);
  }

  append(outputs: Readonly<Record<string, Tensor>>, count: number): void {
    for (const [cache, shape] of cacheShapes(this.#config).entries()) {
      const { keys, values, newKeys, newValues } = cacheNames(cache);
      this.#copy(keys, outputs[newKeys], count, shape);
      this.#copy(values, outputs[newValues], count, shape);
    }
    for (const [state, values] of this.#states.entries()) {
      const found = outputs[stateNames(state).newState] ?? outputs[stateNames(state, 0).newState];
      values.set(floatData(found).subarray(0, values.length));
    }
    this.length += count;
  }

  #copy(name: string, source: Tensor, count: number, { kvHeadCount, headSize }: CacheShape): void {
    const sourceLength = source.dims[source.dims.length - 2];
    for (let head = 0; head < kvHeadCount; head++) {
      const from = head * sourceLength * headSize;
      const to = (head * this.#capacity + this.length) * headSize;
      this.#arrays.get(name)!.set(floatData(source).subarray(from, from + count * headSize), to);
    }
  }
}

/** Returns the inputs of the continuation graph for a single part, with scores after the part's last token. */
function continuation(config: ModelConfig, cache: RowCache, tokens: readonly number[]): Feeds {
  const places = tokens.map((_, index) => index);
  const { length } = cache;
  const feeds: Feeds = {
    tokens: integers(tokens, [tokens.length]),
    positions: integers(
      places.map((place) => length + place),
      [tokens.length],
    ),
    places: integers([tokens.length - 1], [1]),
    order: integers(places, [1, tokens.length]),
  };
  if (config.convolution !== null) {
    const size = config.convolution.kernelSize - 1;
    // The inputs of the first part are its state, then its tokens. The other parts have only their state.
    const before = Array.from({ length: size }, (_, place) => place);
    const inputs = [...before, ...places.map((place) => laterPartCount * size + place)];
    const tapPlaces = before.flatMap((place) => inputs.slice(place, place + tokens.length));
    feeds["tap_places"] = integers(tapPlaces, [size, tokens.length]);
    const unused = Array.from({ length: (laterPartCount - 1) * size }, (_, place) => size + place);
    feeds["ends"] = integers([...inputs.slice(-size), ...unused], [laterPartCount, size]);
    Object.assign(feeds, cache.partStateFeeds(laterPartCount));
    for (let part = 0; recurrenceOf(config) !== null && part < laterPartCount; part++) {
      const rows = part === 0 ? places : [0];
      feeds[`own_rows.${part}`] = integers(rows, [1, rows.length]);
    }
  }
  for (let part = 0; part < laterPartCount; part++) {
    const names = laterPartNames(part);
    const rows = part === 0 ? places : [0];
    feeds[names.rows] = integers(rows, [1, rows.length]);
    feeds[names.pastLength] = integers([part === 0 ? length : 0], [1]);
    Object.assign(feeds, cache.partFeeds(part));
  }
  return feeds;
}

interface Greedy {
  readonly ids: readonly number[];
  /** Logits from which each id was chosen. */
  readonly logits: readonly Float32Array[];
}

/**
 * Generates greedily in three ways of computing: prefills a part of the prompt, computes the rest as one chunk on top
 * of the cache, then decodes one token at a time.
 */
async function decodeGreedily(
  model: Model,
  prompt: readonly number[],
  options: { readonly count: number; readonly chunkSize: number; readonly lora: Feeds | null },
): Promise<Greedy> {
  const { config } = model;
  const { count, chunkSize, lora } = options;
  const serving = { lora: formOf(lora) };
  const cache = new RowCache(config, 128);
  const head = prompt.slice(0, prompt.length - chunkSize);
  const padding = 3;
  const prefill = await withSession(buildPrefillGraph(config, serving), model, (session) =>
    session.run({
      tokens: integers([...head, ...Array<number>(padding).fill(5)], [1, head.length + padding]),
      places: integers([head.length - 1], [1]),
      ...rowEnds(config, { rowCount: 1, length: head.length, padding }),
      ...lora,
    }),
  );
  cache.append(prefill, head.length);
  let logits = floatData(prefill["logits"]);
  if (chunkSize > 0) {
    const chunk = prompt.slice(prompt.length - chunkSize);
    const outputs = await withSession(buildContinuationGraph(config, serving), model, (session) =>
      session.run({ ...continuation(config, cache, chunk), ...lora }),
    );
    cache.append(outputs, chunkSize);
    logits = floatData(outputs["logits"]);
  }
  return withSession(buildDecodeGraph(config, serving), model, async (session) => {
    const ids = [greatestIndex(logits)];
    const allLogits = [logits];
    while (ids.length < count) {
      const outputs = await session.run({
        tokens: integers([ids[ids.length - 1]], [1, 1]),
        past_lengths: integers([cache.length], [1]),
        ...cache.feeds(),
        ...lora,
      });
      cache.append(outputs, 1);
      allLogits.push(floatData(outputs["logits"]));
      ids.push(greatestIndex(floatData(outputs["logits"])));
    }
    return { ids, logits: allLogits };
  });
}

/** Forms in which a prompt is computed: as a whole, or in chunks of a number of tokens. */
const promptForms = [
  ["a whole prompt", 0],
  ["a prompt in two chunks", 5],
] as const;

/** Models whose greedy answers are compared. */
const decoded = new Set(searchedOf(names, 12, "decoding"));

function readGoldenTexts(folder: string) {
  // Safe cast: the fixture belongs to this project.
  return JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as {
    readonly greedy_prompt_ids: readonly number[];
    readonly greedy_ids: readonly number[];
  };
}

for (const name of names) {
  const folder = `${goldens}/models/${name}`;
  const golden = readSafetensorsHeader(`${folder}/golden.safetensors`).tensors;
  const flatIds = [...readIntegers(golden.get("input_ids")!)].map(Number);
  const tokens = [flatIds.slice(0, 48), flatIds.slice(48)];
  const wantedLogprobs = readFloats(golden.get("logprobs_of_next")!);
  // The limit is higher for recurrences, because the reference sums them in chunks of float32.
  const logprobDifferenceMax = recurrenceOf(readModelConfig(folder)) === null ? 1e-4 : 2e-4;
  const texts = readGoldenTexts(folder);

  test(`${name}: serving agrees with the reference`, async () => {
    const model = readModel(name);
    const logits = await prefillLogits(model, tokens);
    const difference = greatestDifference(logits, readFloats(golden.get("logits")!));
    assert.ok(difference < 1e-3, `logits differ by ${difference}`);
    const size = model.config.vocabularySize;
    const logprobs = tokens.flatMap((row, index) =>
      row.slice(1).map((id, t) => {
        const place = index * row.length + t;
        return logprobOf(logits.subarray(place * size, (place + 1) * size), id);
      }),
    );
    const logprobDifference = greatestDifference(logprobs, wantedLogprobs);
    assert.ok(logprobDifference < logprobDifferenceMax, `log-probabilities differ by ${logprobDifference}`);
  });

  test(`${name}: training agrees with the reference`, async () => {
    const { logprobs, entropy } = await trainingLogprobs(readModel(name), tokens);
    const difference = greatestDifference(logprobs, wantedLogprobs);
    assert.ok(difference < logprobDifferenceMax, `log-probabilities differ by ${difference}`);
    assert.ok(entropy.every((value) => value >= 0 && value <= Math.log(512)));
  });

  for (const [what, chunkSize] of decoded.has(name) ? searchedOf(promptForms, 1, name) : [])
    test(`${name}: decoding with the KV cache after ${what} gives the reference's tokens`, async () => {
      const greedy = await decodeGreedily(readModel(name), texts.greedy_prompt_ids, {
        count: texts.greedy_ids.length,
        chunkSize,
        lora: null,
      });
      assert.deepEqual(greedy.ids, texts.greedy_ids);
    });
}

for (const name of searchedOf(names, 6, "adapters")) {
  const folder = `${goldens}/models/${name}`;
  test(`${name}: serving with an adapter agrees with training`, async () => {
    const texts = readGoldenTexts(folder);
    const model = readModel(name);
    const adapter = createRandomAdapter(model.config, { rank: 2, alpha: 3, seed: 1 });
    const lora = servingLora(model.config, adapter);
    const { ids, logits } = await decodeGreedily(model, texts.greedy_prompt_ids, {
      count: 20,
      chunkSize: 4,
      lora,
    });
    const whole = [...texts.greedy_prompt_ids, ...ids];
    const { logprobs } = await trainingLogprobs(model, [whole], adapter);
    const trained = logprobs.subarray(texts.greedy_prompt_ids.length - 1);
    const served = ids.map((id, index) => logprobOf(logits[index], id));
    const difference = greatestDifference(served, trained);
    assert.ok(difference < 1e-4, `log-probabilities differ by ${difference}`);
    const { logprobs: untouched } = await trainingLogprobs(model, [whole]);
    assert.ok(greatestDifference(untouched, logprobs) > 1e-2);
  });
}

test("the reference adapter changes the model as in the reference implementation", async () => {
  const model = readModel("qwen3");
  const adapter = readLoraAdapter(`${goldens}/training/adapter`, model.config);
  const { sequences } = JSON.parse(readFileSync(`${goldens}/training/training.json`, "utf8")) as {
    readonly sequences: readonly { readonly token_ids: number[] }[];
  };
  const tokens = [sequences[0].token_ids];
  const size = model.config.vocabularySize;
  const logits = await prefillLogits(model, tokens, servingLora(model.config, adapter));
  const { logprobs } = await trainingLogprobs(model, tokens, adapter);
  const served = tokens[0].slice(1).map((id, t) => logprobOf(logits.subarray(t * size, (t + 1) * size), id));
  const difference = greatestDifference(served, logprobs);
  assert.ok(difference < 1e-4, `log-probabilities differ by ${difference}`);
  const { logprobs: untouched } = await trainingLogprobs(model, tokens);
  assert.ok(greatestDifference(untouched, logprobs) > 1e-2);
});

/** Adapters that PEFT made, and their models. */
const adapters = [
  ["fused projections", "phi3-adapter", "phi3"],
  ["the text part of a multimodal model", "images-adapter", "qwen3.5-images"],
] as const;

for (const [what, file, name] of adapters)
  test(`an adapter that PEFT made for ${what} changes the model as in the reference implementation`, async () => {
    const model = readModel(name);
    const folder = `${goldens}/${file}`;
    const adapter = readLoraAdapter(folder, model.config);
    const golden = JSON.parse(readFileSync(`${folder}/golden.json`, "utf8")) as {
      readonly token_ids: readonly number[];
      readonly logprobs_of_next: readonly number[];
    };
    const { logprobs } = await trainingLogprobs(model, [[...golden.token_ids]], adapter);
    const difference = greatestDifference(logprobs, golden.logprobs_of_next);
    assert.ok(difference < 1e-4, `log-probabilities differ by ${difference}`);
  });

// Tests signed codes only if this processor multiplies them exactly.
const { codes: fastestCodes } = await integerKernels(null);
for (const codes of fastestCodes === "int8" ? (["int8", "uint8"] as const) : (["uint8"] as const)) {
  test(`with ${codes} weights, training limits the logits like the reference`, async () => {
    const folder = `${goldens}/models/gemma3-capped`;
    const config = readModelConfig(folder);
    const kernels = { codes, fourBits: false };
    const { sources: weights, forms } = readInt8TrainingWeights(folder, config, {
      cacheFolder: null,
      kernels,
    });
    const golden = readSafetensorsHeader(`${folder}/golden.safetensors`).tensors;
    const ids = [...readIntegers(golden.get("input_ids")!)].map(Number);
    const tokens = [ids.slice(0, 48), ids.slice(48)];
    const { logprobs } = await trainingLogprobs({ config, weights, forms }, tokens);
    const wanted = readFloats(golden.get("logprobs_of_next")!);
    const difference =
      logprobs.reduce((sum, value, at) => sum + Math.abs(value - wanted[at]), 0) / wanted.length;
    assert.ok(difference < 0.1, `log-probabilities differ by ${difference}`);
  });
}
