// Reads a model's thought between `<think>` and `</think>`. Line breaks around the thought and before the answer are
// layout, which is part of neither.
import { isNewline, readUntil, takesAfterBlanks, type Cursor, type Reading } from "./cursor.ts";
import type { ReplyPieces } from "./reply-pieces.ts";

export const thoughtMarks = { begin: "<think>", end: "</think>" } as const;

/**
 * How an answer may begin. `none`: without a thought; `possible`: perhaps with a thought; `open`: within a thought that
 * the prompt began. A thought without an end mark is the whole answer.
 */
export type ThoughtStart = "none" | "possible" | "open";

export function* readThought(cursor: Cursor, pieces: ReplyPieces, start: ThoughtStart): Reading {
  if (start === "none") return;
  if (start === "possible" && !(yield* takesAfterBlanks(cursor, thoughtMarks.begin))) return;
  yield* cursor.skip(isNewline);
  const limits = { marks: [thoughtMarks.end], isPadding: isNewline };
  if (!(yield* readUntil(cursor, limits, pieces.addReasoning))) {
    pieces.addReasoning(cursor.takeRest());
    return;
  }
  yield* cursor.skip(isNewline);
  cursor.advance(thoughtMarks.end.length);
  yield* cursor.skip(isNewline);
}
