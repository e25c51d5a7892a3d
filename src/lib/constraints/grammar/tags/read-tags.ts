// Parses a structural tag in either form: `{format}`, a tree of formats, or the older `{structures, triggers}`, free
// text with tags. Refuses formats that constrain tokens instead of text, and unknown notations for a schema's values;
// the refusal names them.
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";
import { exactJsonText } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import { quoted } from "../../../../base/domain/service-error.ts";
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits } from "../../regex/limits.ts";
import { isObject } from "../schema/document.ts";
import type { Format, Tag, TriggeredTags } from "./formats.ts";
import { filledTextOf, itemsOf, malformed, Members, notExact, textOf } from "./members.ts";
import type { Placed } from "./members.ts";
import { readParameters } from "./read-parameters.ts";

/**
 * Parses a structural tag.
 *
 * @throws ConstraintRefusal for a malformed or unsupported tag, with the location as a JSON pointer
 */
export function readTags(tag: ExactJson, limits: GrammarLimits): Format {
  const reader = new TagReader(limits);
  const members = new Members({ value: tag, pointer: "#" });
  if (members.has("type") && members.text("type") !== "structural_tag")
    throw malformed("#/type", '"structural_tag"', members.text("type"));
  const isOlder = members.has("structures") || members.has("triggers");
  const format = isOlder
    ? reader.structures(members)
    : reader.format(members.required("format", "a format"), 0);
  members.end();
  return format;
}

type ReadFormat = (reader: TagReader, members: Members, depth: number) => Format;

const readers: Readonly<Record<string, ReadFormat>> = {
  const_string: (_reader, members) => ({ kind: "text", text: members.text("value") }),
  json_schema(reader, members, depth) {
    if (members.has("style") && members.text("style") === "qwen_xml")
      return reader.parameters(members, depth);
    members.notServed("style", "json");
    members.notServed("any_order", false);
    members.notServed("excludes", []);
    members.notServed("max_whitespace_cnt");
    return schemaContent(members, "json_schema");
  },
  qwen_xml_parameter: (reader, members, depth) => reader.parameters(members, depth),
  regex: (_reader, members) => ({
    kind: "constrained",
    rule: { kind: "regex", pattern: members.text("pattern") },
    place: `${members.pointer}/pattern`,
  }),
  grammar: (_reader, members) => ({
    kind: "constrained",
    rule: {
      kind: "grammar",
      text: members.text("grammar"),
      ...(members.flag("in_json_string") ? { isInJson: true } : {}),
    },
    place: `${members.pointer}/grammar`,
  }),
  any_text(_reader, members) {
    members.notServed("max_tokens");
    members.notServed("max_chars");
    return { kind: "free", excludes: members.texts("excludes") };
  },
  sequence: (reader, members, depth) => ({ kind: "sequence", parts: reader.formats(members, depth) }),
  or: (reader, members, depth) => ({ kind: "choice", parts: reader.formats(members, depth) }),
  optional: (reader, members, depth) => ({
    kind: "choice",
    parts: [{ kind: "text", text: "" }, reader.content(members, depth)],
  }),
  star: (reader, members, depth) => repeated(reader.content(members, depth), 0),
  plus: (reader, members, depth) => repeated(reader.content(members, depth), 1),
  repeat(reader, members, depth) {
    const min = members.count("min");
    const max = members.count("max", -1);
    if (max !== -1 && max < min)
      throw malformed(`${members.pointer}/max`, `-1, for no limit, or at least min, which is ${min}`, max);
    return repeated(reader.content(members, depth), min, max === -1 ? Number.POSITIVE_INFINITY : max);
  },
  tag: (reader, members, depth) => reader.tag(members, depth),
  triggered_tags: (reader, members, depth) => ({
    ...triggered(members, members.list("triggers").map(filledTextOf), reader.tags(members, depth)),
    excludes: members.texts("excludes"),
    needsOne: members.flag("at_least_one"),
    stopsAfterFirst: members.flag("stop_after_first"),
  }),
  tags_with_separator: (reader, members, depth) => ({
    kind: "separated",
    tags: reader.tags(members, depth).map(({ tag }) => tag),
    separator: members.text("separator"),
    needsOne: members.flag("at_least_one"),
    stopsAfterFirst: members.flag("stop_after_first"),
  }),
  dispatch: (reader, members, depth) => ({
    kind: "dispatch",
    branches: members.list("rules").map((rule) => reader.dispatched(rule, depth)),
    excludes: members.texts("excludes"),
    stopsAfterFirst: !members.flag("loop", true),
  }),
};

/** Formats of other implementations that Hone does not support, each with the explanation for the refusal. */
const notServed: Readonly<Record<string, string>> = {
  token: "names tokens, but constraints apply to text",
  exclude_token: "names tokens, but constraints apply to text",
  any_tokens: "names tokens; any_text does the same for text",
  token_triggered_tags: "names tokens; triggered_tags does the same for text",
  token_dispatch: "names tokens; dispatch does the same for text",
};

