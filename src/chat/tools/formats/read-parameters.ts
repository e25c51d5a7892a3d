// Reads arguments that are no JSON as they come, and gives them away as JSON: parameters between tags, and the notation in
// which names stand as they are and texts between marks of their own.
import type { ParameterMarks } from "../../../domain/parameters/parameter-tags.ts";
import { valueFormOf, type ValueForm } from "../../../domain/parameters/value-form.ts";
import type { JsonObject } from "../../../domain/trajectory.ts";
import { isBlank, readUntil, takesBehindBlanks, type Cursor, type Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import { wordsOf } from "./call-layout.ts";
import { jsonOfValue, propertyOf } from "./parameter-values.ts";

/** @param layout with `{name}`, `{value}` and perhaps `{isText}` between them */
export function parameterMarks(layout: string): ParameterMarks {
  const [open = "", rest = ""] = layout.split("{name}");
  const [between = "", close = ""] = rest.split("{value}");
  const [middle = "", behindKind] = between.split("{isText}");
  return { open, middle, behindKind: behindKind ?? null, close };
}

const nameLengthMax = 1024;

export interface ParameterReading {
  readonly marks: ParameterMarks;
  /** Of all arguments; null where none is known. */
  readonly schema: JsonObject | null;
  /** What stands behind the last parameter; empty where nothing does. */
  readonly end: string;
}

/** Reads parameters as long as they come, as one JSON object, which stays open where the text ends among them. */
export function* readParameters(
  cursor: Cursor,
  pieces: ReplyPieces,
  { marks, schema, end }: ParameterReading,
): Reading {
  let separator = "{";
  while (!(yield* endsNext(cursor, end)) && (yield* takesWords(cursor, wordsOf(marks.open)))) {
    const name = yield* readName(cursor, marks);
    if (name === null) break;
    pieces.addArguments(`${separator}${JSON.stringify(name)}: `);
    separator = ", ";
    const isText = yield* readKind(cursor, marks);
    const form = isText ?? valueFormOf(propertyOf(schema, name), schema ?? true);
    if (!(yield* readValue(cursor, pieces, { marks, form }))) return;
  }
  yield* cursor.skip(isBlank);
  if ((yield* cursor.peek()) !== "") pieces.addArguments(separator === "{" ? "{}" : "}");
}

function* endsNext(cursor: Cursor, end: string): Reading<boolean> {
  if (end === "") return false;
  yield* cursor.skip(isBlank);
  return yield* cursor.sees(end);
}

/** Reads all of these words, blanks before each, or nothing; nothing else may be kept. */
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
  const words = wordsOf(middle);
  let name = "";
  while (name.length <= nameLengthMax && !(yield* cursor.sees(words[0]))) {
    const character = yield* cursor.peek();
    if (character === "") return null;
    name += character;
    cursor.advance(1);
  }
  return (yield* takesWords(cursor, words)) ? name.trim() : null;
}

/** What the layout says of the value; null where it says nothing. */
function* readKind(cursor: Cursor, { behindKind }: ParameterMarks): Reading<ValueForm | null> {
  if (behindKind === null) return null;
  yield* cursor.skip(isBlank);
  const isText = yield* cursor.takes("true");
  if (!isText) yield* cursor.takes("false");
  yield* takesWords(cursor, wordsOf(behindKind));
  return isText ? "text" : "json";
}

/** @returns false where the text ends before the value does */
function* readValue(
  cursor: Cursor,
  pieces: ReplyPieces,
  { marks, form }: { readonly marks: ParameterMarks; readonly form: ValueForm },
): Reading<boolean> {
  const { middle, behindKind, close } = marks;
  const [mark] = wordsOf(close);
  // The blanks that the layout has at either end of a value are no part of it, once.
  yield* cursor.takes(blanksAtEnd(behindKind ?? middle));
  let value = "";
  const isText = form === "text";
  const give = isText
    ? (text: string): void => pieces.addArguments(inText(text))
    : (text: string): void => void (value += text);
  if (isText) pieces.addArguments('"');
  const isWhole = yield* readUntil(cursor, { marks: [mark], isPadding: isBlank }, give);
  const padding = isWhole ? yield* cursor.skip(isBlank) : cursor.takeRest();
  const layout = blanksAtStart(close);
  give(isWhole && padding.endsWith(layout) ? padding.slice(0, padding.length - layout.length) : padding);
  if (!isText) pieces.addArguments(isWhole ? jsonOfValue(value, form) : value);
  if (!isWhole) return false;
  if (isText) pieces.addArguments('"');
  for (const word of wordsOf(close)) yield* takesBehindBlanks(cursor, word);
  return true;
}

function blanksAtEnd(text: string): string {
  return text.slice(text.trimEnd().length);
}

function blanksAtStart(text: string): string {
  return text.slice(0, text.length - text.trimStart().length);
}

/** A piece of a text as it stands in JSON between the quotation marks. */
function inText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
