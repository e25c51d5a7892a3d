// A prompt that another engine computed, for the request that uses it. It is copied into the request's slot part by
// part, so that no step takes long, and then released.
import { present } from "../../../base/domain/assert.ts";
import type { HeldPrompt } from "../../../base/domain/prompt-transfer.ts";
import type { SlotRef } from "../prefix-cache/prefix-cache.ts";
import { sharedCountMin } from "../prefix-cache/shared-tokens.ts";

/** Maximum number of bytes that one step copies, which takes a few milliseconds. A single block may be larger. */
const copiedBytesPerStep = 8 * 2 ** 20;

export class ReceivedPrompt {
  /**
   * Number of leading tokens that the request's prompt and the received prompt have in common, so that they need not be
   * computed; 0 if they are too few.
   */
  readonly tokenCount: number;
  readonly #prompt: HeldPrompt;
  readonly #arrays: readonly Float32Array[];
  readonly #isWhole: boolean;
  readonly #release: () => void;

  /**
   * @param arrays the received blocks, then the states, then the logits
   * @param tokenIds prompt of the request
   * @param release called once none of the received data is needed any more
   */
  constructor(
    { prompt, arrays }: { readonly prompt: HeldPrompt; readonly arrays: readonly Float32Array[] },
    tokenIds: readonly number[],
    release: () => void,
  ) {
    this.#prompt = prompt;
    this.#arrays = arrays;
    this.#release = release;
    const common = commonCount(prompt.tokenIds, tokenIds);
    this.#isWhole = common === tokenIds.length && common === prompt.tokenIds.length;
    // If the logits after the request's prompt were not received, the prompt's last token must be computed to get them.
    const count = this.#isWhole ? common : Math.min(common, tokenIds.length - 1);
    // Keys and values are usable for any number of leading tokens. The states are usable only after the last received
    // token.
    const isUsable = prompt.shape.stateSize === 0 || count === prompt.tokenIds.length;
    this.tokenCount = this.#isWhole || (isUsable && count >= sharedCountMin) ? count : 0;
  }

  /** Logits after the request's prompt; null if the request's prompt is not the received one. */
  get scores_V(): Float32Array | null {
    return this.#isWhole ? present(this.#arrays.at(-1), "the scores behind the blocks") : null;
  }

  /**
   * Copies the next positions into a slot. The slot must have room for all usable tokens.
   *
   * @param start number of prompt tokens that the slot already holds
   * @returns number of copied tokens; 0 if the slot holds all usable ones
   */
  copyTo({ lane, slot }: SlotRef, start: number): number {
    let end = 0;
    let filled = start;
    let left = copiedBytesPerStep;
    for (const [index, positions] of this.#prompt.blockPositions.entries()) {
      const first = end;
      end += positions;
      const count = Math.min(end, this.tokenCount) - filled;
      if (end <= filled) continue;
      const block = this.#arrays[index];
      if (count <= 0 || (left < block.byteLength && filled > start)) break;
      lane.copyFromBlock(slot, { position: filled, offset: filled - first, count }, block);
      filled += count;
      left -= block.byteLength;
    }
    lane.advance(slot, filled - start);
    if (filled === this.tokenCount) lane.states.write(slot, this.#arrays[this.#arrays.length - 2]);
    return filled - start;
  }

  release(): void {
    this.#release();
  }
}

function commonCount(one: readonly number[], other: readonly number[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}
