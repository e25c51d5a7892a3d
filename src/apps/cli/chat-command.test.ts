// Tests of `hone chat` against a server with a fake chat service.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandProcess } from "./testing/command-process.ts";
import { type Server, run, listening } from "./testing/commands-under-test.ts";

/** Commands that read standard input run in this separate process, because a process has only one standard input. */
const conversing = commandProcess();

test("sends the flags, prints the answer, and continues a conversation", async (t) => {
  const { server, member } = await listening(t);
  const flags = ["--model", "small", "--system", "Be brief.", "--temperature", "0.5", "--max-tokens", "9"];
  const { outputs } = await run(
    [["chat", "say", "it", ...flags], ["chat", "it", "--json"], ["chat"]],
    member,
    "one\n\ntwo\n",
  );
  assert.equal(outputs[0], "Hello\nstatus 0");
  const whole = JSON.parse(outputs[1].replace("status 0", "")) as {
    readonly choices: readonly { readonly message: { readonly content: string } }[];
  };
  assert.equal(whole.choices[0]?.message.content, "Hello");
  assert.equal(outputs[2], "Hello\nHello\nstatus 0");
  const seen = server.chat.seen.map(({ request }) => request);
  assert.deepEqual(
    seen.map(
      ({ prompt }) =>
        prompt.kind === "conversation" && prompt.messages.map(({ role, content }) => [role, content]),
    ),
    [
      [
        ["system", "Be brief."],
        ["user", "say it"],
      ],
      [["user", "it"]],
      [["user", "one"]],
      [
        ["user", "one"],
        ["assistant", "Hello"],
        ["user", "two"],
      ],
    ],
  );
  assert.deepEqual(
    seen.map(({ identity, sampling, stopping }) => [
      identity.model,
      sampling.temperature,
      stopping.maxTokens,
    ]),
    [["small", 0.5, 9], ...Array.from({ length: 3 }, () => [null, null, null])],
  );
});

test("takes each leading word that names a model as a model, also without a version", async (t) => {
  const { server, member } = await listening(t);
  const commands = [
    ["chat", "p/m@1", "p/m", "small", "which?"],
    ["chat", "small", "Is small a model?"],
    ["chat", "small talk", "small"],
    ["chat", "..", "and/or/either", "50%?"],
    ["chat", "p/m@9", "p/m", "one"],
  ];
  const { outputs } = await run(commands, member);
  assert.deepEqual(
    outputs.map((output) => /status \d$/.exec(output)?.[0]),
    ["status 0", "status 0", "status 0", "status 0", "status 0"],
  );
  const asked = askedOf(server).map(
    ({ model, said }) => `${model}: ${said.map((each) => (typeof each === "string" ? each : "")).join()}`,
  );
  assert.deepEqual(
    new Set(asked.slice(0, 3)),
    new Set(["p/m:step1: which?", "p/m: which?", "small: which?"]),
  );
  assert.deepEqual(asked.slice(3, 6), [
    "small: Is small a model?",
    "null: small talk small",
    "null: .. and/or/either 50%?",
  ]);
  assert.deepEqual(new Set(asked.slice(6)), new Set(["p/m:step9: one", "p/m: one"]));
});

/** Returns the model, seed and messages of each chat request that the server received. */
function askedOf({ chat }: Server) {
  return chat.seen.map(({ request: { identity, sampling, prompt } }) => ({
    model: identity.model,
    seed: sampling.seed,
    said: prompt.kind === "conversation" ? prompt.messages.map(({ content }) => content) : [],
  }));
}

test("asks several versions the same questions with one seed, and keeps a history per version", async (t) => {
  const { server, member } = await listening(t);
  const { outputs } = await run(
    [
      ["chat", "p/m@1", "p/m:step2", "which", "is", "it?", "--temperature", "0.5"],
      ["chat", "--model", "small", "--model", "p/m@2", "it", "--json", "--seed", "7"],
    ],
    member,
  );
  const conversation = await conversing(["chat", "p/m@1", "p/m@2", "--json"], {
    environment: member,
    input: "one\ntwo\n",
  });
  assert.equal(outputs[0], "== p/m:step1\nHello\n\n== p/m:step2\nHello\nstatus 0");
  const document = JSON.parse(outputs[1].replace("status 0", "")) as Readonly<Record<string, unknown>> & {
    readonly answers: readonly { readonly model: string; readonly error: string | null }[];
  };
  assert.deepEqual([document["question"], document["seed"]], ["it", 7]);
  assert.deepEqual(
    document.answers.map(({ model, error }) => [model, error]),
    [
      ["small", null],
      ["p/m:step2", null],
    ],
  );
  assert.equal(conversation.status, 0);
  assert.deepEqual(
    conversation.output
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly question: string }).question),
    ["one", "two"],
  );
  const asked = askedOf(server);
  assert.equal(asked.length, 8);
  // The two requests for a question are concurrent, so their order varies.
  const pairs = [0, 2, 4, 6].map((index) => asked.slice(index, index + 2));
  const bothSteps = new Set(["p/m:step1", "p/m:step2"]);
  assert.deepEqual(
    pairs.map((pair) => new Set(pair.map(({ model }) => model))),
    [bothSteps, new Set(["small", "p/m:step2"]), bothSteps, bothSteps],
  );
  for (const [first, second] of pairs) {
    assert.equal(typeof first.seed, "number");
    assert.equal(first.seed, second.seed);
  }
  for (const { said } of pairs[3]) assert.deepEqual(said, ["one", "Hello", "two"]);
});