interface PlacedTag {
  readonly tag: Tag;
  readonly pointer: string;
}

class TagReader {
  readonly #limits: GrammarLimits;

  constructor(limits: GrammarLimits) {
    this.#limits = limits;
  }

  format(placed: Placed, depth: number): Format {
    const { nesting } = this.#limits;
    if (depth > nesting) throw limitExceeded("nesting", nesting, placed.pointer);
    const members = new Members(placed);
    // Requests often omit the type of a tag, which is recognized by its `begin`.
    const type = !members.has("type") && members.has("begin") ? "tag" : members.text("type");
    const place = `${members.pointer}/type`;
    if (Object.hasOwn(notServed, type)) throw notExact(`format ${type}`, place, notServed[type]);
    if (!Object.hasOwn(readers, type))
      throw malformed(place, `one of ${Object.keys(readers).join(", ")}`, type);
    const format = readers[type](this, members, depth + 1);
    members.end();
    return format;
  }

  formats(members: Members, depth: number): readonly Format[] {
    return members.list("elements").map((element) => this.format(element, depth));
  }

  content(members: Members, depth: number): Format {
    return this.format(members.required("content", "a format"), depth);
  }

  parameters(members: Members, depth: number): Format {
    return readParameters(members, (formats) => this.format(formats, depth));
  }

  tag(members: Members, depth: number): Tag {
    for (const name of ["begin", "end"]) {
      const { value, pointer } = members.required(name, "a text");
      if (isObject(value)) throw notExact(`${name} as a token`, pointer, notServed["token"]);
    }
    const end = members.required("end", "a text");
    return {
      kind: "tag",
      begin: members.text("begin"),
      content: this.content(members, depth),
      ends: Array.isArray(end.value) ? members.list("end").map(textOf) : [textOf(end)],
    };
  }

  tags(members: Members, depth: number): readonly PlacedTag[] {
    return members.list("tags").map((placed) => {
      const inner = new Members(placed);
      if (inner.has("type") && inner.text("type") !== "tag")
        throw malformed(`${inner.pointer}/type`, '"tag"', inner.text("type"));
      const tag = this.tag(inner, depth);
      inner.end();
      return { tag, pointer: inner.pointer };
    });
  }

  dispatched(rule: Placed, depth: number): { readonly trigger: string; readonly format: Format } {
    const [trigger, format, ...rest] = itemsOf(rule);
    if (trigger === undefined || format === undefined || rest.length > 0)
      throw malformed(rule.pointer, "a list of a text and a format", rule.value);
    return { trigger: filledTextOf(trigger), format: this.format(format, depth) };
  }

  /** Reads the older form, `{structures, triggers}`. */
  structures(members: Members): TriggeredTags {
    const tags = members.list("structures").map((placed): PlacedTag => {
      const inner = new Members(placed);
      const tag: Tag = {
        kind: "tag",
        begin: inner.text("begin"),
        content: schemaContent(inner, "schema"),
        ends: [inner.text("end")],
      };
      inner.end();
      return { tag, pointer: inner.pointer };
    });
    const flags = { excludes: [], needsOne: false, stopsAfterFirst: false };
    return { ...triggered(members, members.list("triggers").map(filledTextOf), tags), ...flags };
  }
}

function repeated(part: Format, min: number, max = Number.POSITIVE_INFINITY): Format {
  return { kind: "repeat", part, min, max };
}

function schemaContent(members: Members, name: string): Format {
  const { value, pointer } = members.required(name, "a JSON Schema");
  if (!isObject(value) && typeof value !== "boolean")
    throw malformed(pointer, "a JSON Schema, which is an object or a boolean", value);
  const rule: ConstraintRule = { kind: "json-schema", schema: exactJsonText(value) };
  return { kind: "constrained", rule, place: pointer };
}

/** Groups the tags by trigger. Each tag must begin with exactly one of the triggers. */
function triggered(
  { pointer }: Members,
  triggers: readonly string[],
  tags: readonly PlacedTag[],
): Pick<TriggeredTags, "kind" | "branches"> {
  for (const { tag, pointer: place } of tags) {
    const found = triggers.filter((trigger) => tag.begin.startsWith(trigger));
    if (found.length === 1) continue;
    const which = found.length === 0 ? "none" : found.map(quoted).join(" and ");
    throw malformed(
      `${place}/begin`,
      `a text that begins with exactly one of the triggers at ${pointer}/triggers, and begins with ${which}`,
      tag.begin,
    );
  }
  const branches = triggers.map((trigger) => ({
    trigger,
    tags: tags.map(({ tag }) => tag).filter(({ begin }) => begin.startsWith(trigger)),
  }));
  return { kind: "triggered", branches };
}
