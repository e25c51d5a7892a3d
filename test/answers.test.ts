// A sample of tools/bench/answers.ts. The built-in model's finished answers are valid at any temperature, under schemas
// written by zod, pydantic or a random generator.
import assert from "node:assert/strict";
import { test } from "node:test";
import { families } from "./answers/schema-families.ts";
import { judgeAnswer } from "./answers/judge-answers.ts";
import { serverOfFile } from "./running-server.ts";
import { searchCount, searchSeed } from "../src/base/domain/testing/search.ts";

const server = serverOfFile();

for (const [name, family] of Object.entries(families)) {
  test(`finished answers to ${name} schemas are valid`, async () => {
    const asked = family(searchSeed, searchCount(5)).map(async (schema, index) => {
      const question = { schema, temperature: index % 3, seed: index };
      const verdict = await judgeAnswer(server(), question, { max_tokens: 120 });
      assert.notEqual(
        verdict.kind,
        "invalid",
        JSON.stringify({ family: searchSeed, ...question, ...verdict }),
      );
      return verdict.kind;
    });
    const kinds = await Promise.all(asked);
    assert.ok(kinds.includes("valid"), `seed ${searchSeed}: ${kinds.join(", ")}`);
  });
}
