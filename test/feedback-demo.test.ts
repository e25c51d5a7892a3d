// Feedback becomes training data, as a test: the built-in model answers over HTTP, a simulated person says of each answer whether
// it is good and errs in a tenth of all cases, and the model is trained on that alone until it answers well.
// `bench/feedback-seeds.ts` does the same for many seeds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulatedRater } from "../src/cli/demo/feedback/rater.ts";
import { feedbackTask, runFeedbackDemo } from "../src/cli/demo/feedback/run-feedback-demo.ts";
import { wordTask } from "../src/cli/demo/tasks/word-task.ts";
import { Hone } from "../src/client/hone.ts";
import { systemClock } from "../src/domain/clock.ts";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

test("the built-in model learns from thumbs alone, a tenth of them wrong, within fifteen jobs", async () => {
  const { url, apiKey } = server();
  const client = new Hone({ baseUrl: url, apiKey });
  const task = feedbackTask(wordTask("maybe"));
  const result = await runFeedbackDemo(
    client,
    systemClock,
    {
      baseModel: "hone-tiny",
      project: "feedback-demo",
      name: "maybe",
      task,
      seed: 3,
      jobCountMax: 15,
      learningRate: task.training.learningRate,
      rater: simulatedRater({ seed: 3, noise: 0.1 }),
    },
    () => undefined,
  );
  const curve = result.points.map((point) => point.sampledReward.toFixed(2)).join(" ");
  assert.ok((result.points[0]?.sampledReward ?? 1) < 0.85, `it starts badly: ${curve}`);
  assert.ok(result.hasLearned, `it learns: ${curve}`);

  // Every version names the feedback behind it, and none names what another was trained on.
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
});
