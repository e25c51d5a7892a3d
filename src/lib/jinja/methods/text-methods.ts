// The methods of a str.
import { TemplateFault } from "../fault.ts";
import { formatBraces } from "../format/braces.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import type { Method } from "../run/run.ts";
import {
  characterCount,
  characterIndex,
  charactersOf,
  isBlank,
  isPrintable,
  linesOf,
} from "../values/characters.ts";
import { iterate } from "../values/compare.ts";
import { textOf, typeName } from "../values/show.ts";
import { Dict, Tuple, type CallArguments, type Value } from "../values/value.ts";
import { replaceText, splitFromLeft, splitFromRight, stripCharacters } from "./cut-text.ts";

export const textMethods: Readonly<Record<string, Method<string>>> = {
  upper: (text, args) => plain("upper", args, text.toUpperCase()),
  lower: (text, args) => plain("lower", args, text.toLowerCase()),
  casefold: (text, args) => plain("casefold", args, casefolded(text)),
  capitalize: (text, args) => plain("capitalize", args, capitalized(text)),
  title: (text, args) => plain("title", args, titled(text)),
  swapcase: (text, args) => plain("swapcase", args, swapped(text)),
  strip: (text, args) =>
    stripCharacters(text, new Arguments("strip", args, "| chars").optionalText("chars"), "both"),
  lstrip: (text, args) =>
    stripCharacters(text, new Arguments("lstrip", args, "| chars").optionalText("chars"), "left"),
  rstrip: (text, args) =>
    stripCharacters(text, new Arguments("rstrip", args, "| chars").optionalText("chars"), "right"),
  split: (text, args, { budget }) => {
    const [separator, most] = splitArguments("split", args);
    return splitFromLeft(text, separator, most, budget);
  },
  rsplit: (text, args, { budget }) => {
    const [separator, most] = splitArguments("rsplit", args);
    return splitFromRight(text, separator, most, budget);
  },
  splitlines: (text, args, { budget }) => {
    const lines = linesOf(text, new Arguments("splitlines", args, "| keepends").flag("keepends"));
    budget.room(lines.length);
    return [...lines];
  },
  partition: (text, args) => {
    const separator = separatorOf("partition", args);
    const place = text.indexOf(separator);
    return new Tuple(place < 0 ? [text, "", ""] : around(text, place, separator));
  },
  rpartition: (text, args) => {
    const separator = separatorOf("rpartition", args);
    const place = text.lastIndexOf(separator);
    return new Tuple(place < 0 ? ["", "", text] : around(text, place, separator));
  },
  join: (text, args, { budget }) => {
    const pieces: string[] = [];
    let length = 0;
    for (const item of iterate(new Arguments("join", args, "iterable").get("iterable") ?? null)) {
      if (typeof item !== "string")
        throw new TemplateFault(
          `sequence item ${pieces.length}: expected str instance, ${typeName(item)} found`,
        );
      budget.spend();
      length += item.length + text.length;
      budget.require(length - text.length);
      pieces.push(item);
    }
    return pieces.join(text);
  },
  replace: (text, args, { budget }) => {
    const asked = new Arguments("replace", args, "old new | count");
    return replaceText(
      text,
      { old: asked.text("old"), by: asked.text("new"), most: asked.int("count", -1) },
      budget,
    );
  },
  removeprefix: (text, args) => {
    const prefix = new Arguments("removeprefix", args, "prefix").text("prefix");
    return text.startsWith(prefix) ? text.slice(prefix.length) : text;
  },
  removesuffix: (text, args) => {
    const suffix = new Arguments("removesuffix", args, "suffix").text("suffix");
    return suffix !== "" && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text;
  },
  startswith: (text, args) => hasAffix("startswith", text, args),
  endswith: (text, args) => hasAffix("endswith", text, args),
  find: (text, args) => BigInt(placeOf("find", text, args)),
  rfind: (text, args) => BigInt(placeOf("rfind", text, args)),
  index: (text, args) => found(placeOf("find", text, args)),
  rindex: (text, args) => found(placeOf("rfind", text, args)),
  count: (text, args) => {
    const { part, window } = windowOf("count", text, args);
    if (window === null) return 0n;
    if (part === "") return BigInt(characterCount(window.text) + 1);
    return BigInt(window.text.split(part).length - 1);
  },
  center: (text, args, { budget }) => {
    const { missing, fill } = widthOf("center", text, args);
    budget.room(text.length + missing);
    // If both the padding and the width are odd, Python puts the additional blank on the left.
    const left =
      Math.floor(missing / 2) + (missing % 2 === 1 && (characterCount(text) + missing) % 2 === 1 ? 1 : 0);
    return fill.repeat(left) + text + fill.repeat(missing - left);
  },
  ljust: (text, args, { budget }) => {
    const { missing, fill } = widthOf("ljust", text, args);
    budget.room(text.length + missing);
    return text + fill.repeat(missing);
  },
  rjust: (text, args, { budget }) => {
    const { missing, fill } = widthOf("rjust", text, args);
    budget.room(text.length + missing);
    return fill.repeat(missing) + text;
  },
  zfill: (text, args, { budget }) => {
    const missing = Math.max(0, new Arguments("zfill", args, "width").int("width") - characterCount(text));
    budget.room(text.length + missing);
    const sign = /^[-+]/.exec(text)?.[0] ?? "";
    return sign + "0".repeat(missing) + text.slice(sign.length);
  },
  expandtabs: (text, args, { budget }) => {
    const size = Math.max(0, new Arguments("expandtabs", args, "| tabsize").int("tabsize", 8));
    budget.room(text.length + (text.split("\t").length - 1) * size);
    return expanded(text, size);
  },
  format: (text, args, run) => formatBraces(text, args, run, run.budget),
  format_map: (text, args, run) => {
    const mapping = new Arguments("format_map", args, "mapping").get("mapping");
    if (!(mapping instanceof Dict)) throw new TemplateFault("format_map() needs a mapping");
    const named = new Map(Array.from(mapping.entries(), ([key, value]) => [textOf(key, run.budget), value]));
    return formatBraces(text, { positional: [], named }, run, run.budget);
  },
  isalnum: (text, args) => plain("isalnum", args, /^[\p{L}\p{N}]+$/u.test(text)),
  isalpha: (text, args) => plain("isalpha", args, /^\p{L}+$/u.test(text)),
  // oxlint-disable-next-line no-control-regex -- ASCII has them
  isascii: (text, args) => plain("isascii", args, /^[\u0000-\u007f]*$/.test(text)),
  isdecimal: (text, args) => plain("isdecimal", args, /^\p{Nd}+$/u.test(text)),
  isdigit: (text, args) => plain("isdigit", args, isDigits(text)),
  isnumeric: (text, args) => plain("isnumeric", args, /^\p{N}+$/u.test(text)),
  isidentifier: (text, args) =>
    plain("isidentifier", args, /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text)),
  islower: (text, args) => plain("islower", args, isLower(text)),
  isupper: (text, args) => plain("isupper", args, isUpper(text)),
  isprintable: (text, args) => plain("isprintable", args, charactersOf(text).every(isPrintable)),
  isspace: (text, args) => plain("isspace", args, isBlank(text)),
  istitle: (text, args) => plain("istitle", args, isTitled(text)),
};

