// Tests the client's training loop with unmodified agents of OpenAI's Agents SDK. In a round, agents call tools, hand
// over to each other and are judged; the job then trains on exactly the served tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, Runner, setTracingDisabled, tool } from "@openai/agents";
import { Hone, train } from "hone-server/client";
import { place, setting, weatherIn } from "./setting.js";

setTracingDisabled(true);
const hone = new Hone({ baseUrl: setting.baseURL, apiKey: setting.apiKey });
const weather = tool({
  name: "weather",
  description: "The weather of a city.",
  parameters: place,
  execute: weatherIn,
});

/** Returns the parts of a trajectory that training uses: the choices in all its histories. */
function choicesOf({ histories }) {
  return histories.flatMap(({ items }) => items).filter((item) => "message" in item);
}

test("a round with agents, a tool and a handoff trains a version on their exact tokens", async () => {
  const model = await hone.model("conformance/agents", { base: setting.model });
  const recorded = [];
  const served = [];
  const { rounds } = await train(model, {
    tasks: ["Oslo", "Lima"],
    groupSize: 2,
    rounds: 1,
    display: false,
    config: { learning_rate: 1e-3 },
    rollout: async (city, trajectory) => {
      const runner = new Runner();
      const own = await trajectory.agents();
      const second = new Agent({
        name: "Second",
        model: own,
        instructions: "Tell the weather.",
        tools: [weather],
        toolUseBehavior: "stop_on_first_tool",
        modelSettings: { toolChoice: "required", parallelToolCalls: false },
      });
      const first = new Agent({
        name: "First",
        model: own,
        instructions: "Hand over.",
        handoffs: [second],
        modelSettings: { toolChoice: "transfer_to_Second", parallelToolCalls: false },
      });
      const { lastAgent, finalOutput } = await runner.run(first, `What will the weather be in ${city}?`, {
        maxTurns: 4,
      });
      assert.equal(lastAgent.name, "Second");
      recorded.push(...choicesOf(trajectory));
      served.push(...trajectory.calls.map(({ request }) => request));
      return { reward: trajectory.seed, metrics: { right: finalOutput.includes(city) } };
    },
  });
  const [round] = rounds;
  assert.deepEqual(round.failureReasons, []);
  assert.deepEqual([round.rollouts, round.newStep, round.warnings], [4, 1, []]);
  // A handoff changes the tools, so it starts a new history.
  assert.equal(recorded.length, 8);
  const answers = await Promise.all(served.map(({ stream: _stream, ...body }) => hone.chat.create(body)));
  const tokensOf = ({ prompt_token_ids: prompt, token_ids: ids }) => JSON.stringify([prompt, ids]);
  assert.deepEqual(
    new Set(recorded.map(tokensOf)),
    new Set(answers.map(({ choices: [choice] }) => tokensOf(choice))),
  );
  const { counts } = await hone.jobs.get(round.jobId);
  const tokens = recorded.reduce((sum, { token_ids: ids }) => sum + ids.length, 0);
  assert.equal(counts.trainable_tokens, tokens);
  const { metrics } = await hone.checkpoints.get(model.id, 1);
  assert.ok(metrics["loss/first_max_logprob_difference"] < 1e-4);
});
