// Tests of the names by which forms select models.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelObject } from "../../../client/api.ts";
import { Hone } from "../../../client/hone.ts";

Object.assign(globalThis, { location: { hash: "", origin: "http://h" } });
const { modelNamed, shortName } = await import("./model-named.ts");

test("finds a model by its name, with or without its project and entity", async () => {
  const asked: string[] = [];
  const hone = new Hone({
    baseUrl: "http://h",
    apiKey: null,
    fetch: (url) => {
      asked.push(new URL(url).search);
      const data = url.includes("name=gone") ? [] : [{ id: "m", entity: "acme", project: "shop", name: "a" }];
      return Promise.resolve(Response.json({ data, last_id: null, has_more: false }));
    },
  });
  for (const name of ["a", "shop/a", "acme/shop/a"])
    assert.equal(shortName((await modelNamed(hone, name)) satisfies ModelObject), "acme/shop/a");
  assert.deepEqual(
    asked.map((search) => Object.fromEntries(new URLSearchParams(search))),
    [{}, { project: "shop" }, { project: "shop", entity: "acme" }].map((place) => ({
      name: "a",
      ...place,
      limit: "1",
      order: "desc",
    })),
  );
  await assert.rejects(modelNamed(hone, "gone"), /There is no model gone\./);
});
