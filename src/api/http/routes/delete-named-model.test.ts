import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainedModel } from "../../../base/domain/model.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { deleteNamedModel } from "./delete-named-model.ts";

/** Deletes by a name that stands for version 3 of the model `team/p/m`, and returns what was deleted. */
async function deleted(name: string): Promise<readonly unknown[]> {
  const calls: unknown[] = [];
  // Safe casts: the function uses only these members.
  const model = { id: "id", name: "m" } as TrainedModel;
  const dependencies = {
    directory: { find: async () => ({ modelId: "id", step: 3 }) },
    models: {
      find: async () => model,
      delete: async () => void calls.push("all"),
      deleteVersions: async (_model: TrainedModel, steps: readonly number[]) => {
        calls.push(...steps);
        return { pinned: [], inUse: [] };
      },
    },
  } as unknown as HttpDependencies;
  await deleteNamedModel(dependencies, name, {} as Parameters<typeof deleteNamedModel>[2]);
  return calls;
}

test("deletes a model, or only the version that its name ends with", async () => {
  assert.deepEqual(await deleted("team/p/m"), ["all"]);
  assert.deepEqual(await deleted("m:latest"), ["all"]);
  assert.deepEqual(await deleted("p/m:step3"), [3]);
});

test("deletes nothing by an alias, which may stand for a version only", async () => {
  await assert.rejects(deleted("gpt-4o"), { code: "unsupported", message: /gpt-4o.* is an alias/ });
});