function plain<Result extends Value>(name: string, args: CallArguments, result: Result): Result {
  requireNone(name, args);
  return result;
}

function casefolded(text: string): string {
  return text.replaceAll(/[ßẞ]/g, "ss").toLowerCase().replaceAll("ς", "σ");
}

export function capitalized(text: string): string {
  const [first = "", ...rest] = charactersOf(text);
  return titleCase(first) + rest.join("").toLowerCase();
}

const digraphs: Readonly<Record<string, string>> = {
  ǆ: "ǅ",
  Ǆ: "ǅ",
  ǉ: "ǈ",
  Ǉ: "ǈ",
  ǌ: "ǋ",
  Ǌ: "ǋ",
  ǳ: "ǲ",
  Ǳ: "ǲ",
  ß: "Ss",
  ﬁ: "Fi",
  ﬂ: "Fl",
  ﬀ: "Ff",
};

function titleCase(character: string): string {
  return digraphs[character] ?? character.toUpperCase();
}

function titled(text: string): string {
  return text.replaceAll(/[\p{Lu}\p{Ll}\p{Lt}]+/gu, (word) => {
    const [first, ...rest] = charactersOf(word);
    return titleCase(first) + rest.join("").toLowerCase();
  });
}

function isTitled(text: string): boolean {
  return /[\p{Lu}\p{Ll}\p{Lt}]/u.test(text) && titled(text) === text;
}

