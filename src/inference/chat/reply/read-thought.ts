// Reads a model's thought between two marks, such as `<think>` and `</think>`. Line breaks around the thought and
// before the answer are layout, which is part of neither.
import { isNewline, readUntil, takesAfterBlanks, type Cursor, type Reading } from "./cursor.ts";
import type { ReplyPieces } from "./reply-pieces.ts";

/** Texts that a model writes before and after its thought. */
export interface ThoughtMarks {
  readonly begin: string;
  readonly end: string;
}

/** Marks that most models write around a thought. */
export const thinkMarks: ThoughtMarks = { begin: "<think>", end: "</think>" };

/** All known marks: those of most models, and Gemma 4's. A model is recognized by the end mark in its chat template. */
export const knownMarks: readonly ThoughtMarks[] = [
  thinkMarks,
  { begin: "<|channel>thought", end: "<channel|>" },
];

/**
 * How an answer may begin. `none`: without a thought; `possible`: perhaps with a thought; `open`: within a thought that
 * the prompt began. A thought without an end mark is the whole answer.
 */
export type ThoughtStart = "none" | "possible" | "open";

export interface Thought {
  readonly start: ThoughtStart;
  readonly marks: ThoughtMarks;
}

export function* readThought(cursor: Cursor, pieces: ReplyPieces, { start, marks }: Thought): Reading {
  if (start === "none") return;
  if (start === "possible" && !(yield* takesAfterBlanks(cursor, marks.begin))) return;
  yield* cursor.skip(isNewline);
  const limits = { marks: [marks.end], isPadding: isNewline };
  if (!(yield* readUntil(cursor, limits, pieces.addReasoning))) {
    pieces.addReasoning(cursor.takeRest());
    return;
  }
  yield* cursor.skip(isNewline);
  cursor.advance(marks.end.length);
  yield* cursor.skip(isNewline);
}
