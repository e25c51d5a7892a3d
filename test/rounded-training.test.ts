// Tests over HTTP a model whose base is served with quantized weights. A job trains on its answers, and the next
// version is served. The job reports how much the log-probabilities of serving and training differ.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inProof, searchedOf } from "../src/base/domain/testing/search.ts";
import { integerKernels } from "../src/inference/onnx/integer-kernels.ts";
import { call, newDataFolder, removeDataFolder, startServer } from "./running-server.ts";
import { finish, goldenModel, registerModel, stepsOf } from "./served-jobs.ts";

interface Answer {
  readonly choices: readonly { readonly logprobs: unknown }[];
  readonly system_fingerprint: string;
}

// If 4-bit products depend on the batch on this processor, 4-bit weights are computed with 8-bit products.
const { fourBits } = await integerKernels(null);

const question = { role: "user", content: "hello" };

// The differences are large because nearly all tokens are improbable for a small model with random weights.
const precisions = [
  ["8", 0.2],
  ["4", 1],
] as const;

for (const [bits, differenceMax] of searchedOf(precisions, 1)) {
  test(
    `a job with a ${bits}-bit base model trains on its answers, and its version is served`,
    inProof,
    async () => {
      const dataFolder = newDataFolder();
      const server = await startServer({ dataFolder, flags: [...goldenModel, "--quantize", bits] });
      try {
        const modelId = await registerModel(server, "m");
        const chat = async (options: object): Promise<Answer> => {
          const messages = [question];
          const body = { model: "p/m", messages, max_tokens: 24, logprobs: true, ...options };
          const answer = await call(server, "POST", "/v1/chat/completions", { body });
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          return answer.body;
        };
        const rollouts = await chat({ n: 4, temperature: 1, seed: 7 });
        const before = await chat({ temperature: 0 });
        const trajectories = rollouts.choices.map((choice, index) => ({
          messages_and_choices: [question, choice],
          reward: index,
        }));
        const { status, body } = await call(server, "POST", "/v1/preview/training-jobs", {
          body: {
            model_id: modelId,
            trajectory_groups: [{ trajectories }],
            experimental_config: { learning_rate: 0.01 },
          },
        });
        assert.equal(status, 200, JSON.stringify(body));
        await finish(server, body.id);

        const events = await call(server, "GET", `/v1/preview/training-jobs/${body.id}/events`);
        const steps = events.body.data.filter((event: { type: string }) => event.type === "gradient_step");
        // Checks only the first step, since later steps compare with a policy that training has changed.
        const difference = steps[0].data.mean_logprob_difference;
        assert.ok(difference > 0 && difference < differenceMax, JSON.stringify(steps[0].data));

        assert.deepEqual(await stepsOf(server, modelId), [0, 1]);
        const after = await chat({ temperature: 0 });
        assert.match(after.system_fingerprint, new RegExp(`:step1\\+.*int${fourBits ? bits : 8}`));
        assert.notDeepEqual(after.choices[0].logprobs, before.choices[0].logprobs);
      } finally {
        await server.terminate();
        removeDataFolder(dataFolder);
      }
    },
  );
}
