// The model runner over compiled graphs: selects the graph for a call, feeds it, and writes the results into the lane.
// It does not know requests; each call covers rows of one lane and one adapter.
import { present } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { AdapterReference } from "../../base/domain/generation.ts";
import { cacheDims } from "../../lib/graph/cache-products.ts";
import { float32Data, float32Tensor, int64Tensor, type Tensor } from "../../lib/graph/tensor.ts";
import type { ModelConfig } from "../architectures/config.ts";
import { largeWeightBytes } from "../architectures/large-weights.ts";
import { loraFormOf, type LoraForm } from "../architectures/lora.ts";
import { keptBytes } from "../architectures/quantized/weight-forms.ts";
import { laterPartCount } from "../architectures/serving-graphs.ts";
import { groupName, pairedGroups } from "../architectures/serving/paired-graph.ts";
import {
  cacheNames,
  cacheShapes,
  stateNames,
  stateShapes,
} from "../architectures/serving/sequence-memory.ts";
import { toAdapterFeeds } from "./adapters/read-adapter.ts";
import { AdapterCache, AdapterThread } from "./adapters/adapter-cache.ts";
import { type ArrangedCache, arrangedForSessions, cachedForSessions } from "./sessions/arranged-cache.ts";
import { LateWeights } from "./sessions/late-weights.ts";
import type { EntryRange, KvLane } from "./cache/kv-lane.ts";
import { IdleWork } from "./idle-work.ts";
import type { DecodingRows, LoadedAdapter, ModelRunner, PromptPart } from "./model-runner.ts";
import { hasMatrices, type ModelShape } from "./model-shape.ts";
import { newStateOf, type Outputs } from "./new-states.ts";
import { DraftedStates } from "./drafts/drafted-states.ts";
import { layOutDrafts } from "./drafts/draft-layout.ts";
import { laterPartCaches, layOutFirstParts, layOutLaterParts } from "./part-layout.ts";
import {
  graphsOfEveryRequest,
  ServingSessions,
  startsUnarranged,
  type GraphKind,
  type GraphsOfEveryRequest,
  type SessionsOptions,
} from "./sessions/serving-sessions.ts";

export interface GraphRunnerOptions extends SessionsOptions {
  readonly adapterCountMax: number;
  /** Hash of the base weights. Adapters that were trained on other weights are refused; if absent, none is refused. */
  readonly weightsHash?: string;
  /**
   * If given, the runner uses idle time to prepare graphs that only some requests need, and a separate thread reads
   * adapters. If absent, graphs are prepared at first use, and the calling thread reads adapters.
   */
  readonly clock?: Clock;
  /** If false, graphs and adapters are prepared at first use, even with a clock. */
  readonly preparesAhead?: boolean;
  /**
   * If true, the rows of two lanes share calls even if the lanes have adapters. If absent, the size of the weights
   * decides. If the processor's caches hold the weights, reading them twice takes less time than computing the second
   * adapter in a shared call.
   */
  readonly pairsAdapters?: boolean;
  /**
   * If given, large weights are converted once to the arrangement that the runtime's kernels need, and stored in a
   * mapped file. If absent, every session has a private copy in memory.
   */
  readonly arrangedCache?: ArrangedCache;
}

/** Creates a runner for loaded weights. The graphs that every request needs are compiled when the promise resolves. */
export async function createGraphRunner(options: GraphRunnerOptions): Promise<ModelRunner> {
  const { clock, preparesAhead = true, arrangedCache, device = "cpu" } = options;
  const graphs = graphsOfEveryRequest(options);
  const idleClock = preparesAhead ? clock : undefined;
  // Arranged weights suit only the CPU's kernels.
  const cache = device === "cpu" ? arrangedCache : undefined;
  const arrangesLater = cache !== undefined && idleClock !== undefined;
  const { weights, late } =
    cache === undefined
      ? { weights: options.weights, late: null }
      : await arrangedWeights(graphs, { cache, mayBeLate: arrangesLater }, options);
  const sessions = new ServingSessions({ ...options, weights });
  await sessions.prepare(graphs, { arrangesLater, late });
  const idleWork = idleClock
    ? new IdleWork(idleClock, sessions.furtherTasks(), sessions.urgentTasks())
    : null;
  return new GraphRunner(options, sessions, idleWork);
}

/** Weights with arranged copies; `late` writes those that are missing. */
interface ArrangedWeights {
  readonly weights: SessionsOptions["weights"];
  readonly late: LateWeights | null;
}

