import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import { accepts } from "../testing/accepts.ts";
import type { Language } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import { checkMasksAlong } from "../testing/check-along.ts";
import { structuralTag } from "../testing/make-constraints.ts";
import { holdsTag } from "../testing/naive-tags.ts";
import { structuralTags, tagTexts } from "../testing/random-tags.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";
import { randomWalk } from "../testing/walk.ts";
import { searchCount, searching } from "../../../../base/domain/testing/search.ts";

const limits = defaultGrammarLimits;

/** Compiles a tag. Returns null if no text satisfies it. */
function languageOf(tag: Json): Language | null {
  try {
    return readLanguage(structuralTag(tag), limits);
  } catch (error) {
    if (error instanceof ConstraintRefusal && error.kind === "unsatisfiable") return null;
    throw error;
  }
}

test("random tags allow exactly the texts that the naive implementation allows", () => {
  let allowed = 0;
  fc.assert(
    fc.property(structuralTags, fc.array(tagTexts, { minLength: 12, maxLength: 12 }), (tag, texts) => {
      const language = languageOf(tag);
      for (const text of texts) {
        const expected = holdsTag(tag, text);
        if (expected) allowed += 1;
        assert.equal(language !== null && accepts(language, text), expected, JSON.stringify({ tag, text }));
      }
    }),
    searching(150),
  );
  assert.ok(allowed > searchCount(100), `${allowed} texts are allowed`);
});

const trie = vocabularyOf(["<a", "<ab", "b>", "aab", "a<", ">>", "éa", "tru", '"a"', "ba<", "xx"]);

const draws = fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));

test("texts generated under random tags reach no dead end and satisfy their tag once finished", () => {
  let finished = 0;
  fc.assert(
    fc.property(structuralTags, draws, (tag, draw) => {
      const language = languageOf(tag);
      if (language === null) return;
      const walk = randomWalk(new CompiledConstraint(language, trie), () => draw.next().value, 24);
      if (!walk.isFinished) return;
      finished += 1;
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(walk.text);
      assert.ok(holdsTag(tag, text), JSON.stringify({ tag, text }));
    }),
    searching(150),
  );
  assert.ok(finished > searchCount(30), `${finished} walks are finished`);
});

test("masks under random tags equal those computed by trying each token", () => {
  fc.assert(
    fc.property(structuralTags, draws, (tag, draw) => {
      const language = languageOf(tag);
      if (language === null) return;
      const constraint = new CompiledConstraint(language, trie);
      const walk = randomWalk(constraint, () => draw.next().value, 6);
      const fresh = readLanguage(structuralTag(tag), limits);
      checkMasksAlong(constraint, walk.tokens, { fresh: () => fresh, name: JSON.stringify(tag) });
    }),
    searching(30),
  );
});

const point: Json = {
  type: "object",
  properties: { x: { type: "integer" } },
  required: ["x"],
  additionalProperties: false,
};
const call = (name: string, schema: Json = point): JsonObject => ({
  begin: `<call=${name}>`,
  content: { type: "json_schema", json_schema: schema },
  end: "</call>",
});
const triggered = (more: { readonly [key: string]: Json } = {}): Json => ({
  format: { type: "triggered_tags", triggers: ["<call="], tags: [call("f"), call("g", true)], ...more },
});
const thought = (content: Json): Json => ({
  format: { type: "tag", begin: "<think>", content, end: "</think>" },
});
const anyText = { type: "any_text" };
const one = '<call=f>{"x": 1}</call>';

