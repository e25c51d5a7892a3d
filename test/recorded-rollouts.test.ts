// Tests rollouts recorded through unmodified third-party clients on a real server. The recording equals the server's
// answer to the same request token by token, a job trains on exactly these tokens, and callers see no difference.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { generateText, stepCountIs, streamText, tool as aiTool } from "ai";
import OpenAI from "openai";
import { z } from "zod";
import type { Trajectory } from "../src/apps/client/api.ts";
import { Hone } from "../src/apps/client/hone.ts";
import type { JsonObject } from "../src/apps/client/recording/model-request.ts";
import type { RecordedTrajectory } from "../src/apps/client/recording/recorded-trajectory.ts";
import { startTrajectory } from "../src/apps/client/recording/start-trajectory.ts";
import { StreamedChoices } from "../src/apps/client/recording/streamed-choices.ts";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import { call, serverOfFile } from "./running-server.ts";
import { toolModel } from "./served-jobs.ts";

let hone: Hone;
const server = serverOfFile({
  flags: toolModel,
  onStart: ({ url, apiKey }) => {
    hone = new Hone({ baseUrl: url, apiKey });
  },
});

const question = { role: "user", content: "What will the weather be?" } as const;
const place = z.object({ city: z.enum(["Oslo", "Lima"]), days: z.number().int().min(1).max(9) });
const weatherIn = ({ city, days }: z.infer<typeof place>): string => `${city}: sun for ${days} days`;
const tools = [
  {
    type: "function" as const,
    function: { name: "weather", description: "The weather of a city.", parameters: z.toJSONSchema(place) },
  },
];
/** The model's weights are random, so short answers test as much as long ones. */
const short = 24;
const long = 600;

interface Case {
  readonly rollout: (trajectory: RecordedTrajectory) => Promise<unknown>;
  /** Expected items of each history. */
  readonly histories: readonly (readonly string[])[];
}

const oneCall = { parallel_tool_calls: false };

const turns = ["user", "choice", "tool", "choice"];