/** Returns the arranged weights from the cache. Writes those that are missing, unless they may be written later. */
async function arrangedWeights(
  graphs: GraphsOfEveryRequest,
  { cache, mayBeLate }: { readonly cache: ArrangedCache; readonly mayBeLate: boolean },
  { weights, threads }: GraphRunnerOptions,
): Promise<ArrangedWeights> {
  const { onLateFailure, isReadOnly = false } = cache;
  if (!mayBeLate || onLateFailure === undefined || isReadOnly || !startsUnarranged(graphs))
    return { weights: await arrangedForSessions(graphs, cache, { weights, threads }), late: null };
  const cached = cachedForSessions(graphs, cache, { weights, threads });
  if (cached.isComplete) return { weights: cached.weights, late: null };
  const write = (pace: () => Promise<void>): Promise<SessionsOptions["weights"]> =>
    arrangedForSessions(graphs, cache, { weights, threads, pace });
  return { weights: cached.weights, late: new LateWeights(write, onLateFailure) };
}

/** Prompt parts that are computed in one call. */
interface PartGroup {
  readonly kind: "first" | "later";
  readonly group: readonly PromptPart[];
}

/** Location of a slot's new keys, values and states in the outputs of a graph. */
interface SlotEntries {
  readonly slot: number;
  /** Index of the slot's row in the new states. */
  readonly stateRow: number;
  readonly range: EntryRange;
}

interface RunResult {
  readonly outputs: Outputs;
  /** Number of positions in each row of new keys and values. */
  readonly positionCount: number;
}

class GraphRunner implements ModelRunner {
  readonly shape: ModelShape;
  readonly hiddenSize: number;
  readonly #sessions: ServingSessions;
  readonly #idleWork: IdleWork | null;
  readonly #thread: AdapterThread | null;
  readonly #adapters: AdapterCache;
  readonly #drafted = new DraftedStates((feeds) => this.#run("replay", null, feeds));
  #hasBlocks = false;
  readonly #config: ModelConfig;
  readonly #pairsLanes: boolean;
  readonly #pairsAdapters: boolean;
  #zeros: LoadedAdapter["feeds"] | null = null;

  constructor(
    { config, forms, device = "cpu", pairsAdapters, adapterCountMax, weightsHash, clock }: GraphRunnerOptions,
    sessions: ServingSessions,
    idleWork: IdleWork | null,
  ) {
    this.#config = config;
    this.#pairsLanes = device === "cpu";
    this.#pairsAdapters = pairsAdapters ?? keptBytes(config, forms ?? new Map()) >= largeWeightBytes;
    this.#sessions = sessions;
    this.#idleWork = idleWork;
    this.#thread = clock === undefined ? null : new AdapterThread(config);
    idleWork?.add(async () => this.#thread?.startAhead());
    this.#adapters = new AdapterCache(config, {
      countMax: adapterCountMax,
      ...(weightsHash !== undefined && { weights: weightsHash }),
      ...(this.#thread && { thread: this.#thread }),
    });
    this.shape = {
      caches: cacheShapes(config),
      states: stateShapes(config),
      vocabularySize: config.vocabularySize,
      contextLength: config.contextLength,
    };
    this.hiddenSize = config.width;
  }

