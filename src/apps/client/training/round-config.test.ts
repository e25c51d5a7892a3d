import assert from "node:assert/strict";
import { test } from "node:test";
import { roundConfig } from "./round-config.ts";

const facts = { groupCount: 8, metrics: {} };

function rateAfter(rate: number, kl: number): number | null | undefined {
  const metrics = { "loss/learning_rate": rate, "loss/kl_div": kl };
  return roundConfig(undefined, { ...facts, metrics }).learning_rate;
}

test("takes four steps per round by default, but no more steps than there are trainable groups", () => {
  assert.deepEqual(roundConfig(undefined, facts), { steps: 4, learning_rate: 5e-4 });
  assert.equal(roundConfig({}, { ...facts, groupCount: 3 }).steps, 3);
  assert.equal(roundConfig({}, { ...facts, groupCount: 0 }).steps, 1);
});

test("adapts the learning rate to the KL divergence of the previous job, within bounds", () => {
  assert.equal(rateAfter(1e-3, 0.01), 1e-3);
  assert.equal(rateAfter(4e-4, 0.003), 6e-4);
  assert.equal(rateAfter(4e-4, 0.0001), 6e-4);
  assert.equal(rateAfter(1e-3, 0.192), 2.5e-4);
  assert.equal(rateAfter(1e-3, 5), 2.5e-4);
  assert.equal(rateAfter(1.8e-3, 0.001), 2e-3);
  assert.equal(rateAfter(2e-5, 5), 1e-5);
});

test("keeps the learning rate if the measured divergence is only a rounding error", () => {
  assert.equal(rateAfter(1.5e-3, 0), 1.5e-3);
  assert.equal(rateAfter(1.5e-3, 1e-7), 1.5e-3);
});

test("combines other settings with the default steps and learning rate", () => {
  assert.deepEqual(roundConfig({ ppo: true, batch_size: null }, facts), {
    ppo: true,
    batch_size: null,
    steps: 4,
    learning_rate: 5e-4,
  });
});

test("uses the server's defaults if the run sets its steps or its learning rate", () => {
  for (const chosen of [
    { learning_rate: 1e-4 },
    { steps: 2 },
    { batch_size: 8 },
    { grad_accumulation_sequences: 8 },
  ])
    assert.deepEqual(roundConfig(chosen, facts), chosen);
});
