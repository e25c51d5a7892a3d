// Tests rollouts with the official SDKs on a running server: agents of four APIs, with and without streaming, with
// tools and in parallel. Compares the tokens of training data with the recorded ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import type { MessageParam } from "@anthropic-ai/sdk/resources/messages";
import OpenAI from "openai";
import type { ResponseInput } from "openai/resources/responses/responses";
import { commandProcess } from "../src/apps/cli/testing/command-process.ts";
import { call, eventually, serverOfFile } from "./running-server.ts";
import { registerModel, toolModel } from "./served-jobs.ts";

interface Session {
  readonly rollout_id: string;
  readonly api_key: string;
  readonly base_url: string;
  readonly anthropic_base_url: string;
}

const server = serverOfFile({ flags: toolModel });
let registered: Promise<string> | null = null;

/** Returns the id of this file's model, which the first call registers. */
const modelOf = (): Promise<string> => (registered ??= registerModel(server(), "agent"));

const path = async (rest = ""): Promise<string> => `/v1/preview/models/${await modelOf()}/rollouts${rest}`;

const send = (method: string, url: string, body?: object) =>
  call(server(), method, url, body === undefined ? {} : { body });

async function create(body: object = {}): Promise<Session> {
  const answer = await send("POST", await path(), body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

const openaiOf = ({ base_url: baseURL, api_key: apiKey }: Session): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const anthropicOf = ({ anthropic_base_url: baseURL, api_key: authToken }: Session): Anthropic =>
  new Anthropic({ baseURL, authToken, apiKey: null, maxRetries: 0 });

/** An agent: asks questions, and appends each answer and the next question in the form of its API. */
type Agent = (session: Session, turns: number, streams: boolean) => Promise<void>;

const questions = ["Who are you?", "Why?", "Say more, and say it slowly.", "Go on."];
/** Fields that the SDKs' types do not declare. */
const seeded = (seed: number): object => ({ seed });
const tokensToo: object = { return_token_ids: true };
const hot = { temperature: 1.2, max_tokens: 24 };

const agents: Readonly<Record<string, Agent>> = {
  chat: async (session, turns, streams) => {
    const openai = openaiOf(session);
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: "Be brief." }];
    for (let turn = 0; turn < turns; turn++) {
      messages.push({ role: "user", content: questions[turn] });
      const body = { model: "gpt-5", messages, ...hot, seed: turn };
      if (streams) {
        let content = "";
        for await (const { choices } of await openai.chat.completions.create({ ...body, stream: true }))
          content += choices[0]?.delta.content ?? "";
        messages.push({ role: "assistant", content });
      } else messages.push((await openai.chat.completions.create(body)).choices[0].message);
    }
  },
  completions: async (session, turns) => {
    const openai = openaiOf(session);
    let prompt: number[] | string = "Once upon a time";
    for (let turn = 0; turn < turns; turn++) {
      const answer: OpenAI.Completion = await openai.completions.create({
        model: "davinci",
        prompt,
        ...hot,
        seed: turn,
        ...tokensToo,
      });
      const { token_ids: ids, prompt_token_ids: before } = answer.choices[0] as unknown as {
        readonly token_ids: readonly number[];
        readonly prompt_token_ids: readonly number[];
      };
      prompt = [...before, ...ids, 7];
    }
  },
  responses: async (session, turns, streams) => {
    const openai = openaiOf(session);
    const input: ResponseInput = [];
    for (let turn = 0; turn < turns; turn++) {
      input.push({ role: "user", content: questions[turn] });
      const body = { model: "gpt-5-codex", instructions: "Be brief.", input, store: false };
      const sampling = { temperature: 1.2, max_output_tokens: 24, ...seeded(turn) };
      const answer = streams
        ? await openai.responses.stream({ ...body, ...sampling }).finalResponse()
        : await openai.responses.create({ ...body, ...sampling });
      input.push(...(answer.output as ResponseInput));
    }
  },
  messages: async (session, turns, streams) => {
    const anthropic = anthropicOf(session);
    const messages: MessageParam[] = [];
    for (let turn = 0; turn < turns; turn++) {
      messages.push({ role: "user", content: questions[turn] });
      const body = { model: "claude-opus-4-6", system: "Be brief.", messages, max_tokens: 24 };
      const asked = { ...body, temperature: 1, ...seeded(turn) };
      const answer = streams
        ? await anthropic.messages.stream(asked).finalMessage()
        : await anthropic.messages.create(asked);
      messages.push({ role: "assistant", content: answer.content });
    }
  },
};

const byNumber = (one: number, other: number): number => one - other;

