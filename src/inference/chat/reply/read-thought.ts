// What a model thinks before it answers, between `<think>` and `</think>`. Line breaks at either end of it, and before the
// answer, are how it is laid out, and belong to neither.
import { isNewline, readUntil, takesBehindBlanks, type Cursor, type Reading } from "./cursor.ts";
import type { ReplyPieces } from "./reply-pieces.ts";

export const thoughtMarks = { begin: "<think>", end: "</think>" } as const;

/**
 * Where an answer stands when it begins: `none` thinks nothing, `possible` may begin with a thought, and `open` goes on with
 * one that the prompt has begun. A thought that does not end is all there is.
 */
export type ThoughtStart = "none" | "possible" | "open";

export function* readThought(cursor: Cursor, pieces: ReplyPieces, start: ThoughtStart): Reading {
  if (start === "none") return;
  if (start === "possible" && !(yield* takesBehindBlanks(cursor, thoughtMarks.begin))) return;
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
