import assert from "node:assert/strict";
import { test } from "node:test";
import { costSum, costText } from "./cost-text.ts";

const usd = (cost: number | null) => ({ cost, currency: cost === null ? null : "USD" });

test("shows cents of large costs, and three digits of small ones", () => {
  const shown = [0, 1234.5, 1, 0.5, 0.0613, 0.000_123_456, 1.2e-9].map((cost) => costText(usd(cost)));
  assert.deepEqual(shown, [
    "0.00 USD",
    "1,234.50 USD",
    "1.00 USD",
    "0.50 USD",
    "0.0613 USD",
    "0.000123 USD",
    "0.0000000012 USD",
  ]);
  assert.equal(costText(usd(null)), null);
});

test("sums known costs, and has no sum if none is known", () => {
  assert.deepEqual(costSum([usd(1), usd(null), usd(0.5)]), { cost: 1.5, currency: "USD" });
  assert.deepEqual(costSum([usd(null)]), { cost: null, currency: null });
});
