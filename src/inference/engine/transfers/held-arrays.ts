// Creates an immutable snapshot of a computed prompt in blocks: its cached blocks, and copies of the rest and of
// the states.
import { blockValues } from "../../../base/domain/prompt-transfer.ts";
import type { SlotRef } from "../prefix-cache/prefix-cache.ts";
import type { HeldArrays } from "./transfer-store.ts";

/** Number of positions in each copied block. */
const copiedPositions = 32;

/**
 * @param lent cached blocks from the first token on
 * @param ref slot that holds exactly the tokens of the prompt
 */
export function heldArrays(
  lent: readonly Float32Array[],
  tokenCount: number,
  { lane, slot }: SlotRef,
): Omit<HeldArrays, "scores_V"> {
  const positionValues = blockValues(lane.shape, 1);
  const blocks = [...lent];
  const blockPositions = blocks.map(({ length }) => length / positionValues);
  let position = blockPositions.reduce((sum, count) => sum + count, 0);
  while (position < tokenCount) {
    const count = Math.min(copiedPositions, tokenCount - position);
    const block = new Float32Array(count * positionValues);
    lane.copyToBlock(slot, { position, offset: 0, count }, block);
    blocks.push(block);
    blockPositions.push(count);
    position += count;
  }
  return { blockPositions, blocks, states_S: lane.states.read(slot) };
}
