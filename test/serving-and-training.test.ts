// Tests that serving and training use the same model definition. Training must compute the same log-probabilities that
// serving returned, both for the base model and for a trained version.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Hone } from "../src/apps/client/hone.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

const server = serverOfFile({ flags: toolModel });
const difference = "loss/first_max_logprob_difference";

for (const base of searchedOf(["hone-tiny", "tiny"], 1)) {
  test(`training reproduces the log-probabilities returned by serving ${base}, to 1e-4`, async () => {
    const client = new Hone({ baseUrl: server().url, apiKey: server().apiKey });
    const model = await client.models.create({ project: "p", name: base, base_model: base });
    for (let step = 0; step < 2; step++) {
      const groups = await Promise.all([0, 1, 2].map((index) => rollOut(client, model.id, step * 3 + index)));
      const { id: jobId } = await client.jobs.create({
        model_id: model.id,
        trajectory_groups: groups,
        experimental_config: { learning_rate: 0.01 },
      });
      await client.jobs.wait(jobId);
      const newest = (await client.checkpoints.list(model.id).all()).at(-1);
      assert.equal(newest?.step, step + 1);
      const found = newest.metrics[difference];
      assert.ok(found !== undefined && found > 0 && found < 1e-4, `step ${step}: ${difference} is ${found}`);
    }
  });
}

/** Returns a group of four answers with different rewards. */
async function rollOut(client: Hone, model: string, seed: number) {
  const question = {
    role: "user",
    content: `tell me a story about ${["a cat", "the sea", "winter"][seed % 3]}`,
  };
  const answer = await client.chat.create({
    model,
    messages: [question],
    n: 4,
    max_tokens: 40,
    temperature: 1,
    seed,
  });
  return {
    trajectories: answer.choices.map((choice, index) => ({
      messages_and_choices: [question, choice],
      reward: index,
    })),
  };
}
