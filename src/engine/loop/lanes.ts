// All lanes with the memory behind them: one for the base model and for each adapter in use, opened when a sequence needs
// it and closed when it is empty. The scheduler admits only what fits.
import { present } from "../../domain/assert.ts";
import { KvCache } from "../cache/kv-cache.ts";
import type { ModelRunner } from "../model-runner.ts";
import { Lane } from "./lane.ts";
import { successorOf, type Sequence } from "./sequence.ts";

export class Lanes implements Iterable<Lane> {
  readonly #runner: ModelRunner;
  readonly #cache: KvCache;
  readonly #lanes = new Map<string, Lane>();

  constructor(runner: ModelRunner, kvCacheBytesMax: number) {
    this.#runner = runner;
    this.#cache = new KvCache(runner.shape, kvCacheBytesMax);
  }

  get kvCacheBytes(): number {
    return this.#cache.bytes;
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

  /**
   * Gives a sequence a slot in the lane of its adapter.
   *
   * @throws ServiceError when the adapter cannot be read
   */
  admit(sequence: Sequence): void {
    const lane = this.#open(sequence);
    const positionCountMax = Math.max(sequence.positionCountMax, lane.positionCountMax);
    this.#cache.ensure(lane.kv, lane.kv.usedCount + 1, 1, positionCountMax);
    lane.addPrompt(sequence);
  }

  /** Everything that holds slots; the rows of a search hold theirs together, and the first stands for them. */
  get holders(): readonly Sequence[] {
    const isHolder = ({ running, choice }: Sequence): boolean => running.search === null || choice === 0;
    return [...this.#lanes.values()].flatMap(({ rows, prompts }) => [...rows.filter(isHolder), ...prompts]);
  }

  /**
   * Takes their slots from a sequence and its followers, and what is computed of them. Only between calls of the
   * runner: slots move.
   */
  preempt(sequence: Sequence): void {
    const lane = present(this.#lanes.get(sequence.laneId), "the lane of a sequence that runs");
    if (lane.prompts.includes(sequence)) lane.removePrompt(sequence);
    for (const each of [sequence, ...sequence.followers]) {
      if (each.slot !== null) lane.removeRow(each);
      each.forgetComputed();
    }
    this.#tidy(lane);
  }

  /** Makes room for a call after which the lane's longest computed sequence has this many tokens. */
  makeRoom(lane: Lane, positionCount: number): void {
    this.#cache.ensure(lane.kv, lane.kv.usedCount, positionCount, lane.positionCountMax);
  }

  /** A prompt that is computed becomes a row for each of its choices that goes on; where none does, the sweep takes it. */
  beginRows(leader: Sequence): void {
    const lane = present(this.#lanes.get(leader.laneId), "the lane of a computed prompt");
    const first = successorOf(leader);
    if (first === null) return;
    const { positionCountMax } = lane;
    if (first !== leader) lane.handOver(leader, first);
    const { followers, running } = first;
    if (running.search === null) first.followers = [];
    lane.promote(first);
    this.#cache.ensure(lane.kv, lane.kv.usedCount + followers.length, 0, positionCountMax);
    for (const follower of followers) lane.addCopy(first, follower);
  }

  /** Takes away every sequence that wants nothing more. Only between calls of the runner: slots move. */
  sweep(): void {
    for (const lane of this.#lanes.values()) {
      for (const row of lane.rows.filter(({ isFinished }) => isFinished)) lane.removeRow(row);
      for (const prompt of lane.prompts.slice()) {
        const successor = successorOf(prompt);
        if (successor === null) lane.removePrompt(prompt);
        else if (successor !== prompt) lane.handOver(prompt, successor);
      }
      this.#tidy(lane);
    }
  }

  #open({ laneId, running }: Sequence): Lane {
    const open = this.#lanes.get(laneId);
    if (open !== undefined) {
      running.adapter = open.adapter;
      return open;
    }
    const reference = running.request.prompt.adapter;
    if (reference !== null) running.adapter ??= this.#runner.loadAdapter(reference);
    const lane = new Lane(laneId, running.adapter, this.#cache.openLane());
    this.#lanes.set(laneId, lane);
    return lane;
  }

  /** Closes a lane that is empty, and gives back memory of one that needs little of it. */
  #tidy(lane: Lane): void {
    if (lane.isEmpty) {
      this.#cache.closeLane(lane.kv);
      this.#lanes.delete(lane.id);
      return;
    }
    const positionCount = Math.max(0, ...lane.prompts.map(({ tokenCount }) => tokenCount));
    this.#cache.relax(lane.kv, positionCount, lane.positionCountMax);
  }
}
