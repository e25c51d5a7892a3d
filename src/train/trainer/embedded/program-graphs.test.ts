// Tests the cache of training programs' graphs, and when two programs count as the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { policyLossFields, policyLossOf } from "../trainer.ts";
import { tinyConfig } from "../contract/tiny-model.ts";
import { keyOf, PROGRAM_COUNT_MAX, type Program, ProgramGraphs } from "./program-graphs.ts";

const shape = { layout: "list", adapter: { rank: 8, scale: 2, targets: ["q_proj"] } } as const;
const config = resolveTrainingConfig({});

test("each setting that shapes the loss makes a separate program, and no other setting of a job does", () => {
  const keyWith = (changes: object): string =>
    keyOf({
      kind: "gradient",
      ...shape,
      hasDistinctPlaces: true,
      recomputesProducts: false,
      loss: policyLossOf({ ...config, ...changes }),
    });
  const keys = policyLossFields.map((field) => {
    const value = config[field];
    return keyWith({ [field]: typeof value === "number" ? value + 0.25 : `another than ${value}` });
  });
  assert.equal(new Set([...keys, keyWith({})]).size, policyLossFields.length + 1);
  assert.equal(keyWith({ learningRate: 7, batchSize: 3 }), keyWith({}));
});

test("builds a graph once and evicts the least recently used", () => {
  const graphs = new ProgramGraphs(tinyConfig);
  const programOf = (rank: number): Program => ({
    kind: "logprobs",
    layout: "rows",
    adapter: { rank, scale: 2, targets: ["q_proj"] },
  });
  const first = graphs.of(programOf(1));
  assert.equal(graphs.of(programOf(1)), first);
  const others = Array.from({ length: PROGRAM_COUNT_MAX }, (_, index) => graphs.of(programOf(index + 2)));
  assert.equal(graphs.of(programOf(3)), others[1]);
  assert.notEqual(graphs.of(programOf(1)), first);
  graphs.clear();
  assert.notEqual(graphs.of(programOf(3)), others[1]);
});
