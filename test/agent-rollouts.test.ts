// Tests an agent's rollouts over HTTP, from chat to job. The model thinks, calls a tool, reads its result and answers.
// Its weights are random; a constraint or a bias determines its output.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, eventually, serverOfFile } from "./running-server.ts";
import { registerModel, toolModel } from "./served-jobs.ts";

type Body = Readonly<Record<string, unknown>>;

interface Choice extends Body {
  readonly finish_reason: string;
  readonly message: Body & {
    readonly content: string | null;
    readonly reasoning: string | null;
    readonly tool_calls: readonly { readonly id: string; readonly function: { readonly name: string } }[];
  };
  readonly token_ids: readonly number[];
  readonly prompt_token_ids: readonly number[];
}

const server = serverOfFile({ flags: toolModel });

const question = { role: "user", content: "What will the weather be?" };
const city = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] } },
  required: ["city"],
  additionalProperties: false,
};
const tools = [{ type: "function", function: { name: "weather", parameters: city } }];
const endOfThought = 4;
/** Makes the model think for a few tokens and then end its thought. */
const thinking = { chat_template_kwargs: { enable_thinking: true }, logit_bias: { [endOfThought]: 6 } };

async function ask(model: string, body: Body): Promise<readonly Choice[]> {
  const answer = await call(server(), "POST", "/v1/chat/completions", {
    body: { model, n: 3, max_tokens: 400, seed: 7, ...body },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.choices;
}

/** Makes three rollouts of two turns each; returns the items to record for each. */
async function rollOut(model: string): Promise<readonly (readonly Body[])[]> {
  const called = await ask(model, {
    messages: [question],
    tools,
    tool_choice: "required",
    parallel_tool_calls: false,
    ...thinking,
  });
  return Promise.all(
    called.map(async (choice) => {
      const { message, finish_reason: finish } = choice;
      assert.equal(finish, "tool_calls", "enough room for thought and call");
      assert.equal(message.content, null);
      const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" };
      const messages = [question, message, result];
      const constraint = { structured_outputs: { choice: ["It will rain.", "It will not."] } };
      const [answered] = await ask(model, { messages, tools, n: 1, ...constraint });
      assert.ok(answered.message.content?.startsWith("It will"));
      return [question, { ...choice, chat_template_kwargs: thinking.chat_template_kwargs }, result, answered];
    }),
  );
}

/** Trains on the rollouts. Checks the job's warnings, and that its log-probabilities are close to the recorded ones. */
async function train(modelId: string, rollouts: readonly (readonly Body[])[]) {
  const trajectories = rollouts.map((items, reward) => ({ messages_and_choices: items, tools, reward }));
  const created = await call(server(), "POST", "/v1/preview/training-jobs", {
    body: {
      model_id: modelId,
      trajectory_groups: [{ trajectories }],
      // At the default rate, four steps would change the model so little that the job would warn.
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
  // Expects this warning: the template omits a turn's empty thought from the next prompt, so a rollout becomes several
  // sequences.
  const others = job.warnings.filter((warning: string) => !warning.includes("became several sequences"));
  assert.deepEqual(others, []);
  const difference: number = body.data[0].metrics["loss/first_max_logprob_difference"];
  assert.ok(difference > 0 && difference < 1e-4, `the difference is ${difference}`);
}

test("trains turns with tool calls and thoughts on their exact tokens", async () => {
  const modelId = await registerModel(server(), "exact");
  const rollouts = await rollOut(modelId);
  const thoughts = rollouts.map(([, choice]) => (choice as unknown as Choice).message.reasoning);
  assert.ok(thoughts.some((thought) => thought !== null && thought !== ""));
  await train(modelId, rollouts);
});

test("trains the same turns if a library kept only log-probabilities, by rendering prompts with calls and reasoning", async () => {
  const modelId = await registerModel(server(), "rendered");
  const rollouts = await rollOut(modelId);
  const kept = rollouts.map((items) =>
    items.map((item) => {
      const { token_ids: _ids, prompt_token_ids: _promptIds, ...rest } = item;
      return rest;
    }),
  );
  await train(modelId, kept);
});
