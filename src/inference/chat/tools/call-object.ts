// Reads one call that is written as a JSON object with the function's name and its arguments, in either order. The
// object counts as a call as soon as its name is known and its arguments have begun, even if the arguments turn out to
// be invalid JSON. The arguments may also be a JSON string that contains the object, as small models write them, or be
// absent if the function needs none.
import { isJson } from "../../../base/domain/text/json.ts";
import { isBlank, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";
import { ObjectScanner } from "./object-scanner.ts";

export interface CallMembers {
  /** Name of the member that holds the function's name. */
  readonly name: string;
  /** Accepted names for the member that holds the arguments. */
  readonly arguments: readonly string[];
  readonly isFunction: (name: string) => boolean;
  /** True if the function may be called without arguments. */
  readonly needsNoArguments: (name: string) => boolean;
}

/**
 * Result of reading a call object:
 *
 * - `none`: there is no call; the cursor's position is undefined.
 * - `whole`: a call; the cursor is after the object, or where the object becomes invalid after its arguments.
 * - an object: a call whose arguments stop being JSON at the cursor, after a part of them was emitted.
 */
export type CallOutcome = "none" | "whole" | BrokenObject;

/**
 * Arguments that stopped being JSON. `given` is the part that was emitted. `broken` is the unfinished number or literal
 * before the invalid character, which was not emitted; empty if there is none.
 */
export interface BrokenObject {
  readonly given: string;
  readonly broken: string;
}

export function* readCallObject(
  cursor: Cursor,
  pieces: ReplyPieces,
  members: CallMembers,
): Reading<CallOutcome> {
  if (!(yield* cursor.takes("{"))) return "none";
  const call = new HalfReadCall(cursor, pieces, members);
  do {
    const outcome = yield* call.readMember();
    if (typeof outcome === "object") return outcome;
    if (outcome === "malformed") return call.isBegun ? "whole" : "none";
    yield* cursor.skip(isBlank);
  } while (yield* cursor.takes(","));
  if (yield* cursor.takes("}")) call.endWithoutArguments();
  return call.isBegun ? "whole" : "none";
}

/** Members that some models write in addition to the name and the arguments. */
const otherMembers: readonly string[] = ["id", "type", "tool_call_id"];

class HalfReadCall {
  readonly #cursor: Cursor;
  readonly #pieces: ReplyPieces;
  readonly #members: CallMembers;
  #name: string | null = null;
  /** Text of arguments that were read before the name; null if there are none. */
  #early: string | null = null;
  isBegun = false;

  constructor(cursor: Cursor, pieces: ReplyPieces, members: CallMembers) {
    this.#cursor = cursor;
    this.#pieces = pieces;
    this.#members = members;
  }

  *readMember(): Reading<"read" | "malformed" | BrokenObject> {
    const cursor = this.#cursor;
    yield* cursor.skip(isBlank);
    const member = yield* readString(cursor);
    yield* cursor.skip(isBlank);
    if (member === null || !(yield* cursor.takes(":"))) return "malformed";
    yield* cursor.skip(isBlank);
    if (!this.isBegun && this.#members.arguments.includes(member)) return yield* this.#readArguments();
    const isName = member === this.#members.name;
    if (!this.isBegun && !isName && !otherMembers.includes(member)) return "malformed";
    const value = yield* readString(cursor);
    if (value === null) return "malformed";
    if (this.isBegun || !isName) return "read";
    if (this.#name !== null || !this.#members.isFunction(value)) return "malformed";
    this.#name = value;
    if (this.#early !== null) this.#begin(value, this.#early);
    return "read";
  }

  /** Treats an object that ended without arguments as a call, if its function needs none. */
  endWithoutArguments(): void {
    const name = this.#name;
    if (!this.isBegun && this.#early === null && name !== null && this.#members.needsNoArguments(name))
      this.#begin(name, "{}");
  }

  *#readArguments(): Reading<"read" | "malformed" | BrokenObject> {
    if (this.#early !== null) return "malformed";
    const next = yield* this.#cursor.peek();
    if (next === '"') return this.#takeEarly(jsonObjectIn(yield* readString(this.#cursor, Infinity)));
    if (next === "n") return (yield* this.#cursor.takes("null")) ? "read" : "malformed";
    if (next !== "{") return "malformed";
    if (this.#name !== null) {
      this.#begin(this.#name, "");
      const { given, broken } = yield* readGivenObject(this.#cursor, this.#pieces);
      return broken === null ? "read" : { given, broken };
    }
    let early = "";
    const broken = yield* readObject(this.#cursor, (text) => (early += text));
    this.#early = early;
    return broken === null ? "read" : "malformed";
  }

  #takeEarly(text: string | null): "read" | "malformed" {
    if (text === null) return "malformed";
    if (this.#name === null) this.#early = text;
    else this.#begin(this.#name, text);
    return "read";
  }

  #begin(name: string, argumentsText: string): void {
    this.isBegun = true;
    this.#cursor.release();
    this.#pieces.beginCall(name);
    this.#pieces.addArguments(argumentsText);
  }
}

/** Returns the JSON object that is written inside a JSON string; null if there is none. */
function jsonObjectIn(text: string | null): string | null {
  const isObject = text?.trimStart().startsWith("{") === true && isJson(text);
  return isObject ? text.trim() : null;
}

/** Maximum length of a function's name. An object with a longer name is not a call. */
const nameLengthMax = 1024;

/** Reads a JSON string and returns its value; null if no valid string comes next. */
function* readString(cursor: Cursor, lengthMax = nameLengthMax): Reading<string | null> {
  if (!(yield* cursor.takes('"'))) return null;
  let text = '"';
  let isEscaped = false;
  while (text.length <= lengthMax) {
    const character = yield* cursor.peek();
    if (character === "") return null;
    cursor.advance(1);
    text += character;
    if (character === '"' && !isEscaped) return parsedString(text);
    isEscaped = character === "\\" && !isEscaped;
  }
  return null;
}

function parsedString(text: string): string | null {
  try {
    return String(JSON.parse(text.replaceAll(controls, escaped)));
  } catch {
    return null;
  }
}

/** Matches control characters, which JSON requires to be escaped in strings. Models sometimes write them unescaped. */
const controls = /[^ -\u{10ffff}]/gu;

function escaped(character: string): string {
  return JSON.stringify(character).slice(1, -1);
}

/**
 * Reads a JSON object and emits it as the arguments of a call. Returns the emitted text, and the result of {@link
 * readObject} (`broken`).
 */
export function* readGivenObject(
  cursor: Cursor,
  pieces: ReplyPieces,
): Reading<{ readonly given: string; readonly broken: string | null }> {
  let given = "";
  const broken = yield* readObject(cursor, (text) => {
    given += text;
    pieces.addArguments(text);
  });
  return { given, broken };
}

/**
 * Reads a JSON object and emits it as it arrives. Escapes control characters in its strings. Emits numbers and literals
 * only once they are complete.
 *
 * @returns null for a valid object, even if the end of the text truncates the object. For an invalid object, the
 * unfinished number or literal before the invalid character; empty if there is none
 */
export function* readObject(cursor: Cursor, give: (text: string) => unknown): Reading<string | null> {
  const scanner = new ObjectScanner();
  let held = "";
  for (;;) {
    const { rest } = cursor;
    let count = 0;
    let isObject = true;
    let written = "";
    while (isObject && !scanner.isComplete && count < rest.length) {
      const character = rest[count];
      const isControl = scanner.isInText && character < " ";
      isObject = isControl || scanner.accepts(character);
      if (!isObject) break;
      count += 1;
      held += isControl ? escaped(character) : character;
      if (scanner.isInScalar) continue;
      written += held;
      held = "";
    }
    cursor.advance(count);
    if (isObject && !scanner.isComplete && cursor.isEnded) written += held;
    give(written);
    if (!isObject) return held;
    if (scanner.isComplete || cursor.isEnded) return null;
    yield;
  }
}
