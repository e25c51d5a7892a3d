// Naive reference for structural tags: decides whether a tag allows a text by trying all ways to divide the text. It
// reads the JSON directly, without expressions, rules and grammars. It supports only JSON values without whitespace.
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { isValid } from "./naive-validator.ts";

export function holdsTag(tag: Json, text: string): boolean {
  const { format, structures, triggers } = objectOf(tag);
  const root: Json = format ?? {
    type: "triggered_tags",
    triggers,
    tags: listOf(structures).map((one) => {
      const { begin, schema, end } = objectOf(one);
      return { begin, content: { type: "json_schema", json_schema: schema }, end };
    }),
  };
  return placesBehind(root, 0, { text, ends: [] }).has(text.length);
}

interface Around {
  readonly text: string;
  /** Ends of the enclosing tags if the format is not the last part of its tag. */
  readonly ends: readonly string[];
  /** Ends of the enclosing tag if the format is the last part of that tag, so one of these ends must follow. */
  readonly closing?: readonly string[];
}

type Places = ReadonlySet<number>;

/**
 * Returns the positions where a match of the format can end, including the end of the enclosing tag if the format is
 * its last part.
 */
function placesBehind(format: Json, from: number, around: Around): Places {
  const { text } = around;
  const { closing: _closing, ...open } = around;
  const inside: Around = { ...open, ends: [...around.ends, ...(around.closing ?? [])] };
  const object = objectOf(format);
  const of = (place: number, inner: Json, how: Around = inside) => placesBehind(inner, place, how);
  const repeated = (min: number, max: number): Places =>
    closed(
      chain(new Set([from]), { min, max }, (at) => of(at, object.content)),
      around,
    );
  const tags = () => listOf(object.tags);
  switch (object.type ?? "tag") {
    case "const_string":
      return closed(behind(text, from, textOf(object.value)), around);
    case "json_schema":
      return closed(
        everyPlace(text, from, (part) => holdsValue(object.json_schema, part)),
        around,
      );
    case "regex":
      return closed(
        everyPlace(text, from, (part) => new RegExp(`^(?:${textOf(object.pattern)})$`, "u").test(part)),
        around,
      );
    case "any_text":
      return free(from, { stops: [], excludes: textsOf(object.excludes) }, around);
    case "or":
      return union(listOf(object.elements), (inner) => of(from, inner, around));
    case "sequence": {
      const elements = listOf(object.elements);
      return elements.reduce<Places>(
        (places, inner, index) =>
          union(places, (at) => of(at, inner, index === elements.length - 1 ? around : inside)),
        new Set([from]),
      );
    }
    case "optional":
      return union([closed(new Set([from]), around), of(from, object.content, around)], (one) => one);
    case "star":
      return repeated(0, Infinity);
    case "plus":
      return repeated(1, Infinity);
    case "repeat":
      return repeated(Number(object.min), object.max === -1 ? Infinity : Number(object.max));
    case "tag": {
      const ends = Array.isArray(object.end) ? textsOf(object.end) : [textOf(object.end)];
      const content = union(behind(text, from, textOf(object.begin)), (at) =>
        of(at, object.content, { text, ends: [], closing: ends }),
      );
      return closed(content, around);
    }
    case "triggered_tags":
      return mixed(
        from,
        { ...scanOf(object), once: object.stop_after_first === true, first: object.at_least_one === true },
        textsOf(object.triggers).map((trigger) => ({
          trigger,
          follow: (at) =>
            union(
              tags().filter((tag) => textOf(objectOf(tag).begin).startsWith(trigger)),
              (tag) => of(at - trigger.length, tag),
            ),
        })),
        around,
      );
    case "dispatch": {
      const branches = listOf(object.rules).map((rule) => {
        const [trigger, inner] = listOf(rule);
        return { trigger: textOf(trigger), follow: (at: number) => of(at, inner) };
      });
      const options = { ...scanOf(object), once: object.loop === false, first: false };
      return closed(mixed(from, options, branches, { text, ends: [] }), around);
    }
    case "tags_with_separator": {
      const one = (at: number) => union(tags(), (tag) => of(at, tag));
      const separator = textOf(object.separator);
      const more = object.stop_after_first === true ? 0 : Infinity;
      const some = chain(one(from), { min: 0, max: more }, (at) => union(behind(text, at, separator), one));
      return closed(object.at_least_one === true ? some : new Set([from, ...some]), around);
    }
    default:
      throw new Error(`no format: ${JSON.stringify(format)}`);
  }
}

