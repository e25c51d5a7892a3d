// States of slots after draft tokens. A call with drafts returns the states of convolutions after each token, but the
// states of recurrences only after all tokens of a row. If fewer tokens are accepted, a replay of the recurrences
// computes their states after these tokens.
import { float32Data, float32Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import { replayedInputs, replayedName } from "../../architectures/serving/replay-graph.ts";
import { stateNames } from "../../architectures/serving/sequence-memory.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import { hasMatrices } from "../model-shape.ts";
import { newStateOf, type Outputs } from "../new-states.ts";

/** Results of a call with drafts. */
interface DraftedCall {
  readonly outputs: Outputs;
  /** Number of tokens of each slot: the token before the draft, and the draft tokens. */
  readonly lengths: readonly number[];
}

export class DraftedStates {
  readonly #replay: (feeds: Readonly<Record<string, Tensor>>) => Promise<Outputs>;
  /** The latest call of each lane. */
  readonly #calls = new WeakMap<KvLane, DraftedCall>();

  /** @param replay runs the graph of `buildReplayGraph` */
  constructor(replay: (feeds: Readonly<Record<string, Tensor>>) => Promise<Outputs>) {
    this.#replay = replay;
  }

  /** Writes the states of slots without draft tokens. The states of other slots are written when drafts are accepted. */
  async keep(lane: KvLane, call: DraftedCall): Promise<void> {
    if (lane.shape.states.length === 0) return;
    this.#calls.set(lane, call);
    for (const [slot, length] of call.lengths.entries()) if (length === 1) await this.accept(lane, slot, 0);
  }

  /** Writes a slot's states after its token before the draft and `count` draft tokens. */
  async accept(lane: KvLane, slot: number, count: number): Promise<void> {
    const call = this.#calls.get(lane);
    if (call === undefined) return;
    const { outputs, lengths } = call;
    const { states } = lane.shape;
    const isPart = hasMatrices(lane.shape) && count + 1 < lengths[slot];
    const replayed = isPart ? await this.#replay(replayFeeds(lane, call, slot, count + 1)) : null;
    const columns = Math.max(...lengths);
    for (const [state, shape] of states.entries()) {
      const values =
        shape.kind === "inputs"
          ? newStateOf(shape, outputs, { state, row: slot * columns + count })
          : replayed === null
            ? newStateOf(shape, outputs, { state, row: slot })
            : newStateOf(shape, replayed, { state, row: 0 });
      lane.states.view(state, slot, 1).set(values);
    }
  }
}

/** Returns the inputs of the replay of a slot's first `count` tokens. */
function replayFeeds(
  lane: KvLane,
  { outputs, lengths }: DraftedCall,
  slot: number,
  count: number,
): Readonly<Record<string, Tensor>> {
  const columns = Math.max(...lengths);
  const feeds: Record<string, Tensor> = {};
  for (const [state, { kind, dims }] of lane.shape.states.entries()) {
    if (kind !== "matrices") continue;
    feeds[stateNames(state).state] = float32Tensor([1, ...dims], lane.states.view(state, slot, 1));
    for (const input of replayedInputs) {
      const name = replayedName(state, input);
      const [, , width] = outputs[name].dims;
      const start = slot * columns * width;
      const values = float32Data(outputs[name]).subarray(start, start + count * width);
      feeds[name] = float32Tensor([1, count, width], values);
    }
  }
  return feeds;
}