const cases: Readonly<Record<string, Case>> = {
  "openai, a tool and its result": {
    histories: [turns],
    rollout: async ({ openai, model }) => {
      const required = { tools, tool_choice: "required" } as const;
      const first = await openai.chat.completions.create({
        model,
        messages: [question],
        ...required,
        max_completion_tokens: long,
      });
      const message = first.choices[0]?.message ?? assert.fail();
      const [called] = message.tool_calls ?? [];
      const result = { role: "tool" as const, tool_call_id: called?.id ?? "", content: "sunny" };
      await openai.chat.completions.create({
        model,
        messages: [question, message, result],
        tools,
        max_completion_tokens: short,
      });
    },
  },
  "openai, streamed, then a turn and a branch": {
    histories: [
      ["user", "choice", "user", "choice"],
      ["user", "choice"],
    ],
    rollout: async ({ openai, model }) => {
      const asked = { model, max_completion_tokens: short, stream: true } as const;
      const say = async (messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> => {
        let text = "";
        for await (const chunk of await openai.chat.completions.create({ ...asked, messages }))
          text += chunk.choices[0]?.delta.content ?? "";
        return text;
      };
      const answer = await say([question]);
      await say([question, { role: "assistant", content: answer }, { role: "user", content: "And then?" }]);
      await say([{ role: "user", content: "Something else." }]);
    },
  },
  "openai, several answers to one request": {
    histories: [
      ["user", "choice"],
      ["user", "choice", "user", "choice"],
    ],
    rollout: async ({ openai, model }) => {
      const asked = { model, max_completion_tokens: short };
      const { choices } = await openai.chat.completions.create({ ...asked, messages: [question], n: 2 });
      const messages = [
        question,
        choices[1]?.message ?? assert.fail(),
        { role: "user" as const, content: "Go on." },
      ];
      await openai.chat.completions.create({ ...asked, messages });
    },
  },
  "the AI SDK, a tool in two steps": {
    histories: [turns],
    rollout: async (trajectory) => {
      const provider = await trajectory.aiSdk();
      const { steps } = await generateText({ model: provider(trajectory.model), ...aiSteps });
      assert.equal(steps.length, 2);
    },
  },
  "the AI SDK, a tool in two steps, streamed": {
    histories: [turns],
    rollout: async (trajectory) => {
      const provider = await trajectory.aiSdk();
      const result = streamText({ model: provider(trajectory.model), ...aiSteps });
      await result.consumeStream();
      assert.equal((await result.steps).length, 2);
    },
  },
  "LangChain, a tool and its result": {
    histories: [turns],
    rollout: async (trajectory) => {
      const weather = langChainTool(weatherIn, {
        name: "weather",
        description: "The weather of a city.",
        schema: place,
      });
      const chat = await trajectory.langchain({ maxTokens: long });
      const asked = [new HumanMessage(question.content)];
      const answer = await chat.bindTools([weather], { tool_choice: "required" }).invoke(asked);
      const results = await Promise.all((answer.tool_calls ?? []).map((one) => weather.invoke(one)));
      const last = chat.bindTools([weather], { tool_choice: "none" });
      await last.invoke([...asked, answer, ...results]);
    },
  },
  "LangChain, streamed": {
    histories: [["user", "choice"]],
    rollout: async (trajectory) => {
      const chat = await trajectory.langchain({ maxTokens: short });
      for await (const chunk of await chat.stream(question.content)) assert.ok(chunk);
    },
  },
  "a sub-agent beside its parent": {
    histories: [
      ["user", "choice"],
      ["system", "user", "choice"],
    ],
    rollout: async (trajectory) => {
      const ask = ({ openai, model }: RecordedTrajectory, ...messages: OpenAI.ChatCompletionMessageParam[]) =>
        openai.chat.completions.create({ model, messages, max_completion_tokens: short });
      await ask(trajectory, question);
      await ask(trajectory.child("critic"), { role: "system", content: "Be brief." }, question);
    },
  },
};

const aiSteps = {
  prompt: question.content,
  maxRetries: 0,
  tools: {
    weather: aiTool({ description: "The weather of a city.", inputSchema: place, execute: weatherIn }),
  },
  toolChoice: "required" as const,
  maxOutputTokens: long,
  stopWhen: stepCountIs(2),
  prepareStep: ({ stepNumber }: { readonly stepNumber: number }) =>
    stepNumber === 0 ? {} : { toolChoice: "none" as const },
};

/** Parts of a choice that are trained on. */
interface Tokens {
  readonly prompt: readonly number[];
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
}

function tokensOf({ prompt_token_ids: prompt, token_ids: ids, logprobs }: JsonObject): Tokens {
  const { content } = logprobs as { readonly content: readonly { readonly logprob: number }[] };
  return {
    prompt: prompt as readonly number[],
    ids: ids as readonly number[],
    logprobs: content.map(({ logprob }) => logprob),
  };
}

const isChoice = (item: JsonObject): boolean => "message" in item;
const kindOf = (item: JsonObject): unknown => (isChoice(item) ? "choice" : item["role"]);

/** Resends a recorded request without a recorder and without streaming; returns the tokens of the server's answer. */
async function servedTokens(request: JsonObject): Promise<readonly Tokens[]> {
  const { stream: _stream, stream_options: _options, ...body } = request;
  const answer = await call(server(), "POST", "/v1/chat/completions", { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return (answer.body.choices as readonly JsonObject[]).map(tokensOf);
}

for (const [name, { rollout, histories }] of searchedOf(Object.entries(cases), 3)) {
  test(`${name}: the recording equals the served tokens, and training uses exactly these`, async () => {
    const model = await hone.model(`recorded/${name.replaceAll(/\W+/g, "-")}`, { base: "tiny" });
    const trajectories = await Promise.all(
      [1, 2].map(async (seed) => {
        const trajectory = await startTrajectory(model, { step: 0, seed, request: oneCall });
        await rollout(trajectory);
        return trajectory;
      }),
    );
    const recorded = trajectories.map((trajectory) =>
      trajectory.histories.flatMap(({ items }) => items.filter(isChoice).map(tokensOf)),
    );
    for (const trajectory of trajectories) {
      assert.deepEqual(
        trajectory.histories.map(({ items }) => items.map(kindOf)),
        histories,
      );
      for (const { request, choices } of trajectory.calls)
        assert.deepEqual(choices.map(tokensOf), await servedTokens(request));
    }
    const bodies = trajectories.map((trajectory, reward) => trajectory.finish({ reward }));
    // At the default rate, four steps would change the model so little that the job would warn.
    const jobId = await model.train([{ trajectories: bodies }], { learning_rate: 1e-3 });
    const job = await hone.jobs.wait(jobId);
    // Expected warnings: hone-tiny writes calls with other spaces than its template, and answers may be cut off.
    const expected = /became several sequences|were cut off at their token limit/;
    assert.deepEqual(
      job.warnings.filter((warning) => !expected.test(warning)),
      [],
    );
    const tokenCount = recorded.flat().reduce((sum, { ids }) => sum + ids.length, 0);
    assert.equal(job.counts?.trainable_tokens, tokenCount);
    const { metrics } = await hone.checkpoints.get(model.id, 1);
    const difference = metrics["loss/first_max_logprob_difference"] ?? Infinity;
    assert.ok(difference < 1e-4, `training and serving differ by ${difference}`);
    // The list returns trajectories as they were sent.
    const stored = (await model.trajectories({ source: "jobs" }).all()) as readonly Trajectory[];
    const storedTokens = stored.map(({ messages_and_choices: items, additional_histories: others }) =>
      [items ?? [], ...(others ?? []).map((history) => history.messages_and_choices)]
        .flat()
        .filter((item) => isChoice(item))
        .map((item) => tokensOf(item)),
    );
    assert.deepEqual(storedTokens, recorded);
  });
}

test("callers get the same answers as without a recorder, with and without streaming", async () => {
  const model = await hone.model("recorded/undisturbed", { base: "tiny" });
  const trajectory = await startTrajectory(model, { step: 0 });
  const plain = new OpenAI({ baseURL: `${server().url}/v1`, apiKey: server().apiKey });
  const asked = { model: model.at(0), messages: [question], max_completion_tokens: short, seed: 3, n: 2 };
  const wishes: readonly JsonObject[] = [
    {},
    { logprobs: false },
    { logprobs: true, top_logprobs: 2 },
    { return_token_ids: false },
    { return_token_ids: true },
    { logprobs: false, return_token_ids: true },
  ];
  /** Removes the fields that differ in every answer. */
  const same = ({ id: _id, request_id: _request, created: _created, usage: _usage, ...rest }: JsonObject) =>
    rest;
  for (const wish of wishes) {
    const [one, other] = await Promise.all(
      [plain, trajectory.openai].map(async ({ chat: { completions } }) => {
        const whole = await completions.create({ ...asked, ...wish });
        const chunks: JsonObject[] = [];
        for await (const chunk of await completions.create({ ...asked, ...wish, stream: true }))
          chunks.push({ ...chunk });
        const gathered = new StreamedChoices();
        for (const chunk of chunks) gathered.add(chunk);
        const [first = {}] = chunks;
        return { whole: same({ ...whole }), streamed: gathered.choices(), first: same(first) };
      }),
    );
    assert.deepEqual(other, one, JSON.stringify(wish));
  }
  assert.equal(trajectory.calls.length, 2 * wishes.length);
});

test("a streamed answer is recorded the same as one without streaming", async () => {
  const model = await hone.model("recorded/streams", { base: "tiny" });
  const record = await startTrajectory(model, { step: 0 });
  const body = { model: record.model, messages: [question], max_completion_tokens: short, seed: 5, n: 2 };
  await record.openai.chat.completions.create(body);
  for await (const chunk of await record.openai.chat.completions.create({ ...body, stream: true }))
    assert.ok(chunk);
  const [whole, streamed] = record.calls.map(({ choices }) => choices);
  assert.deepEqual(streamed, whole);
});
