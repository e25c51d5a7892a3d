// Reads a block of calls in one layout. Blanks between the words of a layout are optional, and words after the
// arguments of a call may be missing.
import { isBlank, readUntil, takesAfterBlanks, type Cursor, type Reading } from "../../reply/cursor.ts";
import type { ReplyPieces } from "../../reply/reply-pieces.ts";
import { needsNoArguments, tryCall, type KnownTools } from "../call-format.ts";
import { readCallObject, readGivenObject, type CallMembers } from "../call-object.ts";
import { readBrokenArguments, type BrokenEnd } from "./broken-arguments.ts";
import {
  callFrame,
  callMark,
  splitLayout,
  requiredWords,
  type CallLayout,
  type Piece,
} from "./call-layout.ts";
import { keywordsToJson, readKeywordText } from "./python-values.ts";
import { quotedToJson } from "./quoted-notation.ts";
import { parameterMarks, readParameters } from "./read-parameters.ts";

/**
 * Arguments of the readers in this file. While it is unclear whether a text is a call, the cursor keeps the position
 * before the text, so that the text can be read again as something else. A reader gives up this position once it knows
 * the call's function and the arguments begin.
 */
interface Place {
  readonly cursor: Cursor;
  readonly pieces: ReplyPieces;
  readonly tools: KnownTools;
}

/**
 * Creates a reader for blocks of calls in a layout.
 *
 * @returns a reader that returns true if it read a call; otherwise the cursor's position is undefined
 */
export function blockReader(layout: CallLayout): (place: Place) => Reading<boolean> {
  const { open, close } = callFrame(layout);
  const read = callReader(layout, requiredWords(close));
  return function* readBlock(place) {
    const { cursor, tools } = place;
    if (!(yield* takesAll(cursor, requiredWords(open))) || !(yield* read(place))) return false;
    let isFurther = tools.areParallel;
    while (isFurther)
      isFurther = yield* tryCall(cursor, function* () {
        for (const word of requiredWords(layout.separator)) yield* cursor.takes(word);
        return yield* read(place);
      });
    yield* takesSome(cursor, requiredWords(close));
    return true;
  };
}

type ReadCall = (place: Place) => Reading<boolean>;

function callReader(layout: CallLayout, closing: readonly string[]): ReadCall {
  const pieces = splitLayout(layout.call);
  const end = wordsAfterArguments(pieces);
  const isObject = pieces.some(({ kind }) => kind === "object");
  const words = [...(isObject ? ["}"] : []), ...end, ...closing];
  // Chooses the mark at which broken arguments end: the first word after the arguments that has more than two
  // characters or, if there is none, the mark of the next call.
  const markAt = words.findIndex((word) => word.length > 2);
  const brokenEnd: BrokenEnd = {
    marks: [markAt < 0 ? callMark(layout) : words[markAt]].filter((word) => word.length > 2),
    own: words.slice(0, markAt < 0 ? words.length : markAt).join(""),
  };
  const read = isObject
    ? objectReader(layout, pieces, brokenEnd)
    : namedReader(layout, pieces, { end: brokenEnd, closing });
  return function* readCall(place) {
    const isCall = yield* read(place);
    if (isCall) yield* takesSome(place.cursor, end);
    return isCall;
  };
}

/** Returns the layout's words after the arguments of a call. */
function wordsAfterArguments(pieces: readonly Piece[]): readonly string[] {
  const last = pieces.at(-1);
  return last?.kind === "text" && pieces.length > 1 ? last.words : [];
}

function objectReader(layout: CallLayout, all: readonly Piece[], end: BrokenEnd): ReadCall {
  const before = wordsBefore(all);
  return function* readTagged({ cursor, pieces, tools }) {
    const members: CallMembers = {
      name: layout.object.name,
      arguments: [layout.object.arguments, "arguments", "parameters"],
      isFunction: (name) => (layout.isAtStart ? tools.functions.has(name) : name !== ""),
      needsNoArguments: (name) => needsNoArguments(tools, name),
    };
    function* readOne(): Reading<boolean> {
      const outcome = yield* readCallObject(cursor, pieces, members);
      if (typeof outcome === "object") yield* readBrokenArguments(cursor, pieces, { ...end, ...outcome });
      return outcome !== "none";
    }
    if (!(yield* takesAll(cursor, before))) return false;
    yield* cursor.skip(isBlank);
    if (!(yield* cursor.sees("["))) return yield* readOne();
    // The model has written a list of calls, although the layout expects a single call.
    cursor.advance(1);
    yield* cursor.skip(isBlank);
    if (!(yield* readOne())) return false;
    let isFurther = tools.areParallel;
    while (isFurther)
      isFurther = yield* tryCall(cursor, function* () {
        if (!(yield* cursor.takes(","))) return false;
        yield* cursor.skip(isBlank);
        return yield* readOne();
      });
    yield* takesAfterBlanks(cursor, "]");
    return true;
  };
}

function wordsBefore(pieces: readonly Piece[]): readonly string[] {
  const [first] = pieces;
  return first?.kind === "text" ? first.words : [];
}