function swapped(text: string): string {
  return charactersOf(text)
    .map((one) => (/\p{Lu}/u.test(one) ? one.toLowerCase() : one.toUpperCase()))
    .join("");
}

const superscripts =
  /^[\p{Nd}²³¹\u00b9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490]+$/u;

export function isDigits(text: string): boolean {
  return superscripts.test(text);
}

export function isLower(text: string): boolean {
  return /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text);
}

export function isUpper(text: string): boolean {
  return /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text);
}

function splitArguments(name: string, args: CallArguments): readonly [string | null, number] {
  const asked = new Arguments(name, args, "| sep maxsplit");
  return [asked.optionalText("sep"), asked.int("maxsplit", -1)];
}

function separatorOf(name: string, args: CallArguments): string {
  const separator = new Arguments(name, args, "sep").text("sep");
  if (separator === "") throw new TemplateFault("empty separator");
  return separator;
}

function around(text: string, place: number, separator: string): readonly Value[] {
  return [text.slice(0, place), separator, text.slice(place + separator.length)];
}

interface Window {
  readonly part: string;
  /** Part of the text to search; null if its start is beyond its end. */
  readonly window: { readonly text: string; readonly start: number } | null;
}

/** Returns the text to search for, and the part of the text to search. */
function windowOf(name: string, text: string, args: CallArguments): Window {
  const asked = new Arguments(name, args, "sub | start end");
  return { part: asked.text("sub"), window: bounded(text, asked) };
}

function bounded(text: string, asked: Arguments): Window["window"] {
  const [start, end] = [asked.optionalInt("start"), asked.optionalInt("end")];
  if (start === null && end === null) return { text, start: 0 };
  const characters = charactersOf(text);
  const length = characters.length;
  const place = (bound: number): number => Math.max(0, bound < 0 ? bound + length : bound);
  const [from, to] = [place(start ?? 0), Math.min(length, place(end ?? length))];
  if (from > length || from > to) return null;
  return { text: characters.slice(from, to).join(""), start: from };
}

function placeOf(name: "find" | "rfind", text: string, args: CallArguments): number {
  const { part, window } = windowOf(name, text, args);
  if (window === null) return -1;
  const place = name === "find" ? window.text.indexOf(part) : window.text.lastIndexOf(part);
  return place < 0 ? -1 : characterIndex(window.text, place) + window.start;
}

function found(place: number): bigint {
  if (place < 0) throw new TemplateFault("substring not found");
  return BigInt(place);
}

function hasAffix(name: "startswith" | "endswith", text: string, args: CallArguments): boolean {
  const asked = new Arguments(name, args, "prefix | start end");
  const window = bounded(text, asked);
  const given = asked.get("prefix") ?? null;
  const affixes = given instanceof Tuple ? given.items : [given];
  return affixes.some((affix) => {
    if (typeof affix !== "string") {
      asked.text("prefix");
      throw new TemplateFault(`tuple for ${name} must only contain str, not ${typeName(affix)}`);
    }
    if (window === null) return false;
    return name === "startswith" ? window.text.startsWith(affix) : window.text.endsWith(affix);
  });
}

function widthOf(
  name: string,
  text: string,
  args: CallArguments,
): { readonly missing: number; readonly fill: string } {
  const asked = new Arguments(name, args, "width | fillchar");
  const fill = asked.text("fillchar", " ");
  if (characterCount(fill) !== 1)
    throw new TemplateFault("The fill character must be exactly one character long");
  return { missing: Math.max(0, asked.int("width") - characterCount(text)), fill };
}

function expanded(text: string, size: number): string {
  let column = 0;
  return charactersOf(text)
    .map((character) => {
      if (character === "\t") {
        const count = size === 0 ? 0 : size - (column % size);
        column += count;
        return " ".repeat(count);
      }
      column = character === "\n" || character === "\r" ? 0 : column + 1;
      return character;
    })
    .join("");
}
