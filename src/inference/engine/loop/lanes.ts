// All lanes and their memory. A lane holds rows with the same adapter that are computed together. The base model and
// each adapter in use have one lane, or more if their sequences differ much in length; a lane is opened when a sequence
// needs it and closed when it is empty.
import { present } from "../../../base/domain/assert.ts";
import { KvCache, keyValueBytesMax, slotBytesOf } from "../cache/kv-cache.ts";
import { positionBytes } from "../cache/slab.ts";
import type { LoadedAdapter, ModelRunner } from "../model-runner.ts";
import type { ModelShape } from "../model-shape.ts";
import { PrefixCache } from "../prefix-cache/prefix-cache.ts";
import { sharedCountMin } from "../prefix-cache/shared-tokens.ts";
import { heldArrays } from "../transfers/held-arrays.ts";
import type { ReceivedPrompt } from "../transfers/received-prompt.ts";
import type { TransferStore } from "../transfers/transfer-store.ts";
import {
  placeSequence,
  type LaneCosts,
  type LaneState,
  type SlotRequest,
} from "../schedule/place-sequence.ts";
import type { PlannedCall } from "../schedule/plan-calls.ts";
import { Lane, slotOf } from "./lane.ts";
import { successorOf, type Sequence } from "./sequence.ts";

/** Limits of lanes and cached prompts. */
export interface LaneLimits {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  /** Share of the key-value memory that the prefix cache may take, in percent. */
  readonly prefixCachePercent: number;
  /**
   * Rows get a second lane only if it saves each step from reading at least this many cached positions. If absent,
   * derived from the model's dimensions.
   */
  readonly lanePositions?: number;
  /** Store of prompts that are sent to or received from other engines; absent if the engine does neither. */
  readonly transfers?: TransferStore;
}

export interface LaneCounts {
  readonly laneCount: number;
  /** Number of slots in use. */
  readonly slotCount: number;
}

/** Prefix cache statistics. */
export interface PrefixCounts {
  readonly bytes: number;
  /** Number of prompt tokens that were looked up in the prefix cache. */
  readonly queries: number;
  /** Number of prompt tokens that were found in the prefix cache. */
  readonly hits: number;
}

/**
 * A row is too long for its lane if it fills more than `long` of the lane's capacity and all other rows fill at most
 * `others`. If others are only a little shorter, they will soon need a larger capacity too.
 */
const shares = { long: 0.8, others: 0.5 } as const;

/**
 * Maximum size in bytes of a row that may move to another lane. Copying this much takes about ten milliseconds within
 * one step.
 */
const copiedBytesMax = 2 ** 25;

const layerBytesOfSecond = 2 ** 21;

export class Lanes implements Iterable<Lane> {
  readonly #runner: ModelRunner;
  readonly #cache: KvCache;
  readonly #bytesMax: number;
  readonly #prefixes: PrefixCache;
  readonly #transfers: TransferStore | undefined;
  readonly #lanes = new Map<string, Lane>();
  readonly #costs: LaneCosts;
  #openedCount = 0;
  #queries = 0;
  #hits = 0;

