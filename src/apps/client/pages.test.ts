import assert from "node:assert/strict";
import { test } from "node:test";
import { Pages } from "./pages.ts";

/** Returns a paged list of these items, and the `after` values with which its pages are requested. */
function listOf(...parts: readonly (readonly string[])[]) {
  const asked: (string | undefined)[] = [];
  const pages = new Pages<string>(async (after) => {
    const data = parts[asked.length] ?? assert.fail("asked for more than there is");
    asked.push(after);
    return { data, last_id: `after ${data.at(-1) ?? "nothing"}`, has_more: asked.length < parts.length };
  });
  return { pages, asked };
}

test("yields items in order, requesting each page after the previous one", async () => {
  const { pages, asked } = listOf(["a", "b"], [], ["c"]);
  const items: string[] = [];
  for await (const item of pages) items.push(item);
  assert.deepEqual(items, ["a", "b", "c"]);
  assert.deepEqual(asked, [undefined, "after b", "after nothing"]);
});

test("requests a page only when its first item is read", async () => {
  const { pages, asked } = listOf(["a", "b"], ["c"]);
  assert.deepEqual(asked, []);
  for await (const item of pages) if (item === "b") break;
  assert.equal(asked.length, 1);
});

test("returns all items as one array, and the first page on its own", async () => {
  assert.deepEqual(await listOf(["a"], ["b"]).pages.all(), ["a", "b"]);
  const { pages, asked } = listOf(["a"], ["b"]);
  assert.deepEqual(await pages.first(), { data: ["a"], last_id: "after a", has_more: true });
  assert.equal(asked.length, 1);
});

test("ends the list at a page without a last id", async () => {
  let count = 0;
  const pages = new Pages<string>(async () => ({ data: [`${++count}`], last_id: "", has_more: true }));
  assert.deepEqual(await pages.all(), ["1"]);
});