/** Tags, each with texts that it allows and texts that it does not allow. */
const table: readonly (readonly [
  name: string,
  tag: Json,
  allowed: readonly string[],
  not: readonly string[],
])[] = [
  [
    "the older form of a tag",
    { triggers: ["<call="], structures: [{ begin: "<call=f>", schema: point, end: "</call>" }] },
    ["", "free", `a ${one} b ${one}`, "<call"],
    ["<call=", "<call=g>", "<call=f>1</call>", "a <call=f>{}</call>", '<call=f>{"x": 1}'],
  ],
  [
    "free text with tags",
    triggered(),
    ["a<b", `${one}${one}`, "<call=g>[]</call>."],
    ["<call=h>", "<call=g>"],
  ],
  ["at least one", triggered({ at_least_one: true }), [one, `${one} and`], ["", `a ${one}`]],
  ["at most one", triggered({ stop_after_first: true }), ["", "a", `a ${one}`], [`${one} `, `${one}${one}`]],
  [
    "exactly one",
    triggered({ at_least_one: true, stop_after_first: true }),
    [one],
    ["", `a${one}`, `${one}a`, `${one}${one}`],
  ],
  ["texts excluded from free text", triggered({ excludes: ["no"] }), ["n o", `n${one}o`], ["no", `no${one}`]],
  [
    "a tag's end inside its content",
    { format: call("f", { type: "string" }) },
    ['<call=f>"</call>"</call>'],
    ['<call=f>"</call>'],
  ],
  ["free text up to an end", thought(anyText), ["<think></think>", "<think>a</thi</think>"], ["<think>a"]],
  ["the first end", thought(anyText), [], ["<think>a</think></think>", "<think>a</think>b"]],
  [
    "an end that overlaps itself",
    { format: { type: "tag", begin: "", content: anyText, end: "aa" } },
    ["aa", "baa", "abaa"],
    ["aaa", "baaa"],
  ],
  [
    "free text before another format",
    thought({ type: "sequence", elements: [anyText, { type: "regex", pattern: "[0-9]+" }] }),
    ["<think>1</think>", "<think>so 12</think>"],
    ["<think>so</think>", "<think></think>1</think>"],
  ],
  [
    "tags in a tag",
    thought({ type: "triggered_tags", triggers: ["<call="], tags: [call("f")] }),
    [`<think>a${one}b</think>`, "<think></think>"],
    [`<think>a${one}`, "<think></think>a</think>", "<think><call=f></think>"],
  ],
  [
    "one of several ends",
    { format: { type: "tag", begin: "[", content: anyText, end: ["]", "}", ""] } },
    ["[a]", "[a}", "[a"],
    ["[a]]", "[a}b"],
  ],
  [
    "separated tags",
    { format: { type: "tags_with_separator", tags: [call("f")], separator: ", " } },
    ["", one, `${one}, ${one}, ${one}`],
    [`${one}, `, `${one}${one}`, `, ${one}`, " "],
  ],
  [
    "one separated tag",
    {
      format: {
        type: "tags_with_separator",
        tags: [call("f")],
        separator: ",",
        at_least_one: true,
        stop_after_first: true,
      },
    },
    [one],
    ["", `${one},${one}`],
  ],
  [
    "counted parts",
    { format: { type: "repeat", min: 2, max: 3, content: { type: "const_string", value: "ab" } } },
    ["abab", "ababab"],
    ["", "ab", "abababab"],
  ],
  [
    "grammars with equal rule names",
    {
      format: {
        type: "or",
        elements: [
          { type: "grammar", grammar: 'root ::= "(" root ")" | "x"' },
          { type: "grammar", grammar: 'root ::= "[" root "]" | "y"' },
        ],
      },
    },
    ["((x))", "[y]"],
    ["(y)", "([x])"],
  ],
  [
    "recursive schemas",
    {
      format: {
        type: "sequence",
        elements: [
          { type: "json_schema", json_schema: { type: "array", items: { $ref: "#" } } },
          { type: "json_schema", json_schema: { type: ["boolean", "null"] } },
        ],
      },
    },
    ["[[],[[]]]true", "[]null"],
    ["[true]null", "[][]"],
  ],
  [
    "dispatch",
    { format: { type: "dispatch", rules: [["f(", { type: "regex", pattern: "[0-9]*\\)" }]], loop: false } },
    ["f", "af(12)", ""],
    ["f(", "f()a", "f(x)"],
  ],
];

