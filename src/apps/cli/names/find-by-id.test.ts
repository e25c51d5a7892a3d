import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { findById } from "./find-by-id.ts";

const rules = [
  { id: "019a7c11-0000-7000-8000-000000000001", name: "thumbs" },
  { id: "019a7c22-0000-7000-8000-000000000002", name: "019a7c11" },
  { id: "019b0000-0000-7000-8000-000000000003", name: "stars" },
  { id: "019c0000-0000-7000-8000-000000000004", name: "stars" },
];

const find = async (typed: string): Promise<string> => {
  const listed = (async function* () {
    yield* rules;
  })();
  const isNamed = ({ name }: { readonly name: string }): boolean => name === typed;
  return (await findById(typed, listed, { noun: "rule", list: "hone rules", isNamed })).id;
};

test("finds a thing by its name, its id, or the beginning of its id in any case", async () => {
  for (const [typed, index] of [
    ["thumbs", 0],
    ["019a7c22", 1],
    ["019B", 2],
    ["019c0000-0000-7000-8000-000000000004", 3],
  ] as const)
    assert.equal(await find(typed), rules[index].id);
});

test("prefers a name to an id that begins with the same text", async () => {
  assert.equal(await find("019a7c11"), rules[1].id);
});

test("refuses an ambiguous text and names the ids", async () => {
  const refuses = (typed: string, code: string, message: RegExp): Promise<void> =>
    assert.rejects(find(typed), (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  const [first, second, third, fourth] = rules.map(({ id }) => id);
  await refuses(
    "019a",
    "invalid",
    new RegExp(`^2 rules have ids that begin with "019a"; give more of the id: ${first}, ${second}\\. `),
  );
  await refuses(
    "stars",
    "invalid",
    new RegExp(
      `^2 rules have the name "stars"; give the id: ${third}, ${fourth}\\. \`hone rules\` lists them\\.$`,
    ),
  );
  await refuses("", "invalid", /^4 rules have ids that begin with ""/);
  await refuses("ff", "not_found", /^No rule has the name "ff", or an id that begins with it\. /);
});
