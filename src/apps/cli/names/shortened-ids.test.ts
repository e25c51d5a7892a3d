// Tests, for each command that takes the id of a thing on the server, that the command accepts the beginning of the id.
import assert from "node:assert/strict";
import { test } from "node:test";
import { commandsOf } from "../examples.ts";
import { createProgram } from "../program.ts";
import { listening, run, submit } from "../testing/commands-under-test.ts";

/** Beginning of no id. If a command searches for it in a list, the error says so. */
const none = "ffff0000";

/** Arguments of each command after its name; `none` is in place of an id. */
const calls: Readonly<Record<string, readonly string[]>> = {
  "models create": ["p/new", "--from", none],
  "models delete": [none],
  "models versions": [none],
  "models accept-base": [none],
  "models pin": [none],
  "models unpin": [none],
  "models export": [none, "--out", "no-such-folder"],
  "models trajectories": [none],
  "models move": [none, "--to", "http://127.0.0.1:1"],
  "jobs list": ["--model", none],
  "jobs show": [none],
  "jobs sft": [none, "package.json"],
  "jobs preference": [none, "package.json"],
  "jobs watch": [none],
  "jobs cancel": [none],
  "jobs retry": [none],
  "jobs replay": [none],
  "rollout run": ["--model", none, "--", "true"],
  "rollout list": [none],
  "rules add": ["p/new", "--reactions", "👍=1", "--train", none],
  "rules show": [none],
  "rules pause": [none],
  "rules resume": [none],
  "rules delete": [none],
  "rules preview": [none, "--preferences"],
  "rules train": [none, "--preferences"],
  "learning on": [none],
  "learning off": [none],
  "learning show": [none],
  "learning list": [none],
  "completions show": [none],
  "completions delete": [none],
  "queues add": [`p/${none}`, "call"],
  "queues stats": [`p/${none}`],
  "queues delete": [`p/${none}`],
  annotate: [`p/${none}`],
  "webhooks enable": [none],
  "webhooks deliveries": [none],
  "webhooks replay": [none],
  "webhooks delete": [none],
};

/** Names of arguments for things that are not on the server, or that have no id. */
const others = [
  "base_model",
  "words",
  "project",
  "folder",
  "project/name",
  "url",
  "place",
  "agent",
  "arguments",
  "command",
];

test("each command with an argument for a thing on the server is in the list", () => {
  const taking = commandsOf(createProgram()).filter(
    ([, command]) =>
      command.options.some(({ long }) => long === "--url") &&
      command.registeredArguments.some((argument) => !others.includes(argument.name())),
  );
  const missing = taking.map(([words]) => words).filter((words) => !(words in calls));
  // `feedback add` takes any reference, also to things that the server does not know.
  assert.deepEqual(missing, ["feedback add"]);
});

test("each command accepts the beginning of an id", async (t) => {
  const { member } = await listening(t);
  for (const [words, rest] of Object.entries(calls)) {
    const { outputs, errors } = await run([[...words.split(" "), ...rest]], member);
    assert.match(
      errors,
      /^hone: No .+ has (?:an id that begins with "ffff0000"|the name "ffff0000", or an id that begins with it)\. `hone .+` lists them\.\n$/,
      words,
    );
    assert.deepEqual(outputs, ["status 1"], words);
  }
});

test("a job is found by its model, its version or the beginning of its id; a model by that of its id", async (t) => {
  const { server, modelId, member } = await listening(t);
  const jobId = await submit(server, modelId);
  const forms = [
    "p/m",
    "m",
    "acme/p/m",
    modelId.slice(0, 13),
    jobId,
    jobId.slice(0, -1),
    jobId.slice(0, -1).toUpperCase(),
  ];
  const { outputs } = await run(
    forms.map((form) => ["jobs", "show", form, "--select", "id"]),
    member,
  );
  const byModel = ["p/m", "m", "acme/p/m"].map(() => `${jobId}\nstatus 0`);
  assert.deepEqual(outputs.slice(0, 3), byModel);
  assert.deepEqual(
    outputs.slice(4),
    [jobId, jobId, jobId].map((id) => `${id}\nstatus 0`),
  );
  assert.equal(outputs[3], "status 1", "the beginning of a model's id is no job");
  const models = await run([["models", "versions", modelId.slice(0, 13), "--select", "step"]], member);
  assert.deepEqual(models.outputs, ["0\nstatus 0"]);
});
