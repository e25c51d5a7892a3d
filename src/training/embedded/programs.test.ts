// What makes one program another.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveTrainingConfig } from "../../domain/training-config.ts";
import { policyLossFields, policyLossOf } from "../trainer.ts";
import { keyOf } from "./programs.ts";

const shape = { layout: "list", adapter: { rank: 8, scale: 2, targets: ["q_proj"] } } as const;
const config = resolveTrainingConfig({});

test("whatever shapes a loss makes a program of its own, and nothing else of a job does", () => {
  const keyWith = (changes: object): string =>
    keyOf({
      kind: "gradient",
      ...shape,
      hasDistinctPlaces: true,
      loss: policyLossOf({ ...config, ...changes }),
    });
  const keys = policyLossFields.map((field) => {
    const value = config[field];
    return keyWith({ [field]: typeof value === "number" ? value + 0.25 : `another than ${value}` });
  });
  assert.equal(new Set([...keys, keyWith({})]).size, policyLossFields.length + 1);
  assert.equal(keyWith({ learningRate: 7, batchSize: 3 }), keyWith({}));
});