function namedReader(
  layout: CallLayout,
  all: readonly Piece[],
  { end, closing }: { readonly end: BrokenEnd; readonly closing: readonly string[] },
): ReadCall {
  const nameAt = all.findIndex(({ kind }) => kind === "name");
  const argumentsAt = all.findIndex(({ kind }) => ["arguments", "parameters", "keywords"].includes(kind));
  const between = all.slice(nameAt + 1, argumentsAt);
  const after = wordsAfterArguments(all);
  const before = wordsBefore(all);
  const marks = layout.parameter === null ? null : parameterMarks(layout.parameter);
  const hasKeywords = all[argumentsAt]?.kind === "keywords";
  return function* readNamed(place) {
    const { cursor, pieces, tools } = place;
    if (!(yield* takesAll(cursor, before))) return false;
    yield* cursor.skip(isBlank);
    const name = yield* readName(cursor, between);
    if (name === "" || (layout.isAtStart && !tools.functions.has(name))) return false;
    const isBetween = yield* takesBetween(cursor, between);
    yield* cursor.skip(isBlank);
    const next = yield* cursor.peek();
    const begin = (): void => {
      cursor.release();
      pieces.beginCall(name);
    };
    if (hasKeywords) {
      if (!isBetween) return false;
      begin();
      const text = yield* readKeywordText(cursor);
      pieces.addArguments(keywordsToJson(text) ?? text);
    } else if (marks !== null) {
      // If the function is unknown, its name is a call only if parameters follow the name.
      const isKnown = tools.functions.has(name);
      const follows = [...requiredWords(marks.open).slice(0, 1), ...(isKnown ? after.slice(0, 1) : [])];
      if (!isBetween || (!hasWords(between) && !(yield* seesOneOf(cursor, follows)))) return false;
      begin();
      const schema = tools.functions.get(name) ?? null;
      const next = [...closing.slice(0, 1), callMark(layout)];
      yield* readParameters(cursor, pieces, {
        marks,
        schema,
        end: after,
        next,
        isConstrained: tools.isConstrained,
      });
    } else if (next === "{") {
      begin();
      if (layout.quote !== null)
        yield* readQuoted(cursor, pieces, { quote: layout.quote, endMarks: end.marks });
      else {
        const read = yield* readGivenObject(cursor, pieces);
        if (read.broken !== null)
          yield* readBrokenArguments(cursor, pieces, { ...end, given: read.given, broken: read.broken });
      }
    } else {
      const isOver = next === "" || (yield* seesOneOf(cursor, after.slice(0, 1)));
      if (!isBetween || !isOver || next === "" || !needsNoArguments(tools, name)) return false;
      begin();
      pieces.addArguments("{}");
    }
    return true;
  };
}

function hasWords(pieces: readonly Piece[]): boolean {
  return pieces.some((piece) => piece.kind !== "text" || piece.words.length > 0);
}

/** Matches characters that end a function's name. */
const endsName = /[\s<>[\](){}"'|,;=`｜]/;

function* readName(cursor: Cursor, between: readonly Piece[]): Reading<string> {
  const [first] = between;
  const next = first?.kind === "text" ? (first.words[0] ?? "").charAt(0) : "";
  return yield* cursor.skip((character) => character !== next && !endsName.test(character));
}

/**
 * Reads the text between the name and the arguments, as far as it matches the layout. Returns false if some of it is
 * missing.
 */
function* takesBetween(cursor: Cursor, between: readonly Piece[]): Reading<boolean> {
  let isWhole = true;
  for (const piece of between) {
    yield* cursor.skip(isBlank);
    if (piece.kind === "index" || piece.kind === "id")
      yield* cursor.skip((character) => /\w/.test(character));
    if (piece.kind === "text") isWhole = (yield* takesAll(cursor, piece.words)) && isWhole;
  }
  return isWhole;
}

function* seesOneOf(cursor: Cursor, words: readonly string[]): Reading<boolean> {
  for (const word of words) if (yield* cursor.sees(word)) return true;
  return false;
}

/**
 * Reads arguments in the quoted notation. They are converted only once they are complete, because only then is it known
 * whether they are valid.
 */
function* readQuoted(
  cursor: Cursor,
  pieces: ReplyPieces,
  { quote, endMarks }: { readonly quote: string; readonly endMarks: readonly string[] },
): Reading {
  let text = "";
  yield* readUntil(cursor, { marks: endMarks, isPadding: () => false }, (piece) => (text += piece));
  pieces.addArguments(quotedToJson(text, quote) ?? text);
}

/**
 * Reads the given words, each after optional blanks. Returns false if a word is missing; the cursor's position is then
 * undefined.
 */
function* takesAll(cursor: Cursor, words: readonly string[]): Reading<boolean> {
  for (const word of words) {
    yield* cursor.skip(isBlank);
    if (!(yield* cursor.takes(word))) return false;
  }
  return true;
}

/** Reads the given words, each after optional blanks. Skips words that are missing. */
function* takesSome(cursor: Cursor, words: readonly string[]): Reading {
  for (const word of words) yield* takesAfterBlanks(cursor, word);
}
