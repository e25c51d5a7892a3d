// Filters of texts.
import { TemplateFault } from "../fault.ts";
import { formatPercent } from "../format/percent.ts";
import { replaceText, stripCharacters } from "../methods/cut-text.ts";
import { capitalized } from "../methods/text-methods.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import { noArguments, type Filter, type Run } from "../run/run.ts";
import { characterCount, charactersOf, linesOf } from "../values/characters.ts";
import { isIterable, iterate, lengthOf, numberOf, requireDefined } from "../values/compare.ts";
import { fixedText } from "../values/float-text.ts";
import { escapedHtml, toMarkup, textOf, typeName } from "../values/show.ts";
import { Dict, isList, Markup, Tuple, Undefined, type CallArguments, type Value } from "../values/value.ts";
import { wrapLine } from "./wrap-line.ts";

export const textFilters: Readonly<Record<string, Filter>> = {
  string: (value, args, run) => plain("string", value, args, run),
  upper: (value, args, run) => plain("upper", value, args, run).toUpperCase(),
  lower: (value, args, run) => plain("lower", value, args, run).toLowerCase(),
  capitalize: (value, args, run) => capitalized(plain("capitalize", value, args, run)),
  title: (value, args, run) =>
    plain("title", value, args, run)
      .split(/([-\s({[<]+)/)
      .map((word) => {
        const [first = "", ...rest] = charactersOf(word);
        return first.toUpperCase() + rest.join("").toLowerCase();
      })
      .join(""),
  trim: (value, args, run) =>
    stripCharacters(
      textOf(value, run.budget),
      new Arguments("trim", args, "| chars").optionalText("chars"),
      "both",
    ),
  replace: (value, args, run) => {
    const asked = new Arguments("replace", args, "old new | count");
    const [old, by] = ["old", "new"].map((name) => textOf(asked.get(name) ?? null, run.budget));
    return replaceText(
      textOf(value, run.budget),
      { old, by, most: asked.optionalInt("count") ?? -1 },
      run.budget,
    );
  },
  format: (value, args, { budget }) => {
    const { positional, named } = args;
    if (positional.length > 0 && named.size > 0)
      throw new TemplateFault("can't handle positional and keyword arguments at the same time");
    const values = named.size > 0 ? Dict.of(named) : new Tuple(positional);
    return formatPercent(textOf(value, budget), values, budget);
  },
  center: (value, args, run) => {
    const asked = new Arguments("center", args, "| width");
    const center = run.attribute(textOf(value, run.budget), "center");
    return run.call(center, { ...noArguments, positional: [BigInt(asked.int("width", 80))] });
  },
  indent: (value, args, run) => {
    const asked = new Arguments("indent", args, "| width first blank");
    const width = asked.getOr("width", 4n);
    requireDefined(value);
    if (typeof value !== "string")
      throw new TemplateFault(`unsupported operand type(s) for +=: '${typeName(value)}' and 'str'`);
    run.budget.room(typeof width === "string" ? width.length : asked.int("width", 4));
    const indention = typeof width === "string" ? width : " ".repeat(Math.max(0, asked.int("width", 4)));
    const lines = linesOf(`${value}\n`, false);
    run.budget.room(value.length + indention.length * lines.length);
    const isBlankToo = asked.flag("blank");
    const rest = lines.slice(1).map((line) => (line === "" && !isBlankToo ? line : indention + line));
    return (asked.flag("first") ? indention : "") + [lines[0], ...rest].join("\n");
  },
  truncate: (value, args) => {
    const asked = new Arguments("truncate", args, "| length killwords end leeway");
    if (isList(value) || value instanceof Tuple) return truncatedItems(value, asked);
    const [length, end] = [asked.int("length", 255), asked.text("end", "...")];
    const leeway = asked.optionalInt("leeway") ?? 5;
    if (length < characterCount(end))
      throw new TemplateFault(`expected length >= ${characterCount(end)}, got ${length}`);
    if (leeway < 0) throw new TemplateFault(`expected leeway >= 0, got ${leeway}`);
    const text = textAlone(value);
    const characters = charactersOf(text);
    if (characters.length <= length + leeway) return text;
    const kept = characters.slice(0, length - characterCount(end)).join("");
    const lastBlank = kept.lastIndexOf(" ");
    return (asked.flag("killwords") || lastBlank < 0 ? kept : kept.slice(0, lastBlank)) + end;
  },
  wordwrap: (value, args, { budget }) => {
    const asked = new Arguments("wordwrap", args, "| width break_long_words wrapstring break_on_hyphens");
    const width = asked.int("width", 79);
    if (width <= 0) throw new TemplateFault(`invalid width ${width} (must be > 0)`);
    const options = {
      width,
      breaksWords: asked.flag("break_long_words", true),
      breaksHyphens: asked.flag("break_on_hyphens", true),
    };
    const wrapString = asked.optionalText("wrapstring") ?? "\n";
    const text = textAlone(value);
    budget.room(text.length + text.length * wrapString.length);
    return linesOf(text, false)
      .map((line) => wrapLine(line, options).join(wrapString))
      .join(wrapString);
  },
  wordcount: (value, args, run) =>
    BigInt(plain("wordcount", value, args, run).match(/[\p{L}\p{N}\p{M}_]+/gu)?.length ?? 0),
  escape: (value, args, run) => toMarkup(value, plain("escape", value, args, run)),
  e: (value, args, run) => toMarkup(value, plain("e", value, args, run)),
  forceescape: (value, args, run) => new Markup(escapedHtml(plain("forceescape", value, args, run))),
  safe: (value, args, run) => new Markup(plain("safe", value, args, run)),
  striptags: (value, args, run) =>
    plain("striptags", value, args, run)
      .replaceAll(/<!--[\s\S]*?-->|<[^>]*>/g, "")
      .split(/\s+/)
      .filter(Boolean)
      .join(" ")
      .replaceAll(/&(amp|lt|gt|quot|#39|#34);/g, (_, name: string) => entities[name]),
  urlencode: (value, args, run) => urlEncoded(value, args, run),
  filesizeformat: (value, args) =>
    fileSize(value, new Arguments("filesizeformat", args, "| binary").flag("binary")),
  xmlattr: (value, args, { budget }) => {
    const space = new Arguments("xmlattr", args, "| autospace").flag("autospace", true);
    if (!(value instanceof Dict)) throw new TemplateFault("xmlattr needs a mapping");
    const attributes = Array.from(value.entries()).flatMap(([key, member]) => {
      if (member === null || member instanceof Undefined) return [];
      const name = textOf(key, budget);
      if (/[\s/>=]/.test(name)) throw new TemplateFault(`Invalid character in attribute name: '${name}'`);
      return [`${escapedHtml(name)}="${escapedHtml(textOf(member, budget))}"`];
    });
    return (space && attributes.length > 0 ? " " : "") + budget.text(attributes.join(" "));
  },
};

/** Returns the value as a text, for a filter without arguments. */
function plain(name: string, value: Value, args: CallArguments, { budget }: Run): string {
  requireNone(name, args);
  return textOf(value, budget);
}

/**
 * Truncates a list, as Jinja does. A list that is short enough stays unchanged. If a list is truncated, `end` must be
 * a list too.
 */
function truncatedItems(value: Value[] | Tuple, asked: Arguments): Value {
  const length = asked.int("length", 255);
  const end = asked.getOr("end", "...");
  const endLength = lengthOf(end);
  if (endLength === null) throw new TemplateFault(`object of type '${typeName(end)}' has no len()`);
  if (length < endLength) throw new TemplateFault(`expected length >= ${endLength}, got ${length}`);
  const leeway = asked.optionalInt("leeway") ?? 5;
  if (leeway < 0) throw new TemplateFault(`expected leeway >= 0, got ${leeway}`);
  const items = isList(value) ? value : value.items;
  if (items.length <= length + leeway) return value;
  const kept = items.slice(0, length - endLength);
  if (asked.flag("killwords") && isList(value) && isList(end)) return [...kept, ...end];
  if (asked.flag("killwords") && value instanceof Tuple && end instanceof Tuple)
    return new Tuple([...kept, ...end.items]);
  throw new TemplateFault(
    `a ${typeName(value)} is only truncated with \`killwords\` and an \`end\` of its type`,
  );
}

function textAlone(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined && lengthOf(value) === 0) return "";
  throw new TemplateFault(`expected a str, not ${typeName(value)}`);
}

const entities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  "#34": '"',
};

function urlEncoded(value: Value, args: CallArguments, { budget }: Run): string {
  requireNone("urlencode", args);
  if (typeof value === "string" || !isIterable(value)) return quotedForUrl(textOf(value, budget), false);
  const pairs = value instanceof Dict ? Array.from(value.entries()) : Array.from(iterate(value), pairOf);
  return budget.text(
    pairs.map((pair) => pair.map((part) => quotedForUrl(textOf(part, budget), true)).join("=")).join("&"),
  );
}

function pairOf(item: Value): readonly [Value, Value] {
  const parts = Array.from(iterate(item));
  if (parts.length !== 2) throw new TemplateFault(`expected a pair, not ${parts.length} values`);
  return [parts[0], parts[1]];
}

function quotedForUrl(text: string, isQuery: boolean): string {
  const quoted = encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, "\ufffd"))
    .replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll(/%2F/g, isQuery ? "%2F" : "/");
  return isQuery ? quoted.replaceAll("%20", "+") : quoted;
}

function fileSize(value: Value, isBinary: boolean): string {
  requireDefined(value);
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : numberOf(value);
  const bytes = number === null ? NaN : Number(number);
  if (Number.isNaN(bytes)) throw new TemplateFault("could not convert to a size");
  const base = isBinary ? 1024 : 1000;
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const prefixes = isBinary
    ? ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    : ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
  const found = prefixes.findIndex((_, index) => bytes < base ** (index + 2));
  const index = found < 0 ? prefixes.length - 1 : found;
  return `${fixedText((base * bytes) / base ** (index + 2), 1)} ${prefixes[index]}`;
}
