// Values of a payload as queries see them: texts, and the numbers that texts represent. Both in-memory comparisons and
// the SQL of `store/database` follow these rules.
import type { Json } from "../text/json.ts";
import type { PathStep } from "./feedback-field.ts";

/**
 * Returns a text as queries see it. NUL and unpaired surrogates, which databases cannot store, are replaced by U+FFFD.
 * A record that is read still has the original text.
 */
export function searchableText(text: string): string {
  // Most texts contain neither NUL nor surrogates. This test is much faster than checking whether surrogates are
  // paired.
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd") : text;
}

/** Applies {@link searchableText} to every text and member name of a value. */
export function searchableJson(value: Json): Json {
  if (typeof value === "string") return searchableText(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: Json) => searchableJson(item));
  const members = Object.entries(value).map(([name, member]: [string, Json]) => [
    searchableText(name),
    searchableJson(member),
  ]);
  // `fromEntries` keeps a member named `__proto__`, which an assignment to an object would lose.
  return Object.fromEntries(members) as Json;
}

/** Returns the value at a path of the payload; undefined if there is none. */
export function valueAt(payload: Json, path: readonly PathStep[]): Json | undefined {
  let value: Json | undefined = payload;
  for (const step of path) {
    if (value === undefined || value === null || typeof value !== "object") return undefined;
    if (Array.isArray(value)) value = typeof step === "number" ? (value[step] as Json) : undefined;
    else value = Object.hasOwn(value, step) && typeof step === "string" ? memberOf(value, step) : undefined;
  }
  return value;
}

function memberOf(value: object, name: string): Json {
  // Safe cast: parsed from JSON.
  return (value as { readonly [key: string]: Json })[name];
}

/** Returns the text of a payload value; null if the value is null or missing. */
export function textOf(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? searchableText(value) : JSON.stringify(searchableJson(value));
}

/**
 * Maximum length in characters of a text that counts as a number. Every number has a text of at most this length, such
 * as -0.0000012345678901234567.
 */
export const numberTextLengthMax = 25;
/** Pattern of a number in JSON's notation. */
export const numberPattern = "-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?";
const numberText = new RegExp(`^${numberPattern}$`);

/**
 * Returns the number that a text represents in JSON's notation. Returns null if the text is no such number, has more
 * than 25 characters, or overflows.
 */
export function numberOfText(text: string): number | null {
  if (text.length > numberTextLengthMax || !numberText.test(text)) return null;
  const number = Number(text);
  return Number.isFinite(number) ? number + 0 : null;
}

/**
 * Compares texts by their code points, which is the order of their UTF-8 bytes. Returns a negative number if `a` comes
 * first.
 */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === a.length || at === b.length) return a.length - b.length;
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

/** Returns a code unit's position in code point order. Surrogates come last: they encode the highest code points. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Converts only the letters A to Z to lower case. */
export function lowerLatin(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
