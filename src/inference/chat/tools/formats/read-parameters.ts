// Reads parameters between tags as they arrive, and emits them as the members of one JSON object.
import type { ParameterMarks } from "../../../../base/domain/parameters/parameter-tags.ts";
import { valueFormOf, type ValueForm } from "../../../../base/domain/parameters/value-form.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../base/domain/text/json.ts";
import { isBlank, readUntil, takesAfterBlanks, type Cursor, type Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import { requiredWords } from "./call-layout.ts";
import { valueToJson, findProperty } from "./parameter-values.ts";

/**
 * Splits a parameter's layout into its marks.
 *
 * @param layout text with `{name}` and `{value}`, and optionally `{isText}` between these two
 */
export function parameterMarks(layout: string): ParameterMarks {
  const [open = "", rest = ""] = layout.split("{name}");
  const [between = "", close = ""] = rest.split("{value}");
  const [middle = "", behindKind] = between.split("{isText}");
  return { open, middle, behindKind: behindKind ?? null, close };
}

const nameLengthMax = 1024;

export interface ParameterReading {
  readonly marks: ParameterMarks;
  /** JSON Schema of all arguments; null if unknown. */
  readonly schema: JsonObject | null;
  /** Words that end the call, after the last parameter. */
  readonly end: readonly string[];
  /** Words after the end of the call. One of them must follow a call, unless the answer ends there. */
  readonly next: readonly string[];
  /** True if a constraint enforces the call's form, so that no mark can be missing. */
  readonly isConstrained: boolean;
}

/**
 * Reads parameters until none follows, and emits them as one JSON object. If the text ends within the parameters, the
 * object is not closed.
 */
export function* readParameters(cursor: Cursor, pieces: ReplyPieces, reading: ParameterReading): Reading {
  const { marks, schema } = reading;
  const named = new Set<string>();
  let separator = "{";
  while (
    !(yield* endsNext(cursor, reading.end[0] ?? "")) &&
    (yield* takesWords(cursor, requiredWords(marks.open)))
  ) {
    const name = yield* readName(cursor, marks);
    if (name === null) break;
    pieces.addArguments(`${separator}${JSON.stringify(name)}: `);
    separator = ", ";
    named.add(name);
    const property = findProperty(schema, name);
    const form = (yield* readKind(cursor, marks)) ?? readFormOf(property, schema ?? true);
    if (!(yield* readValue(cursor, pieces, { ...reading, form, property, named }))) return;
  }
  yield* cursor.skip(isBlank);
  if ((yield* cursor.peek()) !== "") pieces.addArguments(separator === "{" ? "{}" : "}");
}

function* endsNext(cursor: Cursor, end: string): Reading<boolean> {
  if (end === "") return false;
  yield* cursor.skip(isBlank);
  return yield* cursor.sees(end);
}

/**
 * Reads all of the given words, each after optional blanks. Reads nothing if a word is missing. Must not be called
 * while a position is saved.
 */
function* takesWords(cursor: Cursor, words: readonly string[]): Reading<boolean> {
  cursor.keep();
  for (const word of words) {
    yield* cursor.skip(isBlank);
    if (yield* cursor.takes(word)) continue;
    cursor.goBack();
    return false;
  }
  cursor.release();
  return true;
}

function* readName(cursor: Cursor, { middle }: ParameterMarks): Reading<string | null> {
  const words = requiredWords(middle);
  let name = "";
  while (name.length <= nameLengthMax && !(yield* cursor.sees(words[0]))) {
    const character = yield* cursor.peek();
    if (character === "") return null;
    name += character;
    cursor.advance(1);
  }
  return (yield* takesWords(cursor, words)) ? name.trim() : null;
}

/** Reads the part of a parameter that says whether its value is text. Returns null if the layout has no such part. */
function* readKind(cursor: Cursor, { behindKind }: ParameterMarks): Reading<ValueForm | null> {
  if (behindKind === null) return null;
  yield* cursor.skip(isBlank);
  const isText = yield* cursor.takes("true");
  if (!isText) yield* cursor.takes("false");
  yield* takesWords(cursor, requiredWords(behindKind));
  return isText ? "text" : "json";
}

/**
 * Returns the form of a value. The form also accepts null if the property is `nullable`, which is a keyword of OpenAPI,
 * not of JSON Schema.
 */
function readFormOf(property: Json | undefined, root: Json): ValueForm {
  const form = valueFormOf(property, root);
  return form === "text" && isJsonObject(property) && property["nullable"] === true ? "text-or-null" : form;
}

interface ValueReading extends ParameterReading {
  readonly form: ValueForm;
  readonly property: Json | undefined;
  /** Names of the parameters that have been read, including the current one. */
  readonly named: ReadonlySet<string>;
}

/**
 * Reads a value and its end mark, and emits the value as JSON.
 *
 * @returns false if the text ends before the value does
 */
function* readValue(cursor: Cursor, pieces: ReplyPieces, reading: ValueReading): Reading<boolean> {
  const { marks, form, property, schema } = reading;
  const { middle, behindKind, close } = marks;
  const [mark] = requiredWords(close);
  // One blank at each end of a value belongs to the layout, not to the value.
  yield* cursor.takes(blanksAtEnd(behindKind ?? middle));
  let value = "";
  const isText = form === "text";
  const give = isText
    ? (text: string): void => pieces.addArguments(inText(text))
    : (text: string): void => void (value += text);
  if (isText) pieces.addArguments('"');
  const others = reading.isConstrained
    ? []
    : [requiredWords(marks.open)[0], reading.end[0] ?? ""].filter((one) => one !== "");
  let isWhole = false;
  let isMarked = false;
  let padding = "";
  for (;;) {
    isWhole = yield* readUntil(cursor, { marks: [mark, ...others], isPadding: isBlank }, give);
    padding = isWhole ? yield* cursor.skip(isBlank) : cursor.takeRest();
    isMarked = yield* cursor.sees(mark);
    if (!isWhole || isMarked || (yield* lacksMark(cursor, reading))) break;
    // The text only resembles a mark, so it belongs to the value.
    give(padding + cursor.rest.charAt(0));
    cursor.advance(1);
  }
  const layout = isMarked ? blanksAtStart(close) : "\n";
  give(isWhole && padding.endsWith(layout) ? padding.slice(0, padding.length - layout.length) : padding);
  if (!isText)
    pieces.addArguments(isWhole ? valueToJson(value, form, { property, root: schema ?? true }) : value);
  if (!isWhole) return false;
  if (isText) pieces.addArguments('"');
  for (const word of requiredWords(close)) yield* takesAfterBlanks(cursor, word);
  return true;
}

/**
 * True if the end mark of the value is missing, because another parameter or the end of the call comes in its place.
 */
function* lacksMark(cursor: Cursor, reading: ValueReading): Reading<boolean> {
  cursor.keep();
  const isNext = (yield* seesParameter(cursor, reading)) || (yield* seesEnd(cursor, reading));
  cursor.goBack();
  return isNext;
}

function* seesParameter(cursor: Cursor, { marks, schema, named }: ValueReading): Reading<boolean> {
  for (const word of requiredWords(marks.open)) {
    yield* cursor.skip(isBlank);
    if (!(yield* cursor.takes(word))) return false;
  }
  const [word] = requiredWords(marks.middle);
  let name = "";
  while (name.length <= nameLengthMax && !(yield* cursor.sees(word))) {
    const character = yield* cursor.peek();
    if (character === "" || character === "\n") return false;
    name += character;
    cursor.advance(1);
  }
  return findProperty(schema, name.trim()) !== undefined && !named.has(name.trim());
}

/**
 * True if the end of the call comes next. A value may contain the word that ends a call; such a word counts only if the
 * answer ends after it, or one of the words `next` follows.
 */
function* seesEnd(cursor: Cursor, { end, next }: ValueReading): Reading<boolean> {
  for (const word of end) {
    yield* cursor.skip(isBlank);
    if (!(yield* cursor.takes(word))) return false;
  }
  if (end.length !== 1) return end.length > 1;
  yield* cursor.skip(isBlank);
  if ((yield* cursor.peek()) === "") return true;
  for (const word of next) if (word !== "" && (yield* cursor.sees(word))) return true;
  return false;
}

function blanksAtEnd(text: string): string {
  return text.slice(text.trimEnd().length);
}

function blanksAtStart(text: string): string {
  return text.slice(0, text.length - text.trimStart().length);
}

/** Escapes a text for use inside a JSON string. */
function inText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
