import assert from "node:assert/strict";
import { test } from "node:test";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import { z } from "zod";
import { seededRandom } from "../../../../../base/domain/random.ts";
import type { Json } from "../../../../../base/domain/text/json.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../../../regex/limits.ts";
import { readLanguage } from "../../language.ts";
import { accepts } from "../../testing/accepts.ts";
import { jsonSchema } from "../../testing/make-constraints.ts";
import { searchCount, searchSeed } from "../../../../../base/domain/testing/search.ts";

const ajv = addFormats.default(new Ajv2020({ strict: false }));
const read = (schema: Json, strictFormats = false) =>
  readLanguage(jsonSchema(schema), { ...defaultGrammarLimits, strictFormats });

interface Judged {
  readonly format: string;
  /** True if another program, or the standard, considers the text valid. */
  readonly isValid: (text: string) => boolean;
  readonly texts: readonly string[];
}

const byZod = (schema: z.ZodType) => (text: string) => schema.safeParse(text).success;
const byAjv = (format: string) => {
  const validate = ajv.compile({ format });
  return (text: string) => validate(text);
};
/** Zod parses the prefix length as a JavaScript number, so it would accept 3.2 and 1e1. */
const isCidrv6 = (text: string): boolean => byZod(z.cidrv6())(text) && /\/\d+$/.test(text);
const uuid = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6";

const judged: readonly Judged[] = [
  { format: "byte", isValid: byAjv("byte"), texts: ["", "aGk=", "aA==", "aGkh", "+/+/", "a_-="] },
  { format: "base64", isValid: byZod(z.base64()), texts: ["", "aGk=", "aA==", "aGkh", "+/+/", "a_-="] },
  {
    format: "base64url",
    // Padding is optional.
    isValid: (text) =>
      byZod(z.base64url())(text.replace(/={1,2}$/, "")) && (!text.includes("=") || text.length % 4 === 0),
    texts: ["", "aGk", "aGk=", "aA", "aA==", "aGkh", "-_-_"],
  },
  { format: "cidrv4", isValid: byZod(z.cidrv4()), texts: ["10.0.0.0/8", "1.2.3.4/32", "1.2.3.4/0"] },
  { format: "cidrv6", isValid: isCidrv6, texts: ["::/0", "2001:db8::/32", "1:2:3:4:5:6:7:8/128"] },
  {
    format: "cidr",
    isValid: (text) => byZod(z.cidrv4())(text) || isCidrv6(text),
    texts: ["10.0.0.0/8", "2001:db8::/32"],
  },
  {
    format: "ipvanyaddress",
    isValid: (text) => byZod(z.ipv4())(text) || byZod(z.ipv6())(text),
    texts: ["10.0.0.1", "2001:db8::1"],
  },
  { format: "e164", isValid: byZod(z.e164()), texts: ["+14155552671", "+123456789012345", "+1234567"] },
  { format: "nanoid", isValid: byZod(z.nanoid()), texts: ["V1StGXR8_Z5jdHi6B-myT"] },
  {
    format: "ulid",
    isValid: (text) => byZod(z.ulid())(text) && /^[0-7]/.test(text),
    texts: ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"],
  },
  ...([1, 3, 4, 5, 6, 7, 8] as const).map((version) => ({
    format: `uuid${version}`,
    isValid: byZod(z.uuid({ version: `v${version}` })),
    texts: [uuid.replace("-4", `-${version}`), uuid],
  })),
];

/** Returns the text with up to two random changes, which often make it invalid for its format. */
function near(text: string, random: ReturnType<typeof seededRandom>): string {
  const characters = Array.from(text);
  const letters = "0123456789abcfgzABCFGIZ.:/+-_= é";
  for (let count = random.index(3); count > 0; count--) {
    const at = random.index(characters.length + 1);
    const letter = letters[random.index(letters.length)];
    characters.splice(at, random.index(2), ...(random.index(3) === 0 ? [] : [letter]));
  }
  return characters.join("");
}

test("formats accept exactly what other validators accept", () => {
  const random = seededRandom(searchSeed, "formats");
  for (const { format, isValid, texts } of judged) {
    const language = read({ type: "string", format });
    const samples = [
      ...texts,
      ...Array.from({ length: searchCount(60) }, (_, index) => near(texts[index % texts.length], random)),
    ];
    for (const text of samples)
      assert.equal(
        accepts(language, JSON.stringify(text)),
        isValid(text),
        `${format}: ${JSON.stringify(text)}`,
      );
    assert.ok(texts.some(isValid), format);
    assert.deepEqual(language.notices, []);
  }
});

test("ignores an unknown format and reports its name and location", () => {
  const schema = {
    type: "object",
    properties: { a: { type: "string", format: "color" }, b: { type: ["null", "string"], format: "color" } },
    additionalProperties: { format: "é".repeat(300) },
  };
  const language = read(schema);
  assert.ok(accepts(language, '{"a":"anything","b":null,"c":1}'));
  const [color, long, ...others] = language.notices.toSorted();
  assert.match(color, /^The format "color" at #\/properties\/[ab]\/format is unknown and has no effect$/);
  assert.match(long, /^The format "é{1,40}\S*" at #\/additionalProperties\/format is/);
  assert.deepEqual(others, []);
});

test("notices name ignored keywords next to a reference, but not annotations", () => {
  const { notices } = read({
    $schema: "http://json-schema.org/draft-04/schema#",
    properties: { a: { $ref: "#/definitions/a", maximum: 2, description: "An a." } },
    definitions: { a: { type: "integer" } },
  });
  assert.deepEqual(notices, [
    "The keyword maximum at #/properties/a is ignored next to $ref in the schema's draft",
  ]);
});

test("the negation of an unknown format allows nothing", () => {
  assert.throws(() => read({ not: { format: "color" } }), { kind: "unsatisfiable" });
});

test("names only a few of many unknown formats and counts the others", () => {
  const { notices } = read({ allOf: Array.from({ length: 30 }, (_, index) => ({ format: `f${index}` })) });
  assert.equal(notices.length, 9);
  assert.equal(notices.at(-1), "22 more formats are unknown");
});

test("formats of numbers, of displayed texts, and next to a non-string type cause no notices", () => {
  const silent: readonly (readonly [Json, string])[] = [
    [{ type: "integer", format: "uint32" }, "-1"],
    [{ type: ["integer", "null"], format: "uint64" }, "null"],
    [{ type: "number", format: "no-such-format" }, "1.5"],
    [{ type: "string", format: "password" }, '"a"'],
    [{ format: "uint8" }, '"a"'],
    [{ type: "object", format: "grid" }, "{}"],
  ];
  for (const [schema, text] of silent)
    for (const isStrict of [false, true]) {
      const language = read(schema, isStrict);
      assert.ok(accepts(language, text), JSON.stringify(schema));
      assert.deepEqual(language.notices, []);
    }
});

test("refuses an unknown format, with its name and location, if strict formats are configured", () => {
  assert.throws(
    () => read({ properties: { a: { type: "string", format: "color" } } }, true),
    (error: unknown) =>
      error instanceof ConstraintRefusal &&
      error.kind === "not-exact" &&
      error.subject === "format" &&
      error.place === "#/properties/a/format" &&
      /"color", which is unknown.*constraints\.strictFormats/.test(error.message),
  );
});
