// The contract of a call format, that is, the notation in which a model writes tool calls, and functions that the
// formats' readers share. A format both reads calls and constrains them, so that the two cannot diverge.
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
  /** True if a constraint enforces the answer's form. Text that the constraint could not produce is then not a call. */
  readonly isConstrained: boolean;
}

/** A tool, with the members from which constraints are built. */
export interface CallableTool {
  readonly name: string;
  /** JSON Schema of its arguments, which is always an object schema. */
  readonly schema: JsonObject;
  /** Constraint on the tool's one argument if that is plain text; absent for other tools. */
  readonly textRule?: ConstraintRule;
}

export interface CallFormat {
  /** Name of the format in settings. */
  readonly name: string;
  /**
   * True if the model knows the format only from its prompt. Answers that may call tools are then constrained to the
   * format.
   */
  readonly isTaught: boolean;
  /** Text in a template that suggests the format, for templates that write no calls themselves. */
  readonly hint?: string;
  /**
   * True if the format covers whole answers, not only calls. Answers are then parsed even if the request has no tools.
   */
  readonly inChannels?: boolean;
  /** Texts that mark calls. A token that is part of such a text is shown, even if the tokenizer calls it special. */
  readonly marks: readonly string[];
  newCallId(name: string, index: number): string;
  /**
   * Reads the rest of an answer: text and calls. Blanks before a call, and trailing blanks of an answer with calls,
   * are layout and belong to neither. Text that begins like a call but does not become one stays unchanged.
   */
  read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading;
  /** Returns a structural tag's format that allows only calls of these tools, and at least one. */
  calls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** Returns a structural tag's format that allows text, with or without such calls. */
  textWithCalls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** Returns the tags for one tool's calls in both of these formats. */
  tags(tool: CallableTool): readonly Json[];
  /** Reason why this format cannot constrain calls to a schema, with the keyword's name; null if it can. */
  refusal(schema: JsonObject): { readonly keyword: string; readonly message: string } | null;
  /** Wraps the format of an answer's text; present only if the model frames its text. */
  readonly answer?: (format: ExactJson) => ExactJson;
  /** Returns a call as a model writes it. */
  written(name: string, argumentValues: JsonObject): string;
}

/** True if the function can be called without arguments. */
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

/** Emits blanks, and a mark that does not begin a call, as text. */
export function* readMarkAsText(cursor: Cursor, pieces: ReplyPieces, marks: readonly string[]): Reading {
  pieces.addText(yield* cursor.skip(isBlank));
  for (const mark of marks) {
    if (!(yield* cursor.takes(mark))) continue;
    pieces.addText(mark);
    return;
  }
}
