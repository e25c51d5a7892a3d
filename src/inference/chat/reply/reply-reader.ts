// Parses the text of an answer into thought, text and tool calls. The result does not depend on how the received text
// is split. This module works on text, not on tokens, and each choice has a separate reader.
import type { CallFormat, KnownTools } from "../tools/call-format.ts";
import { Cursor, type Reading } from "./cursor.ts";
import { ReplyPieces, type ReplyPiece } from "./reply-pieces.ts";
import { TextInputs } from "./text-inputs.ts";
import {
  readThought,
  thinkMarks,
  type Thought,
  type ThoughtMarks,
  type ThoughtStart,
} from "./read-thought.ts";

/** How an answer is parsed. */
export interface ReplyForm {
  readonly thought: ThoughtStart;
  /** Marks of a thought. Default: {@link thinkMarks}. */
  readonly marks?: ThoughtMarks;
  /** Parser of tool calls; null if calls are not parsed. */
  readonly calls: ReadCalls | null;
}

export interface ReadCalls extends KnownTools {
  readonly format: CallFormat;
  /** Names of the tools whose input is plain text. */
  readonly texts: ReadonlySet<string>;
}

export interface ReplyReader {
  /**
   * Takes text as it arrives, and returns its content. Holds back the end of the text if it may be the beginning of a
   * mark.
   */
  push(text: string): ReplyPiece;
  /** Marks the end of the text, and returns the content that was held back. */
  end(): ReplyPiece;
  /** True once the answer contains all calls that it may contain. Text after these calls is not read. */
  readonly isComplete: boolean;
  readonly callCount: number;
}

/** Returns a reader, or null if the answer can contain neither thoughts nor calls. */
export function createReplyReader({ thought, marks = thinkMarks, calls }: ReplyForm): ReplyReader | null {
  if (thought === "none" && calls === null) return null;
  const cursor = new Cursor();
  const pieces = new ReplyPieces((name, index) => calls?.format.newCallId(name, index) ?? "");
  const inputs = new TextInputs(calls?.texts ?? new Set());
  const reading = read(cursor, pieces, { thought: { start: thought, marks }, calls });
  let isDone = false;
  const readOn = (): void => {
    if (!isDone) isDone = reading.next().done === true;
  };
  return {
    push: (text) => {
      cursor.append(text);
      readOn();
      return inputs.withTexts(pieces.take(), false);
    },
    end: () => {
      cursor.end();
      readOn();
      return inputs.withTexts(pieces.takeAll(), true);
    },
    get isComplete() {
      return isDone && !cursor.isEnded;
    },
    get callCount() {
      return pieces.callCount;
    },
  };
}

function* read(
  cursor: Cursor,
  pieces: ReplyPieces,
  { thought, calls }: { readonly thought: Thought; readonly calls: ReadCalls | null },
): Reading {
  yield* readThought(cursor, pieces, thought);
  if (calls !== null) yield* calls.format.read(cursor, pieces, calls);
  else yield* readText(cursor, pieces);
}

function* readText(cursor: Cursor, pieces: ReplyPieces): Reading {
  for (;;) {
    pieces.addText(cursor.takeRest());
    if (cursor.isEnded) return;
    yield;
  }
}
