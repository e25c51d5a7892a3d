// Pairs prompts with answers to other prompts ("mismatches"). Nobody has judged such pairs, so KTO uses them to
// estimate how far a policy is from its reference (arXiv:2402.01306, section 4.1). Pure.
import { present } from "../../../base/domain/assert.ts";
import type { TokenSequence } from "../../trajectories/sequences.ts";
import type { PlannedMismatch } from "../plans/plan.ts";
import type { PlannedPreference } from "./preference-data.ts";

/**
 * Pairs the prompt of each preference with the nearest earlier answer of the step that belongs to another prompt.
 * Before the first preference, the search continues at the last one. Returns nothing if all answers are to the same
 * prompt.
 */
export function mismatchesOf(batch: readonly PlannedPreference[]): readonly PlannedMismatch[] {
  const mismatches = new Map<PlannedPreference, PlannedMismatch>();
  let before = batch.at(-1);
  let other: PlannedPreference | undefined;
  // Visits the preferences twice, so that in the second round even the first ones have an earlier answer.
  for (const preference of [...batch, ...batch]) {
    if (before?.prompt !== preference.prompt) other = before;
    before = preference;
    if (other === undefined || other.prompt === preference.prompt) continue;
    mismatches.set(preference, {
      prompt: present(preference.sequences[0], "a sequence"),
      answer: present(other.sequences.at(-1), "a sequence"),
    });
  }
  return batch.flatMap((preference) => mismatches.get(preference) ?? []);
}

/**
 * Joins the prompt of one sequence with the answer of another, and cuts the result off at the maximum length. The
 * tokens of the answer that were trained on in its own sequence are also trained on in the result.
 */
export function joinMismatch(
  prompt: TokenSequence,
  answer: TokenSequence,
  sequenceLengthMax: number,
): TokenSequence {
  const [promptLength, answerStart] = [prompt.mask.indexOf(1), answer.mask.indexOf(1)];
  const answerEnd = Math.min(answer.mask.lastIndexOf(1) + 1, answerStart + sequenceLengthMax - promptLength);
  const length = promptLength + answerEnd - answerStart;
  const [tokenIds, mask] = [new Int32Array(length), new Uint8Array(length)];
  tokenIds.set(prompt.tokenIds.subarray(0, promptLength));
  tokenIds.set(answer.tokenIds.subarray(answerStart, answerEnd), promptLength);
  mask.set(answer.mask.subarray(answerStart, answerEnd), promptLength);
  return { tokenIds, mask, oldLogprobs: new Float32Array(length).fill(NaN) };
}
