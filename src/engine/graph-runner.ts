// The model runner over compiled graphs: picks the graph, feeds it, and writes what comes back into the lane.
// Does not know requests; a call is for rows of one lane and one adapter.
import { present, unreachable } from "../domain/assert.ts";
import type { AdapterReference } from "../domain/generation.ts";
import type { Graph } from "../graph/graph.ts";
import { float32Data, float32Tensor, int64Tensor, type Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/config.ts";
import { readModelConfig } from "../model/config/read-config.ts";
import { loraFormOf, type LoraForm } from "../model/lora.ts";
import { modelParameters } from "../model/parameters.ts";
import {
  buildContinuationGraph,
  buildDecodeGraph,
  buildPrefillGraph,
  cacheNames,
  laterPartCount,
  type ServingOptions,
} from "../model/serving-graphs.ts";
import { readModelWeights, type WeightSource } from "../model/weights.ts";
import { createSession, type Session } from "../runtime/session.ts";
import { AdapterCache } from "./adapter-cache.ts";
import type { EntryRange, KvLane } from "./cache/kv-lane.ts";
import type { LoadedAdapter, ModelRunner, PromptPart } from "./model-runner.ts";
import type { ModelShape } from "./model-shape.ts";
import { laterPartCaches, layOutFirstParts, layOutLaterParts } from "./part-layout.ts";
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

/** First parts of prompts, later parts, and one token a row. */
type GraphKind = "first" | "later" | "token";

/** Parts of prompts that are computed in one call. */
interface PartGroup {
  readonly kind: "first" | "later";
  readonly group: readonly PromptPart[];
}

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
    await this.#session("token", null);
    await this.#session("first", null);
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
    for (const { kind, group } of this.#groups(lane, adapter, parts)) {
      const results = await this.#prefillTogether(kind, lane, adapter, group);
      group.forEach((part, index) => logits.set(part, results[index]));
    }
    return parts.map((part) => present(logits.get(part), "the scores of a part"));
  }

  async decode(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly number[],
  ): Promise<Float32Array> {
    const count = tokenIds.length;
    const feeds: Record<string, Tensor> = {
      tokens: int64Tensor([count, 1], tokenIds),
      past_lengths: int64Tensor([count], lane.lengths.slice(0, count)),
    };
    this.#feedCache(feeds, lane, { slot: 0, count });
    const outputs = await this.#run("token", adapter, feeds);
    this.#keep(
      lane,
      tokenIds.map((_, slot) => ({ slot, range: { row: slot, start: 0, count: 1 } })),
      { outputs, positionCount: 1 },
    );
    return float32Data(outputs["logits"]);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.release();
    this.#sessions.clear();
  }

  /** The parts that share a call: first parts, or later parts as many as their graph has room for. */
  #groups(lane: KvLane, adapter: LoadedAdapter | null, parts: readonly PromptPart[]): readonly PartGroup[] {
    const isFirst = ({ slot }: PromptPart): boolean => lane.lengths[slot] === 0;
    const groupsOf = (
      kind: "first" | "later",
      members: readonly PromptPart[],
      countMax: number,
    ): PartGroup[] => {
      // Only arranged weights give a row the same numbers alone and among others.
      const size = this.#isPrepacked(kind, loraOf(adapter)) ? countMax : 1;
      const starts = members.flatMap((_, index) => (index % size === 0 ? [index] : []));
      return starts.map((start) => ({ kind, group: members.slice(start, start + size) }));
    };
    return [
      ...groupsOf("first", parts.filter(isFirst), Infinity),
      ...groupsOf(
        "later",
        parts.filter((part) => !isFirst(part)),
        laterPartCount,
      ),
    ];
  }

  async #prefillTogether(
    kind: "first" | "later",
    lane: KvLane,
    adapter: LoadedAdapter | null,
    parts: readonly PromptPart[],
  ): Promise<readonly Float32Array[]> {
    const layout = kind === "first" ? layOutFirstParts(parts) : layOutLaterParts(lane, parts);
    const caches = kind === "first" ? {} : laterPartCaches(lane, parts, this.shape);
    const outputs = await this.#run(kind, adapter, { ...layout.feeds, ...caches });
    this.#keep(
      lane,
      parts.map(({ slot }, index) => ({ slot, range: layout.ranges[index] })),
      { outputs, positionCount: layout.positionCount },
    );
    return splitRows(float32Data(outputs["logits"]), this.shape.vocabularySize, layout.rowCounts);
  }

  async #run(
    kind: GraphKind,
    adapter: LoadedAdapter | null,
    feeds: Record<string, Tensor>,
  ): Promise<Readonly<Record<string, Tensor>>> {
    const session = await this.#session(kind, loraOf(adapter));
    return session.run({ ...feeds, ...adapter?.feeds });
  }

  /** Made at first use: not every engine serves adapters or long prompts. */
  async #session(kind: GraphKind, lora: LoraForm | null): Promise<Session> {
    const name = `${kind} ${lora ?? "base"}`;
    const made = this.#sessions.get(name);
    if (made !== undefined) return made;
    const { config, weights, threads } = this.#options;
    const session = await createSession(graphOf(kind, config, { lora }), {
      weights,
      threads,
      prepackWeights: this.#isPrepacked(kind, lora),
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

  /** Writes the new keys and values of each slot, whose place in the outputs is given. */
  #keep(
    lane: KvLane,
    entries: readonly { readonly slot: number; readonly range: EntryRange }[],
    result: { readonly outputs: Readonly<Record<string, Tensor>>; readonly positionCount: number },
  ): void {
    const { outputs, positionCount } = result;
    for (let layer = 0; layer < this.shape.layerCount; layer++) {
      const names = cacheNames(layer);
      const keys = float32Data(outputs[names.newKeys]);
      const values = float32Data(outputs[names.newValues]);
      for (const { slot, range } of entries) lane.write(layer, slot, range, { keys, values, positionCount });
    }
    for (const { slot, range } of entries) lane.advance(slot, range.count);
  }

  /**
   * Whether a session keeps its own arranged copy of the weights also of a large model: where rows of several requests
   * meet, since only arranged weights give a row the same numbers alone and among others. The rest goes without the copy.
   */
  #isPrepacked(kind: GraphKind, lora: LoraForm | null): boolean {
    return !this.#isLarge || kind === "token" || lora === null;
  }
}

function loraOf(adapter: LoadedAdapter | null): LoraForm | null {
  return adapter === null ? null : loraFormOf(adapter.rank);
}

function graphOf(kind: GraphKind, config: ModelConfig, options: ServingOptions): Graph {
  switch (kind) {
    case "first":
      return buildPrefillGraph(config, options);
    case "later":
      return buildContinuationGraph(config, options);
    case "token":
      return buildDecodeGraph(config, options);
    default:
      return unreachable(kind);
  }
}

/** Views of consecutive rows, so many for each part. */
function splitRows(
  logits_NV: Float32Array,
  vocabularySize: number,
  rowCounts: readonly number[],
): readonly Float32Array[] {
  let end = 0;
  return rowCounts.map((count) => {
    const start = end;
    end += count * vocabularySize;
    return logits_NV.subarray(start, end);
  });
}
