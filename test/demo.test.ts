// The point of the product, as a test: the built-in model answers the demo's task badly, is trained over HTTP, and answers
// it well. `bench/demo-seeds.ts` does the same for many seeds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runDemo } from "../src/cli/demo/run-demo.ts";
import { wordTask, type Word } from "../src/cli/demo/tasks/word-task.ts";
import { Hone } from "../src/client/hone.ts";
import { searchedOf } from "../src/domain/testing/search.ts";
import { systemClock } from "../src/domain/clock.ts";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

for (const taught of searchedOf<Word>(["maybe", "yes"], 1)) {
  test(`the built-in model learns to prefer ${taught} within twelve jobs`, async () => {
    const { url, apiKey } = server();
    const client = new Hone({ baseUrl: url, apiKey });
    const samples: string[] = [];
    const result = await runDemo(
      client,
      systemClock,
      {
        baseModel: "hone-tiny",
        project: "demo",
        name: taught,
        task: wordTask(taught),
        seed: 11,
        jobCountMax: 12,
        learningRate: 1e-4,
      },
      (event) => void (event.kind === "samples" && samples.push(event.when)),
    );
    const curve = result.points.map((point) => point.sampledReward.toFixed(2)).join(" ");
    assert.ok((result.points[0]?.sampledReward ?? 1) < 0.85, `it starts badly: ${curve}`);
    assert.ok(result.hasLearned, `it learns: ${curve}`);
    assert.deepEqual(samples, ["before", "after"]);
    const { length } = await client.checkpoints.list(result.model.id).all();
    assert.equal(length, result.points.length, "one version a job, beside the base");
  });
}
