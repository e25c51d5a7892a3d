// The model runner over compiled graphs: picks the graph, feeds it, and writes what comes back into the lane.
// Does not know requests; a call is for rows of one lane and one adapter.
import { present } from "../domain/assert.ts";
import type { AdapterReference } from "../domain/generation.ts";
import type { Graph } from "../graph/graph.ts";
import { float32Data, float32Tensor, int64Tensor, type Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/config.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import { modelParameters } from "../model/parameters.ts";
import { buildDecodeGraph, buildPrefillGraph, cacheNames } from "../model/serving-graphs.ts";
import { readModelWeights, type WeightSource } from "../model/weights.ts";
import { createSession, type Session } from "../runtime/session.ts";
import { AdapterCache } from "./adapter-cache.ts";
import type { KvLane } from "./cache/kv-lane.ts";
import type { LoadedAdapter, ModelRunner, PromptPart } from "./model-runner.ts";
import type { ModelShape } from "./model-shape.ts";
import type { EngineSettings } from "./settings.ts";

export interface FolderRunnerOptions {
  readonly modelFolder: string;
  readonly cacheFolder: string;
  /** With the zeros that mean "by the machine" replaced. */
  readonly settings: EngineSettings;
}

/**
 * A runner for a model folder.
 *
 * @throws ServiceError when the folder does not hold a model that can be served
 */
export async function openGraphRunner(options: FolderRunnerOptions): Promise<ModelRunner> {
  const { modelFolder, cacheFolder, settings } = options;
  const stored = readModelConfig(modelFolder);
  const contextLength = Math.min(stored.contextLength, settings.contextLengthMax);
  const config = { ...stored, contextLength };
  const weights = readModelWeights(modelFolder, config, { cacheFolder });
  return createGraphRunner({
    config,
    weights,
    threads: settings.threads,
    adapterCountMax: settings.adapterCountMax,
  });
}

export interface GraphRunnerOptions {
  readonly config: ModelConfig;
  /** For every parameter of the graphs. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  readonly threads: number;
  readonly adapterCountMax: number;
}

/** A runner for weights that are at hand; the graphs that every model needs are ready when it returns. */
export async function createGraphRunner(options: GraphRunnerOptions): Promise<ModelRunner> {
  const runner = new GraphRunner(options);
  await runner.prepare();
  return runner;
}

/** Whole prompts, one token over a cache, several tokens over a cache. */
type GraphKind = "prompt" | "token" | "chunk";

/**
 * Whole prompts are padded to a multiple of this. Fused attention works in blocks of rows, and sums a block of one row in
 * another order than a longer one: which rows are last in their block must not depend on the prompts beside.
 */
const promptGranule = 8;

/** Weights beyond this are not copied for graphs that do well without. */
const largeModelBytes = 256 * 1024 * 1024;

class GraphRunner implements ModelRunner {
  readonly shape: ModelShape;
  readonly #options: GraphRunnerOptions;
  readonly #adapters: AdapterCache;
  readonly #sessions = new Map<string, Session>();
  readonly #isLarge: boolean;

  constructor(options: GraphRunnerOptions) {
    const { config, adapterCountMax } = options;
    this.#options = options;
    this.#adapters = new AdapterCache(config, adapterCountMax);
    const weightCount = modelParameters(config).reduce(
      (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
      0,
    );
    this.#isLarge = weightCount * Float32Array.BYTES_PER_ELEMENT > largeModelBytes;
    this.shape = {
      layerCount: config.layers.length,
      kvHeadCount: config.kvHeadCount,
      headSize: config.headSize,
      vocabularySize: config.vocabularySize,
      contextLength: config.contextLength,
    };
  }

  async prepare(): Promise<void> {
    await this.#session("token", false);
    await this.#session("prompt", false);
  }

  loadAdapter(reference: AdapterReference): LoadedAdapter {
    return this.#adapters.load(reference);
  }

  dropAdapter(id: string): void {
    this.#adapters.drop(id);
  }

  async prefill(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]> {
    const logits = new Map<PromptPart, Float32Array>();
    for (const group of groupParts(lane, adapter, parts)) {
      const results = await this.#prefillTogether(lane, adapter, group);
      group.forEach((part, index) => logits.set(part, results[index]));
    }
    return parts.map((part) => present(logits.get(part), "the scores of a part"));
  }

  async decode(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly number[],
  ): Promise<Float32Array> {
    // The kernels sum the products with an adapter's matrices in another order for one row than for several, so there are
    // always several. The row that is added has no past and is not kept.
    const padding = adapter !== null && tokenIds.length === 1 ? [0] : [];
    const count = tokenIds.length + padding.length;
    const feeds: Record<string, Tensor> = {
      tokens: int64Tensor([count, 1], [...tokenIds, ...padding]),
      past_lengths: int64Tensor([count], [...lane.lengths.slice(0, tokenIds.length), ...padding]),
    };
    this.#feedCache(feeds, lane, { slot: 0, count });
    const outputs = await this.#run("token", adapter, feeds);
    this.#keep(
      lane,
      tokenIds.map((_, slot) => ({ slot, count: 1 })),
      { outputs, positionCount: 1 },
    );
    return float32Data(outputs["logits"]);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.release();
    this.#sessions.clear();
  }

  async #prefillTogether(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]> {
    const [first] = parts;
    const past = lane.lengths[first.slot];
    const longest = Math.max(...parts.map(({ tokenIds }) => tokenIds.length));
    const length = past > 0 ? longest : Math.ceil(longest / promptGranule) * promptGranule;
    const tokens_BT = new BigInt64Array(parts.length * length);
    parts.forEach(({ tokenIds }, row) => {
      tokenIds.forEach((id, position) => (tokens_BT[row * length + position] = BigInt(id)));
    });
    const places = parts.map((part, row) => wantedTokens(part).map((token) => row * length + token));
    const places_N = places.flat();
    // As in decoding: with an adapter there are always several rows. Without one, no row at all is as good as some.
    if (adapter !== null && places_N.length < 2) places_N.push(0, 0);
    const feeds: Record<string, Tensor> = {
      tokens: int64Tensor([parts.length, length], tokens_BT),
      places: int64Tensor([places_N.length], places_N),
    };
    if (past > 0) {
      feeds["past_lengths"] = int64Tensor([1], [past]);
      this.#feedCache(feeds, lane, { slot: first.slot, count: 1 });
    }
    const outputs = await this.#run(past > 0 ? "chunk" : "prompt", adapter, feeds);
    const rows = parts.map(({ slot, tokenIds }) => ({ slot, count: tokenIds.length }));
    this.#keep(lane, rows, { outputs, positionCount: length });
    return splitRows(float32Data(outputs["logits"]), this.shape.vocabularySize, places);
  }

  async #run(
    kind: GraphKind,
    adapter: LoadedAdapter | null,
    feeds: Record<string, Tensor>,
  ): Promise<Readonly<Record<string, Tensor>>> {
    const session = await this.#session(kind, adapter !== null);
    return session.run({ ...feeds, ...adapter?.feeds });
  }

  /** Made at first use: not every engine serves adapters or long prompts. */
  async #session(kind: GraphKind, hasLora: boolean): Promise<Session> {
    const name = `${kind} ${hasLora ? "with" : "without"} adapter`;
    const made = this.#sessions.get(name);
    if (made !== undefined) return made;
    const { config, weights, threads } = this.#options;
    const session = await createSession(graphOf(kind, config, hasLora), {
      weights,
      threads,
      prepackWeights: !this.#isLarge || isAlwaysPrepacked(kind, hasLora),
    });
    this.#sessions.set(name, session);
    return session;
  }

  #feedCache(
    feeds: Record<string, Tensor>,
    lane: KvLane,
    range: { readonly slot: number; readonly count: number },
  ): void {
    const { layerCount, kvHeadCount, headSize } = this.shape;
    const dims = [range.count, kvHeadCount, lane.capacity, headSize];
    for (let layer = 0; layer < layerCount; layer++) {
      const names = cacheNames(layer);
      feeds[names.keys] = float32Tensor(dims, lane.keys(layer, range.slot, range.count));
      feeds[names.values] = float32Tensor(dims, lane.values(layer, range.slot, range.count));
    }
  }

  /** Writes the new keys and values of each row, whose slot and count of real positions are given. */
  #keep(
    lane: KvLane,
    rows: readonly { readonly slot: number; readonly count: number }[],
    result: { readonly outputs: Readonly<Record<string, Tensor>>; readonly positionCount: number },
  ): void {
    const { outputs, positionCount } = result;
    for (let layer = 0; layer < this.shape.layerCount; layer++) {
      const names = cacheNames(layer);
      const keys = float32Data(outputs[names.newKeys]);
      const values = float32Data(outputs[names.newValues]);
      rows.forEach(({ slot, count }, row) =>
        lane.write(layer, slot, row, count, { keys, values, positionCount }),
      );
    }
    for (const { slot, count } of rows) lane.advance(slot, count);
  }
}

