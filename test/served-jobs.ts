// Training jobs on a running server, for tests that kill processes while jobs run.
import assert from "node:assert/strict";
import { call, eventually, type RunningServer } from "./running-server.ts";

/** For models with a few thousand parameters, for which a second thread costs more time than it saves. */
const oneThread = ["--engine-threads", "1"];

/** Flags that serve a model with one layer as `tiny`, next to the built-in model. */
export const tiny = ["--model", "tiny=test/fixtures/small-model"];

/** Flags that serve only the model with one layer, as `tiny`. */
export const model = [...tiny, "--built-in-model", "off", ...oneThread];

/** Flags that serve only the model with one layer, as `tiny`, with authentication on. */
export const seenModel = [...model, "--auth", "on"];

/** Flags that serve only the three-layer model of the reference values, as `tiny`. */
export const goldenModel = [
  "--model",
  "tiny=test/fixtures/goldens/models/qwen3",
  "--built-in-model",
  "off",
  ...oneThread,
];

/**
 * Flags that serve a model with random weights as `tiny`, next to the built-in model. Its template supports tools and
 * thinking.
 */
export const toolModel = ["--model", "tiny=test/fixtures/tool-model", ...oneThread];

/** Registers a model, by default based on `tiny`; returns its id. */
export async function registerModel(server: RunningServer, name: string, base = "tiny"): Promise<string> {
  const { status, body } = await call(server, "POST", "/v1/preview/models", {
    body: { project: "p", name, base_model: base },
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body.id;
}

/**
 * Makes `groupCount` groups of four rollouts with random rewards, and submits a job with them; returns the job's id.
 */
export async function submitJob(server: RunningServer, modelId: string, groupCount: number): Promise<string> {
  const rollOut = async (group: number): Promise<object> => {
    const question = { role: "user", content: `question ${group}` };
    const { status, body } = await call(server, "POST", "/v1/chat/completions", {
      body: { model: modelId, messages: [question], n: 4, max_tokens: 100, temperature: 1, seed: group },
    });
    assert.equal(status, 200, JSON.stringify(body));
    return {
      trajectories: body.choices.map((choice: unknown, index: number) => ({
        messages_and_choices: [question, choice],
        reward: index,
      })),
    };
  };
  const groups = await Promise.all(Array.from({ length: groupCount }, (_, group) => rollOut(group)));
  const { status, body } = await call(server, "POST", "/v1/preview/training-jobs", {
    body: { model_id: modelId, trajectory_groups: groups, experimental_config: { learning_rate: 0.001 } },
  });
  assert.equal(status, 200, JSON.stringify(body));
  return body.id;
}

/** Waits until the job has succeeded. */
export async function finish(server: RunningServer, jobId: string): Promise<void> {
  await eventually(
    "the job ends",
    async () => {
      const { body } = await call(server, "GET", `/v1/preview/training-jobs/${jobId}`);
      assert.ok(!["failed", "cancelled"].includes(body.state), JSON.stringify(body));
      return body.state === "succeeded" ? true : null;
    },
    120_000,
  );
}

/** Waits until the job has taken its first gradient step. From then on, a kill can lose progress. */
export async function firstStep(server: RunningServer, jobId: string): Promise<void> {
  await eventually("a gradient step", async () => {
    const { body } = await call(server, "GET", `/v1/preview/training-jobs/${jobId}/events`);
    return body.data.some((event: { type: string }) => event.type === "gradient_step") ? true : null;
  });
}

/** Returns the step numbers of all versions. */
export async function stepsOf(server: RunningServer, modelId: string): Promise<readonly number[]> {
  const { body } = await call(server, "GET", `/v1/preview/models/${modelId}/checkpoints`);
  return body.data.map((item: { step: number }) => item.step);
}
