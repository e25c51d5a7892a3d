// All lanes and their memory. The base model and each adapter in use have one lane, or more if the lengths of their
// sequences differ much. A lane is opened when a sequence needs it and closed when it is empty; the scheduler admits
// only sequences that fit.
import { present } from "../../../base/domain/assert.ts";
import type { Clock } from "../../../base/domain/clock.ts";
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
  /** Share of the key-value memory that cached prefixes may take, in percent. */
  readonly prefixCachePercent: number;
  /**
   * Cost of a second lane, as the number of positions per step that it must save; if absent, derived from the model's
   * dimensions.
   */
  readonly lanePositions?: number;
  /** Prompt transfers; absent if prompts are neither held for other engines nor received. */
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

/** Fraction of a lane's capacity above which a row counts as soon needing more room. */
const longShare = 0.8;

/** Maximum size in bytes of a row that is moved; copying this much in one step takes about ten milliseconds. */
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
    clock: Pick<Clock, "monotonicMs">,
  ) {
    const { shape } = runner;
    const { contextLength } = shape;
    this.#runner = runner;
    this.#costs = laneCosts(shape, lanePositions);
    this.#cache = new KvCache(shape, { bytesMax: kvCacheBytesMax, slotCountMax }, clock);
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
   * Returns the gain of decoding two lanes in one call. If neither lane has an adapter, the call uses a graph without
   * adapter operations.
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
    // A prompt whose log-probabilities are requested must be computed, so it does not read the cache. Its result is
    // still cached for other prompts.
    const isShared = !sequence.needsLogprobs && sequence.tokenCount <= this.#prefixes.positionCountMax;
    sequence.prefixScope = isShared ? scopeOf(sequence) : null;
    if (isShared) this.#queries += sequence.tokenCount;
  }

  /**
   * Continues a prompt from its cached prefix, if the prefix is long enough to be worth the copy.
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
    // Without cached logits the last token must be computed, to get the logits after it. For an embedding the last
    // token must always be computed.
    const cached = this.#prefixes.countCached(kept, scores_V === null ? tokenCount - 1 : tokenCount);
    if (this.#runner.shape.states.length > 0) prompt.branchCount = cached.matched;
    const count = cached.readable;
    if (scores_V === null && count - computedCount < sharedCountMin) return null;
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt in prefill");
    // Making room may evict cached entries, so fewer tokens may be readable now.
    this.makeRoom(lane, count);
    const readCount = this.#prefixes.read(kept, count, { lane: lane.kv, slot: slotOf(prompt) });
    prompt.computedCount += readCount;
    this.#hits += readCount;
    if (prompt.computedCount < tokenCount || scores_V === null) return null;
    this.#hold(prompt, scores_V);
    return scores_V;
  }

  /**
   * Continues a prompt from keys and values that another engine computed, like {@link readCached}; the next step
   * computes the rest of the prompt.
   */
  #readReceived(prompt: Sequence, received: ReceivedPrompt): Float32Array | null {
    const lane = present(this.#lanes.get(prompt.laneId), "the lane of a prompt in prefill");
    this.makeRoom(lane, received.tokenCount);
    const place = { lane: lane.kv, slot: slotOf(prompt) };
    prompt.computedCount += received.copyTo(place, prompt.computedCount);
    const isOver = prompt.computedCount >= received.tokenCount;
    const scores_V = isOver ? received.scores_V : null;
    // A part without its states is not cached, since the cache would save those of the slot.
    const isComplete = isOver || this.#runner.shape.states.length === 0;
    if (scores_V === null && isComplete)
      this.#prefixes.keep({ scope: scopeOf(prompt), tokenIds: prompt.tokenIds }, prompt.computedCount, place);
    if (scores_V !== null) this.cachePrompt(prompt, scores_V);
    if (!isOver) return null;
    prompt.running.received = null;
    received.release();
    return scores_V;
  }

  /** Copies a computed prompt for another engine, if the request asks to hold it. */
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
   * Caches the computed part of a prompt for later requests.
   *
   * @param logits_V logits after the last computed token; not modified. Null if there are none
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
   * All sequences that hold slots. The rows of a beam search hold their slots together, so the first row represents
   * all of them.
   */
  get holders(): readonly Sequence[] {
    const isHolder = ({ running, choice }: Sequence): boolean => running.search === null || choice === 0;
    return [...this.#lanes.values()].flatMap(({ rows, prompts }) => [...rows.filter(isHolder), ...prompts]);
  }

  /**
   * Takes the slots of a sequence and its followers, and discards the keys and values that were computed for them.
   * Call it only between calls of the runner, because slots move.
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
   * Grows lanes that will soon be full and shrinks those that use little of their room, a part of the copying per step.
   * Before that, moves a long row to another lane if this avoids growing. Call it once per step, between calls of the
   * runner, because slots move.
   */
  resize(): void {
    this.#moveLongRows();
    const lanes = new Map([...this.#lanes.values()].map((lane) => [lane.kv, lane]));
    this.#cache.resizeLanes((kv) => present(lanes.get(kv), "the lane of keys and values").prospect);
    this.#limitPrefixes();
  }

  /** Makes room for a call after which the lane's longest computed sequence has this many tokens. */
  makeRoom(lane: Lane, positionCount: number): void {
    this.#ensure(lane, { slotCount: lane.kv.usedCount, positionCount });
  }

  /**
   * Turns a computed prompt into a row for each of its unfinished choices. If all choices are finished, this does
   * nothing, and the next sweep removes the prompt.
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

  /** Removes every finished sequence. Call it only between calls of the runner, because slots move. */
  sweep(): void {
    for (const lane of this.#lanes.values()) {
      // `removeRow` fills the freed slot with a copy of the lane's last row. In reverse order, the last row is unfinished
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

  /** Returns the lane of the sequence's adapter that costs the least, or a new lane if that costs less. */
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

  /** Returns the lanes of an adapter. The first is the lane in which the scheduler counts the adapter's sequences. */
  #lanesOf(adapterKey: string): readonly Lane[] {
    const lanes = [...this.#lanes.values()].filter((lane) => lane.adapterKey === adapterKey);
    return lanes.toSorted((one, other) => Number(other.id === adapterKey) - Number(one.id === adapterKey));
  }

  #open(adapterKey: string, adapter: LoadedAdapter | null): Lane {
    this.#openedCount += 1;
    // The number cannot equal the id of another adapter's lane, because no adapter key is a number.
    const id = this.#lanes.has(adapterKey) ? `${this.#openedCount}` : adapterKey;
    const lane = new Lane({ id, adapterKey }, adapter, this.#cache.openLane(adapterKey));
    this.#lanes.set(id, lane);
    return lane;
  }

  /**
   * Moves a row that outgrows its lane to another lane of its adapter, if this avoids growing the lane. The row's
   * contents are copied within one step, so a row is moved only while it is small.
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
   * Returns the row of a lane that will soon need more room than the lane has; undefined if there is no such row, or
   * several.
   */
  #findLongRow({ rows, prompts, kv }: Lane): Sequence | undefined {
    if (prompts.length > 0 || rows.length < 2) return undefined;
    const long = rows.filter(({ computedCount }) => computedCount > longShare * kv.capacity);
    const [row] = long;
    const mayMove =
      long.length === 1 &&
      row.running.search === null &&
      row.computedCount <= this.#costs.copiedCountMax &&
      row.positionCountMax > kv.capacity;
    return mayMove ? row : undefined;
  }

  /** Returns the lane to which a long row should move; null if growing the row's own lane costs less. */
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
    // The row's neighbours are known here, so no further rows are assumed to join a new lane: the saving must pay for a
    // lane with only this row.
    const place = placeSequence(need, states, this.#costs, 1);
    if (place === 0) return null;
    const target = place === null ? "new" : others[place - 1];
    return target !== "new" && target.prompts.length > 0 ? null : target;
  }

  /**
   * Makes room in a lane.
   *
   * @param need.also a sequence that will join the lane, whose reservation counts too
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

  /** Frees memory that no lane uses. */
  releaseSpares(): void {
    this.#cache.limitSpares(0);
  }

  /** Limits the prefix cache to the memory that lanes do not use, because lanes take precedence. */
  #limitPrefixes(): void {
    this.#prefixes.limit(this.#bytesMax - this.#cache.bytes);
    this.#cache.limitSpares(this.#bytesMax - this.#cache.bytes - this.#prefixes.bytes);
  }

  /** Closes a lane that is empty. */
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
 * Returns the costs of another lane, converted to positions that a step reads. The operations of a second lane take
 * about as long as reading two megabytes per layer. A separate call takes about four times as long as these
 * operations.
 */
function laneCosts(shape: ModelShape, lanePositions: number | undefined): LaneCosts {
  const second = lanePositions ?? (layerBytesOfSecond * shape.layerCount) / positionBytes(shape);
  return { second, call: 4 * second, copiedCountMax: copiedBytesMax / positionBytes(shape) };
}

/**
 * Returns the scope within which a prompt shares cached entries. It identifies the weights, on which keys and values
 * depend besides the tokens, and the owner and salt, which limit the sharing.
 */
function scopeOf({ running }: Sequence): string {
  const { cacheOwner, cacheSalt } = running.request;
  return JSON.stringify([running.adapter?.revision ?? null, cacheOwner, cacheSalt]);
}
