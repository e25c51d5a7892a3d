// Verifies a computed draft: as long as its tokens equal the drawn ones, draws the next token from its logits.
import type { Drawer } from "../loop/draw.ts";
import { slotOf } from "../loop/lane.ts";
import { settleDraws } from "../loop/settle.ts";
import type { DraftedRow } from "./drafter.ts";

/**
 * Draws and settles a row's additional tokens. Call it when the token before the draft is settled, and before slots
 * move, because the draft's entries lie beyond the slot's length.
 *
 * @returns number of accepted draft tokens
 */
export async function settleDraft(
  { sequence, kv, draft, logits_TV }: DraftedRow,
  drawer: Drawer,
): Promise<number> {
  const vocabularySize = logits_TV.length / draft.length;
  const { answerTokenIds } = sequence;
  const first = sequence.computedCount - sequence.tokenCount;
  for (const [place, id] of draft.entries()) {
    // A row that waits for its constraint has no next token yet.
    if (answerTokenIds[first + place] !== id) return place;
    if (sequence.isFinished) return place + 1;
    kv.acceptDraft(slotOf(sequence));
    sequence.computedCount += 1;
    const logits_V = logits_TV.subarray(place * vocabularySize, (place + 1) * vocabularySize);
    settleDraws(await drawer.draw([{ sequence, logits_V }]));
  }
  return draft.length;
}
