// What becomes of a draft that was computed: as long as it holds the tokens that are drawn, the next one is drawn from its
// scores.
import type { Drawer } from "../loop/draw.ts";
import { slotOf } from "../loop/lane.ts";
import { settleDraws } from "../loop/settle.ts";
import type { DraftedRow } from "./drafter.ts";

/**
 * Draws and settles a row's further tokens. To be called when the token before its draft is settled, and before slots move:
 * what was computed of the draft lies behind the slot's end.
 *
 * @returns how many tokens of the draft came true
 */
export async function settleDraft(
  { sequence, kv, draft, logits_TV }: DraftedRow,
  drawer: Drawer,
): Promise<number> {
  const vocabularySize = logits_TV.length / draft.length;
  const { answerTokenIds } = sequence;
  const first = sequence.computedCount - sequence.tokenCount;
  for (const [place, id] of draft.entries()) {
    // One that waits for its constraint has no further token yet.
    if (answerTokenIds[first + place] !== id) return place;
    if (sequence.isFinished) return place + 1;
    kv.advance(slotOf(sequence), 1);
    sequence.computedCount += 1;
    const logits_V = logits_TV.subarray(place * vocabularySize, (place + 1) * vocabularySize);
    settleDraws(await drawer.draw([{ sequence, logits_V }]));
  }
  return draft.length;
}
