// Runs the official test suite of JSON Schema 2020-12. The schema of each group is either refused with the name of a
// keyword, or passes all tests of the group.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Json } from "../../../../base/domain/text/json.ts";
import { readLanguage } from "../language.ts";
import { accepts } from "../testing/accepts.ts";
import type { Language } from "../language.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../../regex/limits.ts";
import { jsonSchema } from "../testing/make-constraints.ts";

interface Group {
  readonly name: string;
  readonly schema: Json;
  readonly tests: readonly {
    readonly description: string;
    readonly data: Json;
    readonly valid: boolean;
  }[];
}

const folder = "test/fixtures/json-schema-suite";

// Safe casts: the scripts that wrote these files determine their types.
const groups = readFileSync(`${folder}/draft2020-12.jsonl`, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Group);
const refused = JSON.parse(readFileSync(`${folder}/refused.json`, "utf8")) as Readonly<
  Record<string, string>
>;

/**
 * Strings that are valid for their format, but that Hone never generates: leap seconds outside UTC, and email addresses
 * that few mail servers accept.
 */
const unwritten: readonly string[] = [
  '"1998-12-31T15:59:60.123-08:00"',
  '"23:59:60+00:00"',
  '"01:29:60+01:30"',
  '"23:29:60+23:30"',
  '"15:59:60-08:00"',
  '"00:29:60-23:30"',
  '"\\"joe bloggs\\"@example.com"',
  '"\\"joe..bloggs\\"@example.com"',
  '"\\"joe@bloggs\\"@example.com"',
  '"joe.bloggs@[127.0.0.1]"',
  '"joe.bloggs@[IPv6:::1]"',
];

/**
 * Compiles a schema to its language. Returns the keyword if the schema is refused, and null if no value satisfies it.
 */
function read(schema: Json): string | Language | null {
  try {
    return readLanguage(jsonSchema(schema), defaultGrammarLimits);
  } catch (error) {
    assert.ok(error instanceof ConstraintRefusal, String(error));
    if (error.kind === "unsatisfiable") return null;
    assert.equal(error.kind, "not-exact", error.message);
    assert.ok(error.place.endsWith(`/${error.subject}`), error.message);
    return error.subject;
  }
}

test("refuses each group of tests by its keyword, or passes all of its tests", () => {
  const nowRefused: Record<string, string> = {};
  const nowUnwritten: string[] = [];
  for (const { name, schema, tests } of groups) {
    const language = read(schema);
    if (typeof language === "string") {
      nowRefused[name] = language;
      continue;
    }
    for (const { description, data, valid } of tests) {
      const accepted: boolean = language !== null && accepts(language, language.textOf?.(data) ?? "");
      if (valid && !accepted && name.startsWith("optional/format/")) nowUnwritten.push(JSON.stringify(data));
      else assert.equal(accepted, valid, `${name}: ${description}`);
    }
  }
  assert.deepEqual(nowRefused, refused);
  assert.deepEqual(nowUnwritten.sort(), unwritten.toSorted());
});
