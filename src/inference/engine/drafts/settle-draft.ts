// Verifies a computed draft: as long as the draft's tokens equal the drawn tokens, draws the next token from the
// draft's logits.
import type { Drawer } from "../loop/draw.ts";
import type { ModelRunner } from "../model-runner.ts";
import { slotOf } from "../loop/lane.ts";
import { settleDraws } from "../loop/settle.ts";
import type { DraftedRow } from "./drafter.ts";

/**
 * Draws tokens and adds them to the row as long as they equal the draft's tokens, and then one more token. Must be
 * called after the token before the draft is drawn, and before slots move, because the draft's keys and values lie
 * beyond the slot's length.
 *
 * @returns number of accepted draft tokens
 */
export async function settleDraft(row: DraftedRow, drawer: Drawer, runner: ModelRunner): Promise<number> {
  const { sequence, kv } = row;
  const computedCount = sequence.computedCount;
  const accepted = await drawAccepted(row, drawer);
  // A finished row gives its slot back, so the states after its tokens are not needed.
  if (!sequence.isFinished)
    await runner.acceptDraft(kv, slotOf(sequence), sequence.computedCount - computedCount);
  return accepted;
}

async function drawAccepted({ sequence, draft, logits_TV }: DraftedRow, drawer: Drawer): Promise<number> {
  const vocabularySize = logits_TV.length / draft.length;
  const { answerTokenIds } = sequence;
  const first = sequence.computedCount - sequence.tokenCount;
  for (const [place, id] of draft.entries()) {
    // Either the drawn token differs from the draft, or the row waits for its constraint and has not drawn the token
    // yet.
    if (answerTokenIds[first + place] !== id) return place;
    if (sequence.isFinished) return place + 1;
    sequence.computedCount += 1;
    const logits_V = logits_TV.subarray(place * vocabularySize, (place + 1) * vocabularySize);
    settleDraws(await drawer.draw([{ sequence, logits_V }]));
  }
  return draft.length;
}
