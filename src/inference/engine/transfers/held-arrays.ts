// Creates an unchanging snapshot of a computed prompt for transfer: its cached blocks without a copy, and copies of the
// remaining positions and of the states.
import { positionValues } from "../cache/slab.ts";
import type { SlotRef } from "../prefix-cache/prefix-cache.ts";
import type { HeldArrays } from "./transfer-store.ts";

/** Number of positions in each copied block. */
const copiedPositions = 32;

/**
 * @param lent full blocks from the prefix cache, from the first token on
 * @param ref slot that holds exactly the tokens of the prompt
 */
export function heldArrays(
  lent: readonly Float32Array[],
  tokenCount: number,
  { lane, slot }: SlotRef,
): Omit<HeldArrays, "scores_V"> {
  const positionSize = positionValues(lane.shape);
  const blocks = [...lent];
  const blockPositions = blocks.map(({ length }) => length / positionSize);
  let position = blockPositions.reduce((sum, count) => sum + count, 0);
  while (position < tokenCount) {
    const count = Math.min(copiedPositions, tokenCount - position);
    const block = new Float32Array(count * positionSize);
    lane.copyToBlock(slot, { position, offset: 0, count }, block);
    blocks.push(block);
    blockPositions.push(count);
    position += count;
  }
  return { blockPositions, blocks, states_S: lane.states.read(slot) };
}
