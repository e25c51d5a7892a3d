import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, noPrices, type PriceList, type TokenPrices } from "./prices.ts";

const none = { prompt: null, cached: null, answer: null, training: null };
const at = (prices: Partial<TokenPrices>): PriceList => ({
  currency: "USD",
  of: () => ({ ...none, ...prices }),
});

test("multiplies tokens by the price of a million of them", () => {
  // W&B's Weave expects these totals for two calls of a model at 30 and 60 dollars per million tokens.
  const counts = { promptTokens: 2_000_000, completionTokens: 4_000_000 };
  assert.deepEqual(costOf(at({ prompt: 30, answer: 60 }), "m", counts), { cost: 60 + 240, currency: "USD" });
  assert.equal(costOf(at({ training: 8 }), "m", { trainingTokens: 250_000 }).cost, 2);
  assert.equal(costOf(at({ prompt: 0.1 }), "m", { promptTokens: 3 }).cost, 3e-7);
});

test("charges cached tokens at their own price, or else as other prompt tokens", () => {
  const counts = { promptTokens: 1_000_000, cachedTokens: 400_000 };
  assert.equal(costOf(at({ prompt: 10, cached: 1 }), "m", counts).cost, 6 + 0.4);
  assert.equal(costOf(at({ prompt: 10 }), "m", counts).cost, 10);
});

test("has no cost if none of the counted tokens has a price, and counts other tokens without a price as free", () => {
  const unknown = { cost: null, currency: null };
  assert.deepEqual(costOf(noPrices, "m", { promptTokens: 5 }), unknown);
  assert.deepEqual(costOf(at({ training: 1 }), "m", { promptTokens: 5, completionTokens: 5 }), unknown);
  assert.deepEqual(costOf(at({ prompt: 1 }), "m", {}), unknown);
  assert.equal(costOf(at({ answer: 1 }), "m", { promptTokens: 5, completionTokens: 0 }).cost, 0);
});