  loadAdapter(reference: AdapterReference): LoadedAdapter {
    const adapter = this.#adapters.load(reference);
    if (loraFormOf(adapter.rank) === "blocks" && !this.#hasBlocks) {
      this.#hasBlocks = true;
      for (const task of this.#sessions.tasksOf("blocks")) this.#idleWork?.add(task);
    }
    return adapter;
  }

  prepareAdapter(reference: AdapterReference): Promise<void> | null {
    return this.#adapters.prepare(reference);
  }

  async warmUp({ rank }: LoadedAdapter): Promise<void> {
    await this.#sessions.prepareAdapters(loraFormOf(rank));
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
    for (const { kind, group } of this.#groups(lane, parts)) {
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
    const outputs = await this.#run("token", adapter, {
      tokens: int64Tensor([count, 1], tokenIds),
      past_lengths: int64Tensor([count], lane.lengths.slice(0, count)),
      ...this.#cacheFeeds(lane, count),
    });
    this.#keep(
      lane,
      tokenIds.map((_, slot) => ({ slot, stateRow: slot, range: { row: slot, start: 0, count: 1 } })),
      { outputs, positionCount: 1 },
    );
    return float32Data(outputs["logits"]);
  }

  async decodePair(
    pair: readonly [DecodingRows, DecodingRows],
  ): Promise<readonly [Float32Array, Float32Array]> {
    const { vocabularySize } = this.shape;
    const counts = pair.map(({ tokenIds }) => tokenIds.length);
    const starts = [0, counts[0]];
    const isAdapted = pair.some(({ adapter }) => adapter !== null);
    const feeds = pairedGroups.flatMap((group) => {
      const { lane, adapter, tokenIds } = pair[group];
      const count = counts[group];
      const rows = tokenIds.map((_, row) => starts[group] + row);
      const own: Readonly<Record<string, Tensor>> = {
        tokens: int64Tensor([count, 1], tokenIds),
        past_lengths: int64Tensor([count], lane.lengths.slice(0, count)),
        rows: int64Tensor([count], rows),
        ...this.#cacheFeeds(lane, count),
        ...(isAdapted ? (adapter?.feeds ?? this.#noAdapter()) : {}),
      };
      return Object.entries(own).map(([name, tensor]) => [groupName(name, group), tensor] as const);
    });
    this.#idleWork?.postpone();
    const session = await this.#sessions.get("pair", isAdapted ? "whole" : null);
    const outputs = await session.run(Object.fromEntries(feeds));
    for (const group of pairedGroups) {
      const entries = pair[group].tokenIds.map((_, slot) => ({
        slot,
        stateRow: starts[group] + slot,
        range: { row: starts[group] + slot, start: 0, count: 1 },
      }));
      this.#keep(pair[group].lane, entries, { outputs, positionCount: 1 });
    }
    const [first, second] = splitRows(float32Data(outputs["logits"]), vocabularySize, counts);
    return [first, second];
  }

  pairs(one: LoadedAdapter | null, other: LoadedAdapter | null): boolean {
    if (
      !this.#pairsLanes ||
      hasMatrices(this.shape) ||
      loraOf(one) === "blocks" ||
      loraOf(other) === "blocks"
    )
      return false;
    const lora = one === null && other === null ? null : "whole";
    if (lora !== null && !this.#pairsAdapters) return false;
    return this.#idleWork === null || this.#sessions.has("pair", lora);
  }

  /**
   * Returns the inputs of an adapter of zeros, which changes nothing. It stands for the base model when adapted rows
   * share a call with rows of the base model.
   */
  #noAdapter(): LoadedAdapter["feeds"] {
    this.#zeros ??= toAdapterFeeds(this.#config, null).feeds;
    return this.#zeros;
  }

  async decodeDrafts(
    lane: KvLane,
    adapter: LoadedAdapter | null,
    tokenIds: readonly (readonly number[])[],
  ): Promise<readonly Float32Array[]> {
    const { feeds, positionCount } = layOutDrafts(lane, tokenIds);
    const outputs = await this.#run("drafts", adapter, {
      ...feeds,
      ...this.#cacheFeeds(lane, tokenIds.length),
    });
    const { vocabularySize } = this.shape;
    const logits = float32Data(outputs["logits"]);
    const lengths = tokenIds.map(({ length }) => length);
    this.#writeCaches(
      lane,
      lengths.map((count, slot) => ({ slot, range: { row: slot, start: 0, count } })),
      { outputs, positionCount },
    );
    for (const slot of lengths.keys()) lane.advance(slot, 1);
    await this.#drafted.keep(lane, { outputs, lengths });
    return lengths.map((length, slot) => {
      const start = slot * positionCount * vocabularySize;
      return logits.subarray(start, start + length * vocabularySize);
    });
  }

  acceptDraft(lane: KvLane, slot: number, count: number): Promise<void> {
    lane.advance(slot, count);
    return this.#drafted.accept(lane, slot, count);
  }

  isReadyForDrafts(adapter: LoadedAdapter | null): boolean {
    const isReplayed = !hasMatrices(this.shape) || this.#isReady("replay", null);
    return isReplayed && this.#isReady("drafts", adapter);
  }

  async close(): Promise<void> {
    await this.#idleWork?.stop();
    await this.#thread?.close();
    await this.#sessions.close();
  }

  /**
   * Groups prompt parts that share a call: all first parts together, and later parts in groups as large as their graph
   * allows.
   */
  #groups(lane: KvLane, parts: readonly PromptPart[]): readonly PartGroup[] {
    const isFirst = ({ slot }: PromptPart): boolean => lane.lengths[slot] === 0;
    const groupsOf = (kind: "first" | "later", members: readonly PromptPart[], size: number): PartGroup[] => {
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
    const isAlone = kind === "later" && parts.length === 1 && this.#isReady("later-single", adapter);
    const partCount = isAlone ? 1 : laterPartCount;
    const layout =
      kind === "first" ? layOutFirstParts(lane, parts) : layOutLaterParts(lane, parts, partCount);
    const caches = kind === "first" ? {} : laterPartCaches(lane, parts, partCount);
    const outputs = await this.#run(isAlone ? "later-single" : kind, adapter, { ...layout.feeds, ...caches });
    this.#keep(
      lane,
      parts.map(({ slot }, index) => ({ slot, stateRow: index, range: layout.ranges[index] })),
      { outputs, positionCount: layout.positionCount },
    );
    const logits = splitRows(float32Data(outputs["logits"]), this.shape.vocabularySize, layout.rowCounts);
    const hidden = splitRows(float32Data(outputs["hidden"]), this.hiddenSize, layout.rowCounts);
    return parts.map((part, index) => (part.logits === "last-hidden" ? hidden : logits)[index]);
  }

  async #run(
    kind: GraphKind,
    adapter: LoadedAdapter | null,
    feeds: Readonly<Record<string, Tensor>>,
  ): Promise<Outputs> {
    this.#idleWork?.postpone();
    const session = await this.#sessions.get(kind, loraOf(adapter));
    return session.run({ ...feeds, ...adapter?.feeds });
  }

  /** True if an optional graph, which only saves time, is ready. Until then, calls do without the graph. */
  #isReady(kind: GraphKind, adapter: LoadedAdapter | null): boolean {
    return this.#idleWork === null || this.#sessions.has(kind, loraOf(adapter));
  }

  /** Returns the graph inputs for the caches and states of the first `count` slots. */
  #cacheFeeds(lane: KvLane, count: number): Readonly<Record<string, Tensor>> {
    const feeds: Record<string, Tensor> = {};
    for (const [layer, { kvHeadCount, headSize }] of this.shape.caches.entries()) {
      const dims = cacheDims(count, kvHeadCount, lane.capacity, headSize);
      const names = cacheNames(layer);
      feeds[names.keys] = float32Tensor(dims, lane.keys(layer, 0, count));
      feeds[names.values] = float32Tensor(dims, lane.values(layer, 0, count));
    }
    for (const [state, { dims: stateDims }] of this.shape.states.entries())
      feeds[stateNames(state).state] = float32Tensor(
        [count, ...stateDims],
        lane.states.view(state, 0, count),
      );
    return feeds;
  }

  /** Writes each slot's new keys, values and states from the outputs into the lane, and advances the slots' lengths. */
  #keep(lane: KvLane, entries: readonly SlotEntries[], result: RunResult): void {
    this.#writeCaches(lane, entries, result);
    this.#writeStates(lane, entries, result.outputs);
    for (const { slot, range } of entries) lane.advance(slot, range.count);
  }

  #writeCaches(
    lane: KvLane,
    entries: readonly Pick<SlotEntries, "slot" | "range">[],
    { outputs, positionCount }: RunResult,
  ): void {
    for (const layer of this.shape.caches.keys()) {
      const names = cacheNames(layer);
      const keys = float32Data(outputs[names.newKeys]);
      const values = float32Data(outputs[names.newValues]);
      for (const { slot, range } of entries) lane.write(layer, slot, range, { keys, values, positionCount });
    }
  }

  #writeStates(lane: KvLane, entries: readonly SlotEntries[], outputs: Outputs): void {
    const { states } = this.shape;
    const isWhole =
      entries.length === lane.usedCount && entries.every(({ slot, stateRow }) => slot === stateRow);
    const whole = states.map(({ dims }, state) => {
      const found = outputs[stateNames(state).newState];
      const size = dims.reduce((product, each) => product * each, entries.length);
      return found?.data.length === size ? float32Data(found) : null;
    });
    if (isWhole && whole.every((values) => values !== null)) {
      lane.states.replaceAll(whole, entries.length);
      return;
    }
    for (const [state, shape] of states.entries())
      for (const { slot, stateRow } of entries)
        lane.states.view(state, slot, 1).set(newStateOf(shape, outputs, { state, row: stateRow }));
  }
}

function loraOf(adapter: LoadedAdapter | null): LoraForm | null {
  return adapter === null ? null : loraFormOf(adapter.rank);
}

/** Splits the rows of an array into one view per prompt part. `rowCounts` has the number of rows of each part. */
function splitRows(
  rows_NW: Float32Array,
  width: number,
  rowCounts: readonly number[],
): readonly Float32Array[] {
  let end = 0;
  return rowCounts.map((count) => {
    const start = end;
    end += count * width;
    return rows_NW.subarray(start, end);
  });
}
