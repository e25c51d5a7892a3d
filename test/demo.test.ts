// Tests the purpose of the product: the built-in model performs badly on the demo's task, is trained over HTTP, and
// then performs well. It learns from rewards, or from the feedback of a simulated person who errs in 10 % of all cases;
// `npm test` runs only one of the two.
// `tools/bench/demo-seeds.ts` and `tools/bench/feedback-seeds.ts` run many seeds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedRater } from "../src/apps/cli/demo/feedback/rater.ts";
import { feedbackTask, runFeedbackDemo } from "../src/apps/cli/demo/feedback/run-feedback-demo.ts";
import { runDemo, type DemoResult } from "../src/apps/cli/demo/run-demo.ts";
import { wordTask, type Word } from "../src/apps/cli/demo/tasks/word-task.ts";
import { Hone } from "../src/apps/client/hone.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { systemClock } from "../src/base/domain/clock.ts";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

const options = (name: string) => ({ baseModel: "hone-tiny", project: "demo", name });

/** Checks that the model earns little before training and much after it. */
function checkLearned({ points, hasLearned }: DemoResult): void {
  const curve = points.map((point) => point.sampledReward.toFixed(2)).join(" ");
  assert.ok((points[0]?.sampledReward ?? 1) < 0.85, `it starts badly: ${curve}`);
  assert.ok(hasLearned, `it learns: ${curve}`);
}

/** Ways of learning; each is a test. */
const ways = new Map<string, (client: Hone) => Promise<void>>();

for (const taught of ["maybe", "yes"] satisfies Word[])
  ways.set(`the built-in model learns to prefer ${taught} within twelve jobs`, async (client) => {
    const samples: string[] = [];
    const task = wordTask(taught);
    // Half as many answers as in the demo and ten times its learning rate, so that one or two jobs suffice.
    const sampling = { ...task.sampling, groupSize: 4 };
    const result = await runDemo(
      client,
      systemClock,
      { ...options(taught), task: { ...task, sampling }, seed: 11, jobCountMax: 12, learningRate: 1e-3 },
      (event) => void (event.kind === "samples" && samples.push(event.when)),
    );
    checkLearned(result);
    assert.deepEqual(samples, ["before", "after"]);
    const { length } = await client.checkpoints.list(result.model.id).all();
    assert.equal(length, result.points.length, "one version per job, besides the base");
  });

ways.set(
  "the built-in model learns only from thumbs, a tenth of them wrong, within fifteen jobs",
  async (client) => {
    const task = feedbackTask(wordTask("maybe"));
    const rater = simulatedRater({ seed: 3, noise: 0.1 });
    const result = await runFeedbackDemo(
      client,
      systemClock,
      // Three times the demo's learning rate, so that two or three jobs suffice.
      { ...options("thumbs"), task, seed: 3, jobCountMax: 15, learningRate: 3e-4, rater },
      () => undefined,
    );
    checkLearned(result);
    // Every version must list the feedback that it was trained on, and no two versions may list the same feedback.
    const trainedIds = new Set<string>();
    for (let step = 1; step < result.points.length; step++) {
      const sources = await client.checkpoints.sources(result.model.id, step).all();
      assert.ok(sources.length > 1);
      for (const { feedback, use } of sources) {
        assert.equal(use, "trained");
        for (const { id, is_new: isNew } of feedback) {
          assert.ok(isNew && !trainedIds.has(id));
          trainedIds.add(id);
        }
      }
    }
  },
);

for (const [name, learn] of searchedOf([...ways], 1))
  test(name, () => learn(new Hone({ baseUrl: server().url, apiKey: server().apiKey })));
