// Layout of tokens and their drafts in the inputs of the draft graph; see `buildDraftGraph`.
import { int64Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import { draftPlaces } from "../../architectures/serving-graphs.ts";
import { kvHeadCounts } from "../../architectures/serving/sequence-memory.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import { hasMatrices } from "../model-shape.ts";

export interface DraftLayout {
  readonly feeds: Readonly<Record<string, Tensor>>;
  /** Number of tokens in each row, including repeated ones. */
  readonly positionCount: number;
}

/**
 * Lays out new tokens of the first slots as inputs of the draft graph.
 *
 * @param tokenIds for each slot from 0 on, the tokens that follow the slot's contents; a row with fewer tokens than the
 * longest repeats its last token
 */
export function layOutDrafts(lane: KvLane, tokenIds: readonly (readonly number[])[]): DraftLayout {
  const positionCount = Math.max(...tokenIds.map(({ length }) => length));
  const columns = [...Array(positionCount).keys()];
  const tokens: number[] = [];
  const positions: number[] = [];
  for (const [slot, ids] of tokenIds.entries()) {
    const steps = columns.map((column) => Math.min(column, ids.length - 1));
    tokens.push(...steps.map((step) => ids[step]));
    positions.push(...steps.map((step) => lane.lengths[slot] + step));
  }
  const dims = [tokenIds.length, positionCount];
  return {
    feeds: {
      tokens: int64Tensor(dims, tokens),
      positions: int64Tensor(dims, positions),
      ...(hasMatrices(lane.shape) && {
        lengths: int64Tensor(
          [tokenIds.length],
          tokenIds.map(({ length }) => length),
        ),
      }),
      ...Object.fromEntries(
        kvHeadCounts(lane.shape.caches).map((kvHeads) => [
          draftPlaces(kvHeads),
          int64Tensor([tokenIds.length, kvHeads, positionCount], placesIn(kvHeads)),
        ]),
      ),
    },
    positionCount,
  };

  /** Returns the flat indices of the new positions in caches with this number of key-value heads. */
  function placesIn(kvHeads: number): readonly number[] {
    return tokenIds.flatMap((_, slot) => {
      const own = positions.slice(slot * positionCount, (slot + 1) * positionCount);
      return Array.from({ length: kvHeads }, (__, head) =>
        own.map((position) => (slot * kvHeads + head) * lane.capacity + position),
      ).flat();
    });
  }
}