  constructor(
    runner: ModelRunner,
    { slotCountMax, kvCacheBytesMax, prefixCachePercent, lanePositions, transfers }: LaneLimits,
  ) {
    const { shape } = runner;
    const { contextLength } = shape;
    this.#runner = runner;
    this.#costs = laneCosts(shape, lanePositions);
    this.#cache = new KvCache(shape, { bytesMax: kvCacheBytesMax, slotCountMax });
    this.#bytesMax = keyValueBytesMax({
      kvCacheBytesMax,
      slotCountMax,
      contextLength,
      ...slotBytesOf(shape),
    });
    this.#prefixes = new PrefixCache(shape, (this.#bytesMax * prefixCachePercent) / 100);
    this.#transfers = transfers;
  }

  get kvCacheBytes(): number {
    return this.#cache.bytes;
  }

  get kvCacheBytesMax(): number {
    return this.#bytesMax;
  }

  get counts(): LaneCounts {
    const lanes = [...this.#lanes.values()];
    return { laneCount: lanes.length, slotCount: lanes.reduce((sum, { kv }) => sum + kv.usedCount, 0) };
  }

  get cachedPrefixes(): PrefixCounts {
    return { bytes: this.#prefixes.bytes, queries: this.#queries, hits: this.#hits };
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  [Symbol.iterator](): Iterator<Lane> {
    return this.#lanes.values();
  }

  find(id: string): Lane | undefined {
    return this.#lanes.get(id);
  }

  /** Returns the lanes of a planned call that still exist. */
  decodingIn({ laneId, pairedId }: Extract<PlannedCall<Sequence>, { kind: "decode" }>): readonly Lane[] {
    const ids = pairedId === undefined ? [laneId] : [laneId, pairedId];
    return ids.flatMap((id) => this.#lanes.get(id) ?? []);
  }

  /**
   * Returns the gain of decoding two lanes in one call: 0 without a gain, 1 or 2 otherwise. The gain is greatest if
   * neither lane has an adapter, because the call then needs no operations for adapters.
   */
  pairGain(one: string, other: string): number {
    const [first, second] = [one, other].map(
      (id) => present(this.#lanes.get(id), "a lane with rows").adapter,
    );
    if (!this.#runner.pairs(first, second)) return 0;
    return first === null && second === null ? 2 : 1;
  }

  /**
   * Gives a sequence a slot in a lane of its adapter.
   *
   * @throws ServiceError if the adapter cannot be read
   */
  admit(sequence: Sequence): void {
    const wanted = sequence.tokenCount + sequence.answerTokenIds.length + 1;
    const positionCount = Math.min(wanted, sequence.positionCountMax);
    const lane = this.#chooseLane(sequence, { positionCount, slotCount: sequence.slotCount });
    this.#ensure(lane, { slotCount: lane.kv.usedCount + 1, positionCount, also: sequence });
    for (const each of [sequence, ...sequence.followers]) each.placedIn = lane.id;
    lane.addPrompt(sequence);
    // A prompt with requested log-probabilities must be computed, so it does not read the cache. The result is still
    // cached for other prompts.
    const isShared = !sequence.needsLogprobs && sequence.tokenCount <= this.#prefixes.positionCountMax;
    sequence.prefixScope = isShared ? scopeOf(sequence) : null;
    if (isShared && !sequence.running.request.isInternal) this.#queries += sequence.tokenCount;
  }

  /**
   * Continues a prompt from its cached prefix, if the prefix is long enough to be worth copying.
   *
   * @returns logits after the prompt if it is fully cached; else null
   */
  readCached(prompt: Sequence): Float32Array | null {
    const { prefixScope, tokenIds, tokenCount, computedCount, running } = prompt;
    if (running.received !== null) return this.#readReceived(prompt, running.received);
    if (prefixScope === null) return null;
    const kept = { scope: prefixScope, tokenIds };
    const isWhole =
      !prompt.wantsEmbedding && this.#prefixes.countCached(kept, tokenCount).readable === tokenCount;
    const scores_V = isWhole ? this.#prefixes.scoresAfter(kept) : null;
    // If the logits after the prompt are not cached, the last token must be computed to get them. An embedding always
    // needs the last token to be computed.
    const cached = this.#prefixes.countCached(kept, scores_V === null ? tokenCount - 1 : tokenCount);
    if (this.#runner.shape.states.length > 0) prompt.branchCount = cached.matched;
    const count = cached.readable;
    if (scores_V === null && count - computedCount < sharedCountMin) return null;
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt in prefill");
    // Making room may evict entries from the cache, so `read` may return fewer tokens than were counted.
    this.makeRoom(lane, count);
    const readCount = this.#prefixes.read(kept, count, { lane: lane.kv, slot: slotOf(prompt) });
    prompt.computedCount += readCount;
    if (!running.request.isInternal) this.#hits += readCount;
    if (prompt.computedCount < tokenCount || scores_V === null) return null;
    this.#hold(prompt, scores_V);
    return scores_V;
  }

  /**
   * Continues a prompt from keys and values that another engine computed, like {@link readCached}. Later steps compute
   * the tokens that follow.
   */
  #readReceived(prompt: Sequence, received: ReceivedPrompt): Float32Array | null {
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt in prefill");
    this.makeRoom(lane, received.tokenCount);
    const place = { lane: lane.kv, slot: slotOf(prompt) };
    prompt.computedCount += received.copyTo(place, prompt.computedCount);
    const isOver = prompt.computedCount >= received.tokenCount;
    const scores_V = isOver ? received.scores_V : null;
    // If the model has states, a received prompt is cached only after all of it is copied. Until then, the slot's
    // states do not match the copied part.
    const isComplete = isOver || this.#runner.shape.states.length === 0;
    if (scores_V === null && isComplete)
      this.#prefixes.keep({ scope: scopeOf(prompt), tokenIds: prompt.tokenIds }, prompt.computedCount, place);
    if (scores_V !== null) this.cachePrompt(prompt, scores_V);
    if (!isOver) return null;
    prompt.running.received = null;
    received.release();
    return scores_V;
  }

  /** Copies a computed prompt into the store for transfers, if the request asks to hold it for another engine. */
  #hold(prompt: Sequence, scores_V: Float32Array): void {
    const { running, tokenIds } = prompt;
    const { hold } = running.request.prompt;
    if (hold === undefined || running.isHeld !== null || this.#transfers === undefined) return;
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt that was computed");
    const owner = running.request.cacheOwner;
    running.isHeld = this.#transfers.hold({ hold, owner, tokenIds }, () => ({
      ...heldArrays(this.#prefixes.lend({ scope: scopeOf(prompt), tokenIds }), tokenIds.length, {
        lane: lane.kv,
        slot: slotOf(prompt),
      }),
      scores_V: scores_V.slice(),
    }));
  }

  /**
   * Adds the computed part of a prompt to the prefix cache.
   *
   * @param logits_V logits after the last computed token, or null if there are none; not modified
   */
  cachePrompt(prompt: Sequence, logits_V: Float32Array | null): void {
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt that was computed");
    const { tokenIds, computedCount } = prompt;
    const kept = { scope: scopeOf(prompt), tokenIds };
    this.#prefixes.keep(kept, computedCount, { lane: lane.kv, slot: slotOf(prompt) });
    if (computedCount < tokenIds.length || logits_V === null) return;
    this.#prefixes.cacheScores(kept, logits_V);
    this.#hold(prompt, logits_V);
  }

  /**
   * Sequences that hold slots, for planning preemption. A beam search loses all its slots together, so its first row
   * stands for all of its rows.
   */
  get holders(): readonly Sequence[] {
    const isHolder = ({ running, choice }: Sequence): boolean => running.search === null || choice === 0;
    return [...this.#lanes.values()].flatMap(({ rows, prompts }) => [...rows.filter(isHolder), ...prompts]);
  }

  /**
   * Takes the slots away from a sequence and its followers (the sequences that share its prompt), and discards their
   * computed keys and values. Must be called only between calls of the runner, because slots move.
   */
  preempt(sequence: Sequence): void {
    const lane = present(this.#lanes.get(sequence.laneId), "the lane of a sequence that runs");
    if (lane.prompts.includes(sequence)) lane.removePrompt(sequence);
    for (const each of [sequence, ...sequence.followers]) {
      if (each.slot !== null) lane.removeRow(each);
      each.forgetComputed();
    }
    this.#closeIfEmpty(lane);
  }

  /**
   * Moves long rows to other lanes if this avoids growing their lane, and shrinks lanes that are mostly unused. Must be
   * called once per step, between calls of the runner, because slots move.
   */
  rearrange(): void {
    this.#moveLongRows();
    const lanes = new Map([...this.#lanes.values()].map((lane) => [lane.kv, lane]));
    this.#cache.shrinkLanes((kv) => present(lanes.get(kv), "the lane of keys and values").prospect);
    this.#limitPrefixes();
  }

  /**
   * Makes room in a lane for a call, after which the lane's longest sequence will have `positionCount` computed tokens.
   */
  makeRoom(lane: Lane, positionCount: number): void {
    this.#ensure(lane, { slotCount: lane.kv.usedCount, positionCount });
  }

  /**
   * Turns a computed prompt into a row for each of its unfinished choices. If all choices are finished, does nothing;
   * the next sweep then removes the prompt.
   */
  beginRows(leader: Sequence): void {
    const lane = present(this.#lanes.get(leader.laneId), "the lane of a computed prompt");
    const first = successorOf(leader);
    if (first === null) return;
    if (first !== leader) lane.handOver(leader, first);
    const { followers, running } = first;
    if (running.search === null) first.followers = [];
    lane.promote(first);
    this.#ensure(lane, { slotCount: lane.kv.usedCount + followers.length, positionCount: 0 });
    for (const follower of followers) lane.addCopy(first, follower);
  }

  /** Removes every finished sequence. Must be called only between calls of the runner, because slots move. */
  sweep(): void {
    for (const lane of this.#lanes.values()) {
      // `removeRow` copies the lane's last row into the freed slot. Going backwards, the last row is either unfinished
      // or the removed row itself, so no finished row is copied.
      for (const row of lane.rows.filter(({ isFinished }) => isFinished).reverse()) lane.removeRow(row);
      for (const prompt of lane.prompts.slice()) {
        const successor = successorOf(prompt);
        if (successor === null) lane.removePrompt(prompt);
        else if (successor !== prompt) lane.handOver(prompt, successor);
      }
      this.#closeIfEmpty(lane);
    }
  }

  /** Returns the cheapest lane for the sequence's adapter, which may be a new lane. */
  #chooseLane(
    { adapterKey, running, positionCountMax }: Sequence,
    need: Pick<SlotRequest, "positionCount" | "slotCount">,
  ): Lane {
    const lanes = this.#lanesOf(adapterKey);
    const place = placeSequence({ ...need, positionCountMax }, lanes.map(stateOf), this.#costs);
    if (lanes.length > 0) running.adapter = lanes[0].adapter;
    if (place !== null) return lanes[place];
    const reference = running.request.prompt.adapter;
    if (reference !== null) running.adapter ??= this.#runner.loadAdapter(reference);
    return this.#open(adapterKey, running.adapter);
  }

  /** Returns the lanes of an adapter. The scheduler counts the adapter's sequences in the first of these lanes. */
  #lanesOf(adapterKey: string): readonly Lane[] {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.adapterKey === adapterKey);
    return lanes.toSorted((one, other) => Number(other.id === adapterKey) - Number(one.id === adapterKey));
  }

  #open(adapterKey: string, adapter: LoadedAdapter | null): Lane {
    this.#openedCount += 1;
    // A second lane of an adapter gets a number as its id. No adapter key is a number, so the id is unique.
    const id = this.#lanes.has(adapterKey) ? `${this.#openedCount}` : adapterKey;
    const lane = new Lane({ id, adapterKey }, adapter, this.#cache.openLane(adapterKey));
    this.#lanes.set(id, lane);
    return lane;
  }

  /**
   * Moves a row that outgrows its lane to another lane of its adapter, if this avoids growing the lane. The row is
   * copied within one step, so only small rows are moved.
   */
  #moveLongRows(): void {
    for (const lane of this.#lanes.values()) {
      const row = this.#findLongRow(lane);
      if (row === undefined) continue;
      const { positionCountMax, computedCount } = row;
      const positionCount = lane.kv.capacity + 1;
      const others = this.#lanesOf(lane.adapterKey).filter((other) => other !== lane);
      const target = this.#targetOf(row, { from: lane, others, positionCount });
      if (target === null) continue;
      const into = target === "new" ? this.#open(lane.adapterKey, lane.adapter) : target;
      this.#cache.ensure(into.kv, into.kv.usedCount + 1, computedCount + 1, positionCountMax);
      lane.moveRow(row, into);
      this.#closeIfEmpty(lane);
    }
  }

  /**
   * Returns the row of a lane that will soon need more room than the lane has; undefined if no row does, or if others are
   * nearly as long.
   */
  #findLongRow({ rows, prompts, kv }: Lane): Sequence | undefined {
    if (prompts.length > 0 || rows.length < 2) return undefined;
    const [row, second] = rows.toSorted((one, other) => other.computedCount - one.computedCount);
    const mayMove =
      row.computedCount > shares.long * kv.capacity &&
      second.computedCount <= shares.others * kv.capacity &&
      row.running.search === null &&
      row.computedCount <= this.#costs.copiedCountMax &&
      row.positionCountMax > kv.capacity;
    return mayMove ? row : undefined;
  }

  /** Returns the lane to which a long row should move; null if growing the row's present lane costs less. */
  #targetOf(
    { positionCountMax }: Sequence,
    {
      from,
      others,
      positionCount,
    }: { readonly from: Lane; readonly others: readonly Lane[]; readonly positionCount: number },
  ): Lane | "new" | null {
    const need = { slotCount: 1, positionCount, positionCountMax };
    const left = { ...stateOf(from), slotCount: from.rows.length - 1 };
    const states = [left, ...others.map(stateOf)];
    // The 1 means that only this row is expected in a new lane, so the lane must pay off for this row.
    const place = placeSequence(need, states, this.#costs, 1);
    if (place === 0) return null;
    const target = place === null ? "new" : others[place - 1];
    return target !== "new" && target.prompts.length > 0 ? null : target;
  }

  /**
   * Makes room in a lane for slots and positions.
   *
   * @param need.also a sequence that will join the lane; its reserved maximum length counts too
   */
  #ensure(
    lane: Lane,
    need: { readonly slotCount: number; readonly positionCount: number; readonly also?: Sequence },
  ): void {
    const { slotCount, positionCount, also } = need;
    const positionCountMax = Math.max(lane.positionCountMax, also?.positionCountMax ?? 0);
    this.#cache.ensure(lane.kv, slotCount, positionCount, positionCountMax);
    this.#limitPrefixes();
  }

  /** Frees spare memory that no lane uses. */
  releaseSpares(): void {
    this.#cache.limitSpares(0);
  }

  /** See {@link SpareSlabs.takeDroppedBytes}. */
  takeDroppedBytes(): number {
    return this.#cache.takeDroppedBytes();
  }

  /** Limits the prefix cache and the spare memory to what lanes leave free, because lanes take precedence. */
  #limitPrefixes(): void {
    this.#prefixes.limit(this.#bytesMax - this.#cache.bytes);
    this.#cache.limitSpares(this.#bytesMax - this.#cache.bytes - this.#prefixes.bytes);
  }

  /** Closes a lane if it has no sequences. */
  #closeIfEmpty(lane: Lane): void {
    if (!lane.isEmpty) return;
    this.#cache.closeLane(lane.kv);
    this.#lanes.delete(lane.id);
    this.#limitPrefixes();
  }
}

function stateOf(lane: Lane): LaneState {
  const { slotCount, positionCountMax } = lane.load;
  const heldCount = lane.kv.lengths.reduce((sum, length) => sum + length, 0);
  return { slotCount, positionCountMax, heldCount, capacity: lane.kv.capacity };
}

/**
 * Returns the costs of another lane, as numbers of positions that a step could read in the same time. The operations of
 * a second lane take about as long as reading two megabytes per layer. A separate call takes about four times as long
 * as these operations.
 */
function laneCosts(shape: ModelShape, lanePositions: number | undefined): LaneCosts {
  const second = lanePositions ?? (layerBytesOfSecond * shape.caches.length) / positionBytes(shape);
  return { second, call: 4 * second, copiedCountMax: copiedBytesMax / positionBytes(shape) };
}

/**
 * Returns the scope within which a prompt shares cached entries. The scope identifies the weights, because keys and
 * values depend on them, and the owner and salt, which restrict the sharing.
 */
function scopeOf({ running }: Sequence): string {
  const { cacheOwner, cacheSalt } = running.request;
  return JSON.stringify([running.adapter?.revision ?? null, cacheOwner, cacheSalt]);
}
