// Tests of the project with which a view opens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstWithContent } from "./first-with-content.ts";

const check = async (
  { last = null, full }: { readonly last?: string | null; readonly full: readonly string[] },
  expected: string,
): Promise<void> =>
  assert.equal(
    await firstWithContent(["e/new", "e/old"], last, (project) => Promise.resolve(full.includes(project))),
    expected,
  );

test("opens the project used last, or else the newest one with content", async () => {
  await check({ last: "e/new", full: ["e/old"] }, "e/new");
  await check({ full: ["e/old"] }, "e/old");
  await check({ full: ["e/new", "e/old"] }, "e/new");
  await check({ full: [] }, "e/new");
});

test("opens a project without models only if it has content", async () => {
  await check({ last: "e/tools", full: ["e/tools", "e/old"] }, "e/tools");
  await check({ last: "e/gone", full: ["e/old"] }, "e/old");
});

test("names no project if there is none", async () => {
  assert.equal(await firstWithContent([], null, () => Promise.resolve(true)), "");
});
