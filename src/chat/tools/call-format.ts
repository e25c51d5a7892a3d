// How a model writes calls of tools: the contract of every format, and what formats have in common. A format reads what it
// also says how to constrain, so that both are in one place.
import type { Json } from "../../domain/trajectory.ts";
import { isBlank, readUntil, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";

export interface KnownTools {
  /** The names of the functions that may be called. */
  readonly names: ReadonlySet<string>;
  /** Whether there may be more than one call: where not, reading ends behind the first. */
  readonly areParallel: boolean;
}

/** A tool as a constraint needs it. */
export interface CallableTool {
  readonly name: string;
  /** The JSON Schema of its arguments, which are an object. */
  readonly schema: Json;
}

export interface CallFormat {
  /** Texts that mark calls: a token that spells one is text, whatever the tokenizer calls it. */
  readonly marks: readonly string[];
  readonly newCallId: () => string;
  /**
   * Reads what is left of an answer, text and calls. Blanks before a call, and at the end of an answer that has any, are
   * layout, and belong to neither. What begins as a call and is none is text, as it stands.
   */
  read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading;
  /** As a format of a structural tag: calls of these tools, at least one, and nothing else. */
  calls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** The same for text with such calls, or without any. */
  textWithCalls(tools: readonly CallableTool[], areParallel: boolean): Json;
}

/** Reads text up to a mark that may begin a call; the cursor then stands before the blanks in front of it. */
export function* readTextUntil(cursor: Cursor, pieces: ReplyPieces, mark: string): Reading<boolean> {
  const isFound = yield* readUntil(cursor, { mark, isPadding: isBlank }, pieces.addText);
  if (!isFound) endText(cursor, pieces);
  return isFound;
}

/** Reads the rest of an answer as text. */
export function* readRest(cursor: Cursor, pieces: ReplyPieces): Reading {
  yield* readUntil(cursor, { mark: null, isPadding: isBlank }, pieces.addText);
  endText(cursor, pieces);
}

/** Blanks at the end are text only where no call is before them. */
function endText(cursor: Cursor, pieces: ReplyPieces): void {
  const blanks = cursor.takeRest();
  if (pieces.callCount === 0) pieces.addText(blanks);
}

/**
 * Reads a call with the blanks before it, and puts everything back where there is none.
 *
 * @param read finds out whether it is one; it must not fail once a call has begun
 */
export function* tryCall(cursor: Cursor, read: () => Reading<boolean>): Reading<boolean> {
  cursor.keep();
  yield* cursor.skip(isBlank);
  const isCall = yield* read();
  if (isCall) cursor.release();
  else cursor.goBack();
  return isCall;
}

/** Gives away what is no call: blanks, and the mark that might have begun one. */
export function* readMarkAsText(cursor: Cursor, pieces: ReplyPieces, mark: string): Reading {
  pieces.addText(yield* cursor.skip(isBlank));
  if (yield* cursor.takes(mark)) pieces.addText(mark);
}

/** Gives away as arguments what goes on where arguments stopped being JSON: all before a mark, or all. */
export function* readBrokenArguments(cursor: Cursor, pieces: ReplyPieces, mark: string | null): Reading {
  yield* readUntil(cursor, { mark, isPadding: () => false }, pieces.addArguments);
}
