import assert from "node:assert/strict";
import { test } from "node:test";
import { recordedModel } from "./recorded-model.ts";

test("gives a model one name, however a request named it", () => {
  const named = (model: string, names: ReadonlyMap<string, string>): string =>
    recordedModel({ model, model_id: "m-1", project_id: "ann/shop" }, names);
  const asked = ["m-1", "m-1:step2", "helper", "shop/helper", "ann/shop/helper:step2"];
  const known = new Map([["m-1", "ann/shop/helper"]]);
  assert.deepEqual(new Set(asked.map((model) => named(model, known))), new Set(["ann/shop/helper"]));
  assert.deepEqual(
    asked.map((model) => named(model, new Map())),
    ["m-1", "m-1", "ann/shop/helper", "ann/shop/helper", "ann/shop/helper"],
  );
});
