// Splits and strips texts and replaces parts of them, as in Python; methods and filters share these functions.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { blank, charactersOf, leadingBlanks, trailingBlanks } from "../values/characters.ts";

/** @param characters characters to strip; null for blanks */
export function stripCharacters(
  text: string,
  characters: string | null,
  side: "left" | "right" | "both",
): string {
  if (characters === null) {
    const end = side === "left" ? text.length : trailingBlanks(text);
    return text.slice(side === "right" ? 0 : Math.min(leadingBlanks(text), end), end);
  }
  const stripped = new Set(charactersOf(characters));
  const all = charactersOf(text);
  let [start, end] = [0, all.length];
  if (side !== "right") while (start < end && stripped.has(all[start])) start += 1;
  if (side !== "left") while (end > start && stripped.has(all[end - 1])) end -= 1;
  return start === 0 && end === all.length ? text : all.slice(start, end).join("");
}

const blanks = new RegExp(`[${blank}]+`, "g");

/**
 * @param separator null for any sequence of blanks
 * @param most maximum number of splits, unlimited below 0
 */
export function splitFromLeft(
  text: string,
  separator: string | null,
  most: number,
  budget: Budget,
): string[] {
  if (separator === "") throw new TemplateFault("empty separator");
  const parts: string[] = [];
  let start = separator === null ? leadingBlanks(text) : 0;
  blanks.lastIndex = start;
  const cutsMax = most < 0 ? Infinity : most;
  while (parts.length < cutsMax) {
    const found = separator === null ? blanks.exec(text) : null;
    const end = separator === null ? (found?.index ?? -1) : text.indexOf(separator, start);
    if (end < 0) break;
    parts.push(text.slice(start, end));
    start = end + (found?.[0] ?? separator ?? "").length;
    budget.spend();
    budget.require(parts.length);
  }
  if (separator !== null || start < text.length) {
    const rest = text.slice(start);
    // The last part keeps its trailing blanks if the maximum number of splits was reached.
    parts.push(rest);
  }
  return parts;
}

/** Like {@link splitFromLeft}, but splits from the end. */
export function splitFromRight(
  text: string,
  separator: string | null,
  most: number,
  budget: Budget,
): string[] {
  if (most < 0) return splitFromLeft(text, separator, most, budget);
  if (separator === "") throw new TemplateFault("empty separator");
  const parts: string[] = [];
  let end = separator === null ? trailingBlanks(text) : text.length;
  while (parts.length < most) {
    const start = separator === null ? lastWord(text, end) : lastEnd(text, separator, end);
    if (start < 0) break;
    parts.push(text.slice(start, end));
    end = separator === null ? trailingBlanks(text.slice(0, start)) : start - separator.length;
    budget.spend();
  }
  if (separator !== null || end > 0) parts.push(text.slice(0, end));
  return parts.reverse();
}

/** Returns the index where the last word before `end` begins; -1 if it is the only one. */
function lastWord(text: string, end: number): number {
  let start = end;
  while (start > 0 && trailingBlanks(text.slice(start - 1, start)) > 0) start -= 1;
  return start > 0 && trailingBlanks(text.slice(0, start)) > 0 ? start : -1;
}

function lastEnd(text: string, separator: string, end: number): number {
  const place = end < separator.length ? -1 : text.lastIndexOf(separator, end - separator.length);
  return place < 0 ? -1 : place + separator.length;
}

export interface Replacement {
  readonly old: string;
  readonly by: string;
  /** Maximum number of replacements; unlimited below 0. */
  readonly most: number;
}

export function replaceText(text: string, { old, by, most }: Replacement, budget: Budget): string {
  if (old === "") {
    const all = charactersOf(text);
    const count = most < 0 ? all.length + 1 : Math.min(most, all.length + 1);
    budget.room(text.length + count * by.length);
    return (
      all.map((one, index) => (index < count ? by + one : one)).join("") + (count > all.length ? by : "")
    );
  }
  const parts = text.split(old);
  const count = most < 0 ? parts.length - 1 : Math.min(most, parts.length - 1);
  budget.room(text.length + count * (by.length - old.length));
  if (count === parts.length - 1) return parts.join(by);
  return [...parts.slice(0, count), parts.slice(count).join(old)].join(by);
}
