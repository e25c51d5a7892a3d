// How a model writes tool calls: the contract of each format, and functions that their readers share. A format both
// reads calls and constrains them, so that the two stay in one place.
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import type { ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { isBlank, readUntil, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";

export interface KnownTools {
  /** JSON Schema of each callable function's arguments, by name; null if it takes none. */
  readonly functions: ReadonlyMap<string, JsonObject | null>;
  /** True if several calls are allowed; otherwise reading ends after the first. */
  readonly areParallel: boolean;
  /** True if a constraint enforces the answer's form. Text that the form cannot produce is then no call. */
  readonly isConstrained: boolean;
}

/** A tool as a constraint needs it. */
export interface CallableTool {
  readonly name: string;
  /** JSON Schema of its arguments, which are an object. */
  readonly schema: JsonObject;
  /** Constraint on its one argument, which is a text. */
  readonly textRule?: ConstraintRule;
}

export interface CallFormat {
  /** Name of the format in settings. */
  readonly name: string;
  /** True if the model knows the format only from its prompt. Answers that may call tools are then constrained to it. */
  readonly isTaught: boolean;
  /** Text in a template that suggests the format, for templates that write no calls themselves. */
  readonly hint?: string;
  /** True for a form of whole answers, which is parsed with or without tools. */
  readonly inChannels?: boolean;
  /** Texts that mark calls: a token within one is text, even if the tokenizer calls it special. */
  readonly marks: readonly string[];
  newCallId(name: string, index: number): string;
  /**
   * Reads the rest of an answer: text and calls. Blanks before a call, and at the end of an answer that has any, are
   * layout and belong to neither. Text that begins like a call but is none stays unchanged.
   */
  read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading;
  /** Returns a structural tag's format for calls of these tools: at least one, and nothing else. */
  calls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** The same for text with such calls, or without any. */
  textWithCalls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** The tags for one tool's calls in both. */
  tags(tool: CallableTool): readonly Json[];
  /** Reason why this format cannot constrain calls to a schema, with the keyword's name; null if it can. */
  refusal(schema: JsonObject): { readonly keyword: string; readonly message: string } | null;
  /** Wraps a format for an answer's text, if the text is within a form of the model's. */
  readonly answer?: (format: ExactJson) => ExactJson;
  /** Returns a call as a model writes it. */
  written(name: string, argumentValues: JsonObject): string;
}

/** True if a function can be called without naming arguments. */
export function needsNoArguments({ functions }: KnownTools, name: string): boolean {
  const schema = functions.get(name);
  if (schema === undefined) return false;
  const { properties, required } = schema ?? {};
  return isEmpty(properties) && isEmpty(required);
}

function isEmpty(value: Json | undefined): boolean {
  return typeof value !== "object" || value === null || Object.keys(value).length === 0;
}

/** Reads text up to a mark that may begin a call, and leaves the cursor before the mark's leading blanks. */
export function* readTextUntil(
  cursor: Cursor,
  pieces: ReplyPieces,
  marks: readonly string[],
): Reading<boolean> {
  const isFound = yield* readUntil(cursor, { marks, isPadding: isBlank }, pieces.addText);
  if (!isFound) endText(cursor, pieces);
  return isFound;
}

/** Trailing blanks are text only if no call precedes them. */
function endText(cursor: Cursor, pieces: ReplyPieces): void {
  const blanks = cursor.takeRest();
  if (pieces.callCount === 0) pieces.addText(blanks);
}

/**
 * Reads a call with its leading blanks, or resets the cursor if there is none.
 *
 * @param read returns true if it read a call; it must not fail once a call has begun
 */
export function* tryCall(cursor: Cursor, read: () => Reading<boolean>): Reading<boolean> {
  cursor.keep();
  yield* cursor.skip(isBlank);
  const isCall = yield* read();
  if (isCall) cursor.release();
  else cursor.goBack();
  return isCall;
}

/** Emits blanks, and a mark that begins no call, as text. */
export function* readMarkAsText(cursor: Cursor, pieces: ReplyPieces, marks: readonly string[]): Reading {
  pieces.addText(yield* cursor.skip(isBlank));
  for (const mark of marks) {
    if (!(yield* cursor.takes(mark))) continue;
    pieces.addText(mark);
    return;
  }
}