interface Scan {
  readonly excludes: readonly string[];
}

const scanOf = (object: JsonObject): Scan => ({ excludes: textsOf(object.excludes) });

/** Matches free text interspersed with triggers and their continuations. */
function mixed(
  from: number,
  { excludes, once, first }: Scan & { readonly once: boolean; readonly first: boolean },
  branches: readonly { readonly trigger: string; readonly follow: (at: number) => Places }[],
  around: Around,
): Places {
  const { text, ends, closing = [] } = around;
  const triggers = branches.map(({ trigger }) => trigger);
  const stops = [...triggers, ...ends, ...closing].filter((stop) => stop !== "");
  const found = new Set<number>();
  const seen = new Set<number>();
  const waiting: number[] = [];
  const called = (at: number, isFirst: boolean): void => {
    for (const { trigger, follow } of branches) {
      for (let place = at; place <= text.length; place++) {
        const end = place + trigger.length;
        if (isFirst && place > at) break;
        if (!text.startsWith(trigger, place)) continue;
        if (!isFirst && firstBehind(text, at, stops) !== end) continue;
        if (holdsAny(text.slice(at, place), excludes)) continue;
        for (const next of follow(end)) {
          if (once) for (const last of closed(new Set([next]), around)) found.add(last);
          else if (!seen.has(next)) {
            seen.add(next);
            waiting.push(next);
          }
        }
      }
    }
  };
  if (first) called(from, true);
  else waiting.push(from);
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const last of free(at, { stops: triggers, excludes }, around)) found.add(last);
    called(at, false);
  }
  return found;
}

/** Matches free text that contains none of the stops and no end of an enclosing tag. */
function free(
  from: number,
  { stops, excludes }: Scan & { readonly stops: readonly string[] },
  { text, ends, closing }: Around,
): Places {
  const all = [...stops, ...ends, ...(closing ?? [])].filter((stop) => stop !== "");
  const open = everyPlace(text, from, (part) => !holdsAny(part, [...all, ...excludes]));
  if (closing === undefined) return open;
  const filled = closing.filter((end) => end !== "");
  const closedBy = filled.flatMap((end) =>
    [...everyPlace(text, from, (part) => !holdsAny(part, excludes))]
      .filter((place) => text.startsWith(end, place))
      .map((place) => place + end.length)
      .filter((place) => firstBehind(text, from, all) === place),
  );
  return new Set([...closedBy, ...(closing.includes("") ? open : [])]);
}

/** Returns the position after the stop that is completed first; Infinity if the text contains none. */
function firstBehind(text: string, from: number, stops: readonly string[]): number {
  return Math.min(
    ...stops.map((stop) =>
      text.indexOf(stop, from) < 0 ? Infinity : text.indexOf(stop, from) + stop.length,
    ),
  );
}

function closed(places: Places, { text, closing }: Around): Places {
  if (closing === undefined) return places;
  return union(places, (place) => union(closing, (end) => behind(text, place, end)));
}

function chain(
  start: Places,
  { min, max }: { readonly min: number; readonly max: number },
  step: (at: number) => Places,
): Places {
  let places = start;
  for (let count = 0; count < min; count++) places = union(places, step);
  const found = new Set(places);
  for (let count = min; count < max; count++) {
    const before = found.size;
    places = union(places, step);
    for (const place of places) found.add(place);
    if (found.size === before) break;
  }
  return found;
}

function everyPlace(text: string, from: number, test: (part: string) => boolean): Places {
  const places = new Set<number>();
  for (let place = from; place <= text.length; place++) if (test(text.slice(from, place))) places.add(place);
  return places;
}

function union<T>(items: Iterable<T>, places: (item: T) => Places): Places {
  return new Set([...items].flatMap((item) => [...places(item)]));
}

const behind = (text: string, from: number, part: string): Places =>
  new Set(text.startsWith(part, from) ? [from + part.length] : []);

const holdsAny = (text: string, parts: readonly string[]): boolean =>
  parts.some((part) => text.includes(part));

/** True if the text is a valid value exactly as JSON.stringify writes it. */
function holdsValue(schema: Json, text: string): boolean {
  try {
    const value = JSON.parse(text) as Json;
    return JSON.stringify(value) === text && isValid(schema, value);
  } catch {
    return false;
  }
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const objectOf = (value: Json): JsonObject => (isObject(value) ? value : {});
const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const textsOf = (value: Json | undefined): readonly string[] => listOf(value).map(textOf);
