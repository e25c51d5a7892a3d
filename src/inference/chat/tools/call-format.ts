// How a model writes calls of tools: the contract of every format, and what readers of them have in common. A format reads
// what it also says how to constrain, so that both are in one place.
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import type { ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { isBlank, readUntil, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";

export interface KnownTools {
  /** The JSON Schema of the arguments of each function that may be called, by its name; null where it takes none. */
  readonly functions: ReadonlyMap<string, JsonObject | null>;
  /** Whether there may be more than one call: where not, reading ends behind the first. */
  readonly areParallel: boolean;
  /** Whether a constraint holds the answer to its form: what it could not have written as a call then is none. */
  readonly isHeld: boolean;
}

/** A tool as a constraint needs it. */
export interface CallableTool {
  readonly name: string;
  /** The JSON Schema of its arguments, which are an object. */
  readonly schema: JsonObject;
  /** What its one argument must match, which is a text. */
  readonly textRule?: ConstraintRule;
}

export interface CallFormat {
  /** As the operator may call it. */
  readonly name: string;
  /** Whether the model knows of it from its prompt alone: answers that may call tools are then held to its form. */
  readonly isTaught: boolean;
  /** A text by which a template that writes no calls itself shows that its model knows the format. */
  readonly hint?: string;
  /** Whether it is a form of whole answers, which are read by it with or without tools. */
  readonly inChannels?: boolean;
  /** Texts that mark calls: a token within one is text, whatever the tokenizer calls it. */
  readonly marks: readonly string[];
  newCallId(name: string, index: number): string;
  /**
   * Reads what is left of an answer, text and calls. Blanks before a call, and at the end of an answer that has any, are
   * layout, and belong to neither. What begins as a call and is none is text, as it stands.
   */
  read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading;
  /** As a format of a structural tag: calls of these tools, at least one, and nothing else. */
  calls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** The same for text with such calls, or without any. */
  textWithCalls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** The tags that one tool's calls are in both. */
  tags(tool: CallableTool): readonly Json[];
  /** Why calls cannot be held to a schema of arguments in this format, with the keyword's name; null where they can. */
  refusal(schema: JsonObject): { readonly keyword: string; readonly message: string } | null;
  /** What holds an answer's text to a format, where that stands in a form of its own. */
  readonly answer?: (format: ExactJson) => ExactJson;
  /** A call as a model writes it. */
  written(name: string, argumentValues: JsonObject): string;
}

/** Whether a function can be called without arguments being named. */
export function takesNothing({ functions }: KnownTools, name: string): boolean {
  const schema = functions.get(name);
  if (schema === undefined) return false;
  const { properties, required } = schema ?? {};
  return isEmpty(properties) && isEmpty(required);
}

function isEmpty(value: Json | undefined): boolean {
  return typeof value !== "object" || value === null || Object.keys(value).length === 0;
}

/** Reads text up to a mark that may begin a call; the cursor then stands before the blanks in front of it. */
export function* readTextUntil(
  cursor: Cursor,
  pieces: ReplyPieces,
  marks: readonly string[],
): Reading<boolean> {
  const isFound = yield* readUntil(cursor, { marks, isPadding: isBlank }, pieces.addText);
  if (!isFound) endText(cursor, pieces);
  return isFound;
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
export function* readMarkAsText(cursor: Cursor, pieces: ReplyPieces, marks: readonly string[]): Reading {
  pieces.addText(yield* cursor.skip(isBlank));
  for (const mark of marks) {
    if (!(yield* cursor.takes(mark))) continue;
    pieces.addText(mark);
    return;
  }
}