/**
 * The parts that share a call: all first parts. A later part is by itself, and so is every part with an adapter: the rows
 * of its products would depend on those of the others.
 */
function groupParts(
  lane: KvLane,
  adapter: LoadedAdapter | null,
  parts: readonly PromptPart[],
): readonly (readonly PromptPart[])[] {
  const isFirst = ({ slot }: PromptPart): boolean => adapter === null && lane.lengths[slot] === 0;
  const first = parts.filter(isFirst);
  const alone = parts.filter((part) => !isFirst(part)).map((part) => [part]);
  return first.length === 0 ? alone : [first, ...alone];
}

/** The tokens of a part after which scores are wanted, by their place in it. */
function wantedTokens({ tokenIds, logits }: PromptPart): readonly number[] {
  if (logits === "all") return tokenIds.map((_, token) => token);
  return logits === "last" ? [tokenIds.length - 1] : [];
}

/** Views of consecutive rows, as many for each part as it has places. */
function splitRows(
  logits_NV: Float32Array,
  vocabularySize: number,
  places: readonly (readonly number[])[],
): readonly Float32Array[] {
  let end = 0;
  return places.map(({ length }) => {
    const start = end;
    end += length * vocabularySize;
    return logits_NV.subarray(start, end);
  });
}

/**
 * Whether a session keeps its own arranged copy of the weights also of a large model: where rows of several requests meet,
 * since only arranged weights give a row the same numbers alone and among others. The rest goes without the copy.
 */
function isAlwaysPrepacked(kind: GraphKind, hasLora: boolean): boolean {
  return kind === "token" || (kind === "prompt" && !hasLora);
}

function graphOf(kind: GraphKind, config: ModelConfig, hasLora: boolean): Graph {
  if (kind === "prompt") return buildPrefillGraph(config, { hasLora });
  return buildDecodeGraph(config, { hasLora, tokenCount: kind === "token" ? 1 : "T" });
}