interface Detail {
  readonly state: string;
  readonly calls: readonly { readonly request_id: string; readonly version: number }[];
  readonly sequences: readonly {
    readonly answers: readonly { readonly request_id: string }[];
    readonly branch_of: object | null;
  }[];
}

async function detail({ rollout_id: id }: Session): Promise<Detail> {
  const answer = await send("GET", await path(`/${id}`));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

interface Tokens {
  readonly prompt_token_ids: readonly number[];
  readonly token_ids: readonly number[];
  readonly logprobs: object;
}

async function recorded(requestId: string): Promise<Tokens> {
  const { body } = await send("GET", `/v1/chat/completions/${encodeURIComponent(requestId)}`);
  return { prompt_token_ids: body.prompt_token_ids, ...body.choices[0] };
}

for (const [name, agent] of Object.entries(agents))
  for (const streams of [false, true])
    test(`links the turns of ${name}, ${streams ? "streamed" : "whole"}, without tokenizing an answer twice`, async () => {
      const turns = streams ? 3 : 4;
      const session = await create({ task: name, group: `${name} ${streams}` });
      await agent(session, turns, streams);
      const { calls, sequences } = await detail(session);
      assert.equal(calls.length, turns);
      const tokens = await Promise.all(calls.map(({ request_id: id }) => recorded(id)));
      assert.deepEqual(
        sequences.map(({ answers, branch_of: of }) => [answers.length, of]),
        [[turns, null]],
      );
      tokens.slice(1).forEach(({ prompt_token_ids: prompt }, index) => {
        const before = tokens[index];
        const sofar = [...before.prompt_token_ids, ...before.token_ids];
        assert.deepEqual(prompt.slice(0, sofar.length), sofar);
      });
    });

test("a job trains on exactly the tokens that the model sampled, whichever API the agent uses", async () => {
  const sessions = await Promise.all(
    Object.keys(agents).flatMap((name) => [0, 1].map(() => create({ task: name, split: "exact" }))),
  );
  const names = Object.keys(agents).flatMap((name) => [name, name]);
  await Promise.all(sessions.map((session, index) => agents[names[index]](session, 3, index % 2 === 0)));
  const sampled = new Map<string, readonly (readonly number[])[]>();
  for (const [index, { rollout_id: id }] of sessions.entries()) {
    const { calls } = await detail(sessions[index]);
    const tokens = await Promise.all(calls.map(({ request_id: call }) => recorded(call)));
    sampled.set(
      id,
      tokens.map(({ prompt_token_ids: prompt, token_ids: ids }) => [...prompt, -1, ...ids]),
    );
    const ended = await send("POST", await path(`/${id}/finish`), { reward: index % 2 });
    assert.equal(ended.status, 200, JSON.stringify(ended.body));
  }
  const modelId = await modelOf();
  const body = { model_id: modelId, rollouts: { split: "exact" } };
  const made = await Promise.all([1, 2, 3].map(() => send("POST", "/v1/preview/training-jobs", body)));
  assert.deepEqual(made.map(({ status }) => status).toSorted(byNumber), [200, 409, 409]);
  const [{ id }] = made.filter(({ status }) => status === 200).map((answer) => answer.body);
  const job = await eventually("the job ends", async () => {
    const { body: one } = await send("GET", `/v1/preview/training-jobs/${id}`);
    return ["succeeded", "failed"].includes(one.state) ? one : null;
  });
  assert.equal(job.state, "succeeded", job.error_message);
  assert.deepEqual([job.counts.trajectories, job.counts.sequences], [8, 8], JSON.stringify(job));
  const lists = await send("GET", `/v1/preview/models/${modelId}/trajectories/outlines?source=job&limit=100`);
  const trained = await Promise.all(
    lists.body.data.map(async ({ id: number }: { id: string }) => {
      const { body: one } = await send("GET", `/v1/preview/models/${modelId}/trajectories/${number}`);
      return one;
    }),
  );
  assert.equal(trained.length, 8);
  for (const { metadata, messages_and_choices: items } of trained) {
    const choices = items.filter((item: object) => "token_ids" in item) as readonly Tokens[];
    assert.deepEqual(
      choices.map(({ prompt_token_ids: prompt, token_ids: ids }) => [...prompt, -1, ...ids]),
      sampled.get(metadata.rollout_id),
    );
  }
});

test("sub-agents in parallel, and a rewritten history, are sequences of their own", async () => {
  const session = await create();
  const openai = openaiOf(session);
  const ask = async (messages: OpenAI.ChatCompletionMessageParam[], seed: number) => {
    const { choices } = await openai.chat.completions.create({ model: "x", messages, ...hot, seed });
    return choices[0].message;
  };
  const user = (content: string) => ({ role: "user" as const, content });
  const first = await ask([user("Plan.")], 1);
  const children = await Promise.all([1, 2, 3].map((child) => ask([user(`Child ${child}`)], child)));
  assert.equal(children.length, 3);
  const [same, other] = await Promise.all([
    ask([user("Plan."), first, user("Do it.")], 2),
    ask([user("Plan."), first, user("Do it twice.")], 3),
  ]);
  assert.ok(same !== undefined && other !== undefined);
  await ask([user("Plan."), { ...first, content: `${first.content} (shortened)` }, user("And?")], 4);
  const { calls, sequences } = await detail(session);
  assert.equal(calls.length, 7);
  assert.deepEqual(sequences.map(({ answers }) => answers.length).toSorted(byNumber), [1, 1, 1, 1, 1, 2]);
  assert.equal(sequences.filter(({ branch_of: of }) => of === null).length, 1);
});

test("an agent's tool calls come back as other JSON, and still continue the sampled tokens", async () => {
  const session = await create();
  const anthropic = anthropicOf(session);
  const tools = [
    {
      name: "weather",
      input_schema: {
        type: "object" as const,
        properties: { city: { enum: ["Paris", "Rome"] } },
        required: ["city"],
        additionalProperties: false,
      },
    },
  ];
  const messages: MessageParam[] = [{ role: "user", content: "What will the weather be?" }];
  for (const choice of [{ type: "any" as const }, { type: "none" as const }]) {
    const answer = await anthropic.messages.create({
      model: "claude-opus-4-6",
      max_tokens: 200,
      messages,
      tools,
      tool_choice: choice,
      ...seeded(5),
    });
    const results = answer.content.flatMap((block) =>
      block.type === "tool_use"
        ? [{ type: "tool_result" as const, tool_use_id: block.id, content: "sunny" }]
        : [],
    );
    assert.ok(choice.type === "none" || results.length > 0, JSON.stringify(answer));
    messages.push(
      { role: "assistant", content: answer.content },
      { role: "user", content: results.length > 0 ? results : "Thanks." },
    );
  }
  const { sequences } = await detail(session);
  assert.deepEqual(
    sequences.map(({ answers }) => answers.length),
    [2],
  );
});

const runCommand = commandProcess();

/** Runs `hone rollout run` with these arguments; returns its exit status and its output. */
async function run(...words: readonly string[]) {
  const { url, apiKey } = server();
  await modelOf();
  const given = ["rollout", "run", "--url", url, "--key", apiKey, "--model", "p/agent", "--json", ...words];
  return runCommand(given, { environment: { ANTHROPIC_API_KEY: "sk-ant" } });
}

/**
 * A program that calls the APIs of both vendors as their environment variables say. It prints the variable that would
 * take precedence.
 */
const agentProgram = `
const ask = async (url, headers, body) => {
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
};
const { OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY } = process.env;
const messages = [{ role: "user", content: "Hi" }];
await ask(OPENAI_BASE_URL + "/chat/completions", { authorization: "Bearer " + OPENAI_API_KEY }, { model: "gpt", messages, max_tokens: 4 });
await ask(ANTHROPIC_BASE_URL + "/v1/messages", { authorization: "Bearer " + ANTHROPIC_AUTH_TOKEN }, { model: "claude", messages, max_tokens: 4 });
console.log("agent: " + ANTHROPIC_API_KEY);
`;

test("`hone rollout run` runs a command as an agent, and finishes with the printed reward", async () => {
  const script = ["--", process.execPath, "--input-type=module", "-e", agentProgram];
  const metrics = 'echo looking; echo \'{"reward": 0.5, "metrics": {"won": true}}\'';
  const { status, output, errors } = await run("--task", "t", "--reward-command", metrics, ...script);
  assert.equal(status, 0, errors);
  const rollout = JSON.parse(output);
  assert.deepEqual(
    [rollout.state, rollout.reward, rollout.metrics, rollout.call_count, rollout.task],
    ["finished", 0.5, { won: true }, 2, "t"],
  );
  assert.match(errors, /agent: undefined/);
  const byStatus = await run("--", process.execPath, "-e", "process.exit(3)");
  assert.deepEqual([byStatus.status, JSON.parse(byStatus.output).reward], [0, 0]);
});

test("`hone rollout run` cancels the rollout if the command cannot be started or gives no reward", async () => {
  for (const words of [
    ["--", "/nonexistent/agent"],
    ["--reward-command", "echo good", "--", process.execPath, "-e", ""],
    ["--reward-file", "/nonexistent/reward", "--", process.execPath, "-e", ""],
  ]) {
    const { status, output, errors } = await run(...words);
    assert.deepEqual([status, output], [1, ""]);
    assert.match(errors, /is cancelled/);
  }
});
