// The interface of a call format: the notation in which a model writes tool calls. Also functions that the readers of
// several formats use. A format both reads calls and constrains answers to them, so that the two cannot differ.
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import type { ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { isBlank, readUntil, type Cursor, type Reading } from "../reply/cursor.ts";
import type { ReplyPieces } from "../reply/reply-pieces.ts";

export interface KnownTools {
  /** JSON Schema of the arguments of each callable function, by name; null for a function without arguments. */
  readonly functions: ReadonlyMap<string, JsonObject | null>;
  /** True if an answer may have several calls; if false, reading ends after the first call. */
  readonly areParallel: boolean;
  /**
   * True if a constraint enforces the form of the answer. Text that looks like a call is then text, unless the
   * constraint can produce it as a call.
   */
  readonly isConstrained: boolean;
}

/** A tool with the properties from which constraints on its calls are built. */
export interface CallableTool {
  readonly name: string;
  /** JSON Schema of the tool's arguments, which is always an object schema. */
  readonly schema: JsonObject;
  /** Constraint on the argument of a tool whose only argument is plain text; absent for other tools. */
  readonly textRule?: ConstraintRule;
}

export interface CallFormat {
  /** Name of the format in settings. */
  readonly name: string;
  /**
   * True if the model knows the format only from its prompt. Constraints then enforce the format in answers that may
   * call tools.
   */
  readonly isTaught: boolean;
  /**
   * Text that suggests this format if a template contains it. Used to detect the format if the template itself writes
   * no calls.
   */
  readonly hint?: string;
  /**
   * True if the format covers whole answers, not only calls. Answers are then parsed even if the request has no tools.
   */
  readonly inChannels?: boolean;
  /**
   * Texts that mark calls. A token that is part of such a text stays in the answer's text, even if it is a special
   * token of the tokenizer.
   */
  readonly marks: readonly string[];
  newCallId(name: string, index: number): string;
  /**
   * Reads an answer, which consists of text and calls, from the cursor to its end. Blanks before a call, and blanks at
   * the end of an answer with calls, are layout and are dropped. Text that begins like a call but does not become one
   * stays unchanged.
   */
  read(cursor: Cursor, pieces: ReplyPieces, tools: KnownTools): Reading;
  /** Returns a format for a structural tag. It allows only calls of these tools, at least one. */
  calls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** Returns a format for a structural tag. It allows text, with or without calls of these tools. */
  textWithCalls(tools: readonly CallableTool[], areParallel: boolean): Json;
  /** Returns the tags for calls of one tool that the formats of {@link calls} and {@link textWithCalls} contain. */
  tags(tool: CallableTool): readonly Json[];
  /**
   * Returns null if this format can constrain calls to the schema. If it cannot, returns the reason, and the schema
   * keyword at fault.
   */
  refusal(schema: JsonObject): { readonly keyword: string; readonly message: string } | null;
  /** Wraps the format of an answer's text in the frame that the model writes around it; absent if there is no frame. */
  readonly answer?: (format: ExactJson) => ExactJson;
  /** Returns a call as a model would write it. */
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

/** Reads text up to a mark that may begin a call. Leaves the cursor before the blanks that precede the mark. */
export function* readTextUntil(
  cursor: Cursor,
  pieces: ReplyPieces,
  marks: readonly string[],
): Reading<boolean> {
  const isFound = yield* readUntil(cursor, { marks, isPadding: isBlank }, pieces.addText);
  if (!isFound) endText(cursor, pieces);
  return isFound;
}

/** Reads the blanks at the end of an answer. They are part of the text only if no call precedes them. */
function endText(cursor: Cursor, pieces: ReplyPieces): void {
  const blanks = cursor.takeRest();
  if (pieces.callCount === 0) pieces.addText(blanks);
}

/**
 * Reads a call with the blanks before it. If there is no call, returns to the position before the blanks.
 *
 * @param read returns true if it read a call; must not fail once a call has begun
 */
export function* tryCall(cursor: Cursor, read: () => Reading<boolean>): Reading<boolean> {
  cursor.keep();
  yield* cursor.skip(isBlank);
  const isCall = yield* read();
  if (isCall) cursor.release();
  else cursor.goBack();
  return isCall;
}

/** Emits blanks, and a mark that turned out not to begin a call, as text. */
export function* readMarkAsText(cursor: Cursor, pieces: ReplyPieces, marks: readonly string[]): Reading {
  pieces.addText(yield* cursor.skip(isBlank));
  for (const mark of marks) {
    if (!(yield* cursor.takes(mark))) continue;
    pieces.addText(mark);
    return;
  }
}
