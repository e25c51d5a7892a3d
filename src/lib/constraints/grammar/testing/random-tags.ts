// Small random structural tags, and texts over the same characters. They use few short texts, so that triggers, ends
// and free text often interact.
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";

const words = fc.constantFrom("<", "<a", "<b", "<ab", ">", "aa", "ba", "é", "ab>");
const anyWord = fc.oneof({ weight: 4, arbitrary: words }, { weight: 1, arbitrary: fc.constant("") });
const fewWords = fc.uniqueArray(words, { maxLength: 2 });

const contents: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  { type: "json_schema", json_schema: { type: "boolean" } },
  { type: "json_schema", json_schema: { enum: [1, "a", null, "<ab>"] } },
  // Unsatisfiable: no value matches this schema.
  { type: "json_schema", json_schema: { type: "integer", minimum: 1, maximum: 0 } },
  { type: "regex", pattern: "[ab]{1,3}" },
  { type: "regex", pattern: "(a|<)*" },
);

const objects = (members: Readonly<Record<string, fc.Arbitrary<Json>>>): fc.Arbitrary<JsonObject> =>
  fc.record(members);

interface Parts {
  readonly format: Json;
  readonly tag: JsonObject;
}

/** Formats with few elements each. */
const parts = fc.letrec<Parts>((tie: fc.LetrecTypedTie<Parts>): fc.LetrecValue<Parts> => {
  const formats = fc.array(tie("format"), { minLength: 1, maxLength: 3 });
  const tags = fc.array(tie("tag"), { minLength: 1, maxLength: 2 });
  const content = tie("format");
  const flags = { at_least_one: fc.boolean(), stop_after_first: fc.boolean() };
  return {
    tag: objects({
      begin: anyWord,
      content,
      end: fc.oneof(anyWord, fc.array(anyWord, { minLength: 1, maxLength: 2 })),
    }),
    format: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      objects({ type: fc.constant("const_string"), value: anyWord }),
      contents,
      objects({ type: fc.constant("any_text"), excludes: fewWords }),
      objects({ type: fc.constantFrom("sequence", "or"), elements: formats }),
      objects({ type: fc.constantFrom("optional", "star", "plus"), content }),
      objects({
        type: fc.constant("repeat"),
        min: fc.nat(2),
        max: fc.constantFrom(-1, 2, 3),
        content,
      }),
      tie("tag"),
      tags.chain((some) => triggered(some, flags)),
      objects({ type: fc.constant("tags_with_separator"), tags, separator: anyWord, ...flags }),
      objects({
        type: fc.constant("dispatch"),
        rules: fc.array(fc.tuple(words, content), { minLength: 1, maxLength: 2 }),
        excludes: fewWords,
        loop: fc.boolean(),
      }),
    ),
  };
});

/** A format whose tags begin with triggers. No trigger is a prefix of another trigger. */
function triggered(
  tags: readonly JsonObject[],
  flags: { readonly [name: string]: fc.Arbitrary<boolean> },
): fc.Arbitrary<JsonObject> {
  return fc
    .uniqueArray(fc.constantFrom("<", "aa", "ba", "é"), { minLength: 1, maxLength: 2 })
    .chain((triggers) =>
      objects({
        type: fc.constant("triggered_tags"),
        triggers: fc.constant(triggers),
        tags: fc.constant(
          tags.map((tag, index) => ({
            ...tag,
            begin: `${triggers[index % triggers.length]}${JSON.stringify(tag.begin).slice(1, -1)}`,
          })),
        ),
        excludes: fewWords,
        ...flags,
      }),
    );
}

export const structuralTags: fc.Arbitrary<Json> = parts.format.map((format) => ({
  type: "structural_tag",
  format,
}));

/** Texts that random tags may or may not allow. */
export const tagTexts: fc.Arbitrary<string> = fc
  .array(fc.oneof(words, fc.constantFrom("a", "b", "true", "1", '"a"', "x", "null")), { maxLength: 6 })
  .map((some) => some.join(""));
