import assert from "node:assert/strict";
import { test } from "node:test";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { type GraphKind, graphsOfEveryRequest, ServingSessions } from "./serving-sessions.ts";

test("the sessions that every request needs exist before the first, and others are created on demand", async () => {
  const folder = "test/fixtures/goldens/models/qwen3";
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const sessions = new ServingSessions({ config, weights, threads: 1 });
  /** True if the session exists. While it is being created, its promise loses the race against the resolved promise. */
  const isThere = async (kind: GraphKind): Promise<boolean> =>
    (await Promise.race([sessions.get(kind, null), Promise.resolve(null)])) !== null;
  await sessions.prepare(graphsOfEveryRequest({ config }));
  assert.deepEqual(
    [await isThere("token"), await isThere("first"), await isThere("later-single")],
    [true, true, false],
  );
  await sessions.close();
});
