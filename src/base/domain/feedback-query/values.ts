// How a query sees the values of a payload: as texts, and as the numbers that these are written as. Both sides of a
// comparison, and the SQL of storage, go by these rules.
import type { Json } from "../text/json.ts";
import type { PathStep } from "./feedback-field.ts";

/**
 * A text as queries see it: NUL and half surrogate pairs, which databases do not keep in texts, are U+FFFD. They stay as
 * they are in what is read back.
 */
export function searchableText(text: string): string {
  // Most texts have neither, which is found much faster than whether surrogates come in pairs.
  return /[\0\ud800-\udfff]/.test(text) ? text.replaceAll(/[\0\p{Surrogate}]/gu, "\ufffd") : text;
}

/** The same of every text and every name in a value. */
export function searchableJson(value: Json): Json {
  if (typeof value === "string") return searchableText(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item: Json) => searchableJson(item));
  const members = Object.entries(value).map(([name, member]: [string, Json]) => [
    searchableText(name),
    searchableJson(member),
  ]);
  // Not by assignment, which `__proto__` would not survive.
  return Object.fromEntries(members) as Json;
}

/** What lies at a path; undefined where nothing does. */
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
  // A member of what was parsed from JSON.
  return (value as { readonly [key: string]: Json })[name];
}

/** The text of a value of the payload; null where it is null or not there. */
export function textOf(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "string" ? searchableText(value) : JSON.stringify(searchableJson(value));
}

/** No longer text is a number: every number has a text of so many characters, as -0.0000012345678901234567 does. */
export const numberTextLengthMax = 25;
/** JSON's numbers. */
export const numberPattern = "-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?";
const numberText = new RegExp(`^${numberPattern}$`);

/** The number that a text is written as, in JSON's way and in at most 25 characters; null where it is none, or too large. */
export function numberOfText(text: string): number | null {
  if (text.length > numberTextLengthMax || !numberText.test(text)) return null;
  const number = Number(text);
  return Number.isFinite(number) ? number + 0 : null;
}

/** The order of texts by their code points, which is that of their UTF-8 bytes; negative where `a` comes first. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  let at = 0;
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === a.length || at === b.length) return a.length - b.length;
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

/** Halves of surrogate pairs, which stand for code points beyond all others, come last. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The letters A to Z in lower case, and nothing else. */
export function lowerLatin(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
