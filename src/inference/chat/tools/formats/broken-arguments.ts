// Reads the arguments of a call from the point at which they stop being JSON, up to the end of the call. An object in
// Python's notation becomes JSON. Anything else is emitted as written, without the text that closes the call.
import { isBlank, readUntil, type Cursor, type Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import type { BrokenObject } from "../call-object.ts";
import { pythonToJson } from "./python-values.ts";

/** Marks and closing characters at which a call with broken arguments ends. */
export interface BrokenEnd {
  /** Marks that end the arguments; the one that occurs first counts. */
  readonly marks: readonly string[];
  /**
   * Characters between the arguments and the mark that belong to the layout, such as the brace that closes the call's
   * object.
   */
  readonly own: string;
}

/** Reads and emits the remaining text of broken arguments. */
export function* readBrokenArguments(
  cursor: Cursor,
  pieces: ReplyPieces,
  { marks, own, given, broken }: BrokenEnd & BrokenObject,
): Reading {
  let rest = broken;
  const isEnd = (character: string): boolean => isBlank(character) || own.includes(character);
  const isFound = yield* readUntil(cursor, { marks, isPadding: isEnd }, (text) => (rest += text));
  const padding = isFound ? yield* cursor.skip(isEnd) : cursor.takeRest();
  rest += withoutOwn(padding, own);
  const whole = pythonToJson(given + rest);
  pieces.addArguments(whole?.startsWith(given) === true ? whole.slice(given.length) : rest);
}

/**
 * Removes the characters that belong to the layout from the text before a mark. Removes nothing if no brace would be
 * left to close the arguments.
 */
function withoutOwn(padding: string, own: string): string {
  let left = padding.trimEnd();
  for (const sign of Array.from(own).toReversed()) {
    if (!left.endsWith(sign)) return left;
    left = left.slice(0, -1).trimEnd();
  }
  return own === "" || left.includes("}") ? left : padding.trimEnd();
}