for (const [name, tag, allowed, not] of table) {
  test(`allows exactly the right texts: ${name}`, () => {
    const language = readLanguage(structuralTag(tag), limits);
    for (const text of allowed) assert.ok(accepts(language, text), text);
    for (const text of not) assert.ok(!accepts(language, text), text);
  });
}

test("applies the request's options to the content of tags", () => {
  const schema = { type: "object", properties: { x: { type: "integer" } } };
  const tag = { format: call("f", schema) };
  const open = readLanguage(structuralTag(tag), limits);
  const closed = readLanguage(
    structuralTag(tag, { allowsAnyWhitespace: false, allowsAdditionalProperties: false }),
    limits,
  );
  for (const [inside, isAllowed] of [
    ['{"x":1}', true],
    ['{"x": 1}', false],
    ['{"x":1,"y":2}', false],
  ] as const) {
    const text = `<call=f>${inside}</call>`;
    assert.ok(accepts(open, text), inside);
    assert.equal(accepts(closed, text), isAllowed, inside);
  }
});

test("never begins a tag whose content no text satisfies", () => {
  const tag = triggered({ tags: [call("f", false), call("g")] });
  const language = readLanguage(structuralTag(tag), limits);
  assert.ok(accepts(language, '<call=g>{"x": 1}</call>') && !accepts(language, "<call=f>"));
});

test("free text must not contain an excluded text even as the beginning of an unsatisfiable tag", () => {
  const tag = triggered({ excludes: ["<c"], tags: [call("f", false)] });
  const matcher = new CompiledConstraint(readLanguage(structuralTag(tag), limits), trie).matcher();
  const accepts = (text: string): boolean => matcher.accept(text.charCodeAt(0) + 1);
  assert.ok(accepts("<") && !accepts("c") && accepts("d"));
});

const afterA = (format: Json): Json => ({
  format: { type: "sequence", elements: [{ type: "const_string", value: "a" }, format] },
});

