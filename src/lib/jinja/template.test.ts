// Templates compared with Jinja2 3.1.6 in its sandbox, with the filters of transformers; the fixture's README
// describes how the table was made.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { fromJson } from "./json-text.ts";
import { compileTemplate } from "./template.ts";

const [first, ...lines] = readFileSync("test/fixtures/jinja/expressions.jsonl", "utf8").trim().split("\n");
const { context } = JSON.parse(first) as { readonly context: JsonObject };

/** Renders the template; null if it is refused. */
function rendered(source: string): string | null {
  const variables = Object.entries(context).map(([name, value]) => [name, fromJson(value)] as const);
  try {
    return compileTemplate(source, systemClock).render(variables);
  } catch {
    return null;
  }
}

test("renders or refuses 3,500 small templates as Jinja2 does", () => {
  const faults = lines.flatMap((line) => {
    const [source, expected] = JSON.parse(line) as readonly [string, string | null];
    const text = rendered(source);
    return text === expected ? [] : [{ source, text, expected }];
  });
  assert.ok(lines.length > 3500);
  assert.deepEqual(faults, []);
});
