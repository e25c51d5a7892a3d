// Tests rollouts over HTTP, from chat to job. The client streams them and stores only texts and log-probabilities,
// without prompt ids. The model's template depends on `enable_thinking`, so that the test notices a prompt that is
// rendered differently.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, eventually, serverOfFile } from "./running-server.ts";
import { model, registerModel } from "./served-jobs.ts";

type Body = Readonly<Record<string, unknown>>;
const server = serverOfFile({ flags: model });

/** How a group of rollouts is made and recorded. */
interface Rollouts {
  /** The request body without the model and the fixed settings. */
  readonly request: Body & { readonly messages: readonly Body[] };
  /** Fields that the client adds to an accumulated choice. */
  readonly ofChoice?: Body;
  /** Fields that the client adds to a trajectory. */
  readonly ofTrajectory?: Body;
}

/**
 * Returns the choices of a streamed answer. Like a client that accumulates them, keeps only texts and
 * log-probabilities.
 */
async function streamedChoices(modelId: string, request: Body): Promise<readonly Body[]> {
  const body = { model: modelId, n: 3, max_tokens: 20, temperature: 1, seed: 5, stream: true, ...request };
  const answer = await call(server(), "POST", "/v1/chat/completions", { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const choices = [0, 1, 2].map((index) => ({ index, text: "", logprobs: [] as Body[] }));
  for (const line of String(answer.body).split("\n")) {
    if (!line.startsWith("data: {")) continue;
    for (const { index, delta, logprobs } of JSON.parse(line.slice(6)).choices) {
      choices[index].text += delta.content ?? "";
      choices[index].logprobs.push(...(logprobs?.content ?? []));
    }
  }
  return choices.map(({ index, text, logprobs }) => ({
    index,
    finish_reason: "stop",
    message: { role: "assistant", content: text },
    logprobs: { content: logprobs },
  }));
}

/**
 * Trains on one group of rollouts. Returns the job's warnings, and the largest log-probability difference in its first
 * step.
 */
async function train(name: string, { request, ofChoice, ofTrajectory }: Rollouts) {
  const modelId = await registerModel(server(), name);
  const choices = await streamedChoices(modelId, request);
  const trajectories = choices.map((choice, reward) => ({
    messages_and_choices: [...request.messages, { ...choice, ...ofChoice }],
    reward,
    ...ofTrajectory,
  }));
  const created = await call(server(), "POST", "/v1/preview/training-jobs", {
    body: {
      model_id: modelId,
      trajectory_groups: [{ trajectories }],
      // At the default rate, two steps would change the model so little that the job would warn.
      experimental_config: { learning_rate: 1e-3 },
    },
  });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const job = await eventually("the job ends", async () => {
    const { body } = await call(server(), "GET", `/v1/preview/training-jobs/${created.body.id}`);
    assert.ok(!["failed", "cancelled"].includes(body.state), JSON.stringify(body));
    return body.state === "succeeded" ? body : null;
  });
  const { body } = await call(
    server(),
    "GET",
    `/v1/preview/models/${modelId}/checkpoints?order=desc&limit=1`,
  );
  const difference: number = body.data[0].metrics["loss/first_max_logprob_difference"];
  return { warnings: job.warnings as readonly string[], difference };
}

async function trainsAsServed(name: string, rollouts: Rollouts): Promise<void> {
  const { warnings, difference } = await train(name, rollouts);
  assert.ok(difference > 0 && difference < 1e-4, `the difference is ${difference}`);
  assert.deepEqual(warnings, []);
}

async function warnsOfPrompt(name: string, rollouts: Rollouts): Promise<void> {
  const { warnings, difference } = await train(name, rollouts);
  assert.ok(difference > 0.05, `the difference is ${difference}`);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /differ by up to \S+ nats \(trajectory_groups\.0\.trajectories\.\d\)/);
  assert.match(warnings[0] ?? "", /without prompt_token_ids, whose prompts were rendered from the messages/);
}

const question = { role: "user", content: "Say something." };
const begun = { role: "assistant", content: "Well" };
const lookUp = { name: "look_up", description: "Looks up.", parameters: { type: "object", properties: {} } };

test("a streamed rollout is trained on after the prompt it was served with", () =>
  trainsAsServed("plain", { request: { messages: [{ role: "system", content: "Be brief." }, question] } }));

test("a streamed rollout with tools is trained on after a prompt with these tools, even if they are listed as functions", () =>
  trainsAsServed("tools", {
    request: { messages: [question], tools: [{ type: "function", function: lookUp }] },
    ofTrajectory: { tools: [lookUp] },
  }));

test("a streamed rollout that continues a message is trained on after the continued part, if the record contains it", () =>
  trainsAsServed("goes-on", {
    request: { messages: [question, begun], continue_final_message: true },
    ofChoice: { continue_final_message: true },
  }));

test("if the record does not determine the prompt, the job warns with the trajectory and the likely cause", () =>
  warnsOfPrompt("untold", { request: { messages: [question, begun], continue_final_message: true } }));

test("template arguments in the record determine how the prompt is rendered", () =>
  warnsOfPrompt("told-otherwise", {
    request: { messages: [question] },
    ofTrajectory: { chat_template_kwargs: { enable_thinking: false } },
  }));