const refusals: readonly (readonly [tag: Json, kind: string, place: string, message?: RegExp])[] = [
  [[], "malformed", "#"],
  [{}, "malformed", "#/format"],
  [{ type: "text", format: anyText }, "malformed", "#/type"],
  [{ format: anyText, other: 1 }, "malformed", "#/other", /no such member/],
  [{ format: anyText, structures: [], triggers: ["a"] }, "malformed", "#/structures"],
  [{ structures: [{ begin: "a", end: "b", schema: {} }] }, "malformed", "#/triggers"],
  [{ structures: [{ begin: "a", end: "b" }], triggers: ["a"] }, "malformed", "#/structures/0/schema"],
  [
    { structures: [{ begin: "b", end: "b", schema: {} }], triggers: ["a"] },
    "malformed",
    "#/structures/0/begin",
  ],
  [{ format: "any_text" }, "malformed", "#/format"],
  [{ format: {} }, "malformed", "#/format/type"],
  [{ format: { type: "yaml" } }, "malformed", "#/format/type", /one of const_string, json_schema/],
  [{ format: { type: "toString" } }, "malformed", "#/format/type"],
  [{ format: { type: "token", token: 1 } }, "not-exact", "#/format/type", /format token .* names tokens/],
  [{ format: { type: "const_string" } }, "malformed", "#/format/value"],
  [{ format: { type: "const_string", value: "\ud800" } }, "malformed", "#/format/value", /lone surrogates/],
  [{ format: { type: "any_text", excludes: ["a", ""] } }, "malformed", "#/format/excludes/1"],
  [{ format: { type: "any_text", excluded_str: ["a"] } }, "malformed", "#/format/excluded_str"],
  [{ format: { type: "any_text", max_tokens: 5 } }, "not-exact", "#/format/max_tokens"],
  [{ format: { type: "json_schema", json_schema: "{}" } }, "malformed", "#/format/json_schema"],
  [{ format: { type: "json_schema", json_schema: {}, style: "minimax_xml" } }, "not-exact", "#/format/style"],
  [{ format: { type: "json_schema", json_schema: {}, any_order: true } }, "not-exact", "#/format/any_order"],
  [{ format: { type: "sequence", elements: [] } }, "malformed", "#/format/elements"],
  [{ format: { type: "sequence", elements: [anyText, 5] } }, "malformed", "#/format/elements/1"],
  [{ format: { type: "repeat", min: 2, max: 1, content: anyText } }, "malformed", "#/format/max"],
  [{ format: { type: "repeat", min: 0.5, max: 1, content: anyText } }, "malformed", "#/format/min"],
  [{ format: { type: "tag", begin: "a", content: anyText } }, "malformed", "#/format/end"],
  [{ format: { type: "tag", begin: "a", content: anyText, end: [] } }, "malformed", "#/format/end"],
  [{ format: { type: "tag", begin: "a", content: anyText, end: ["a", 1] } }, "malformed", "#/format/end/1"],
  [
    { format: { type: "tag", begin: { type: "token", token: 1 }, content: anyText, end: "" } },
    "not-exact",
    "#/format/begin",
  ],
  [
    triggered({ triggers: ["<"], tags: [call("f"), { ...call("g"), begin: "x" }] }),
    "malformed",
    "#/format/tags/1/begin",
    /begins with none/,
  ],
  [
    triggered({ triggers: ["<", "<call"] }),
    "malformed",
    "#/format/tags/0/begin",
    /exactly one .* "<" and "<call"/,
  ],
  [triggered({ triggers: [""] }), "malformed", "#/format/triggers/0"],
  [triggered({ at_least_one: 1 }), "malformed", "#/format/at_least_one"],
  [triggered({ tags: [] }), "malformed", "#/format/tags"],
  [{ format: { type: "dispatch", rules: [["a"]] } }, "malformed", "#/format/rules/0"],
  // The location within the content is appended to the content's location.
  [
    { format: call("f", { type: "array", contains: {}, uniqueItems: true }) },
    "not-exact",
    "#/format/content/json_schema/uniqueItems",
  ],
  [
    { format: { type: "or", elements: [{ type: "regex", pattern: "a++" }] } },
    "not-exact",
    "#/format/elements/0/pattern, position 2",
  ],
  [
    { format: { type: "optional", content: { type: "grammar", grammar: "x" } } },
    "malformed",
    "#/format/content/grammar, position 0",
  ],
  [{ format: call("f", false) }, "unsatisfiable", ""],
  [{ format: { type: "sequence", elements: [anyText, call("f", false)] } }, "unsatisfiable", ""],
  [afterA({ type: "plus", content: call("f", false) }), "unsatisfiable", ""],
  [
    afterA({ type: "tags_with_separator", tags: [call("f", false)], separator: ",", at_least_one: true }),
    "unsatisfiable",
    "",
  ],
  // The end `</think>` begins with the trigger, so the trigger is complete before any end.
  [
    thought({ type: "triggered_tags", triggers: ["<"], tags: [{ ...call("f"), begin: "<f>" }] }),
    "unsatisfiable",
    "",
  ],
  [nested(300), "limit", `#/format${"/content".repeat(201)}`],
];

test("refuses malformed or unsupported tags and names the location", () => {
  for (const [tag, kind, place, message] of refusals) {
    assert.throws(
      () => readLanguage(structuralTag(tag), limits),
      (error: unknown) => {
        assert.ok(error instanceof ConstraintRefusal, String(error));
        assert.deepEqual([error.kind, error.place], [kind, place], error.message);
        const shown = /^In the content at (\S+):/.exec(error.message)?.[1] ?? place;
        assert.ok(place.startsWith(shown) && error.message.includes(shown), error.message);
        if (message !== undefined) assert.match(error.message, message);
        return true;
      },
    );
  }
});

function nested(depth: number): Json {
  let format: Json = anyText;
  for (let level = 0; level < depth; level++) format = { type: "optional", content: format };
  return { format };
}
