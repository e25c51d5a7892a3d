import assert from "node:assert/strict";
import { test } from "node:test";
import { costSettings, readPrices } from "./settings.ts";

const read = (prices: readonly string[], currency = "EUR", bases = ["tiny", "a:b=c"]) =>
  readPrices(costSettings.with({ prices, currency }), bases);

test("reads default prices, and prices of single base models", () => {
  const { currency, of } = read(["prompt=0.5", "answer=2", "tiny:answer=1", "a:b=c:training=1e3"]);
  assert.equal(currency, "EUR");
  assert.deepEqual(of("tiny"), { prompt: 0.5, cached: null, answer: 1, training: null });
  assert.deepEqual(of("a:b=c"), { prompt: 0.5, cached: null, answer: 2, training: 1000 });
  assert.deepEqual(of("another")?.answer, 2);
});

test("knows the price of an unknown base model only if all base models have the same prices", () => {
  assert.equal(read(["prompt=0"]).of(null)?.prompt, 0);
  assert.equal(read(["prompt=0.5", "tiny:prompt=1"]).of(null), null);
  assert.deepEqual([read([]).currency, read([]).of("tiny")], [null, null]);
});

test("refuses other kinds, prices out of range, and unknown base models, and shows the item", () => {
  for (const item of [
    "prompt",
    "prompt=",
    "output=1",
    "prompt=-1",
    "prompt=NaN",
    "prompt=Infinity",
    "=1",
    "2e6",
  ])
    assert.throws(() => read([item]), {
      code: "invalid",
      message: `costs.prices has "${item}"; it takes prompt=<price>, cached=<price>, answer=<price>, training=<price>, each optionally after a base model's name and a colon, with prices from 0 to 1000000 for a million tokens.`,
    });
  assert.throws(() => read(["prompt=1000001"]), /from 0 to 1000000/);
  assert.throws(() => read(["tny:prompt=1"]), {
    message: /^costs\.prices has "tny:prompt=1", but the base models are tiny, a:b=c\. Correct the name/,
  });
  for (const currency of ["", "US dollars", "a".repeat(13), "\u001b[31m"])
    assert.throws(() => read([], currency), /^ServiceError: costs\.currency is ".*"; it must have 1 to 12/);
});
