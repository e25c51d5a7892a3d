// Kills real processes: the engine, the training process and the server.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Sqlite from "libsql";
import { searchedOf } from "../src/base/domain/testing/search.ts";
import {
  call,
  childrenOf,
  eventually,
  newDataFolder,
  removeDataFolder,
  serverOfFile,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { finish, firstStep, model, registerModel, stepsOf, submitJob } from "./served-jobs.ts";

/** Training batches so small that even short jobs take several steps. */
const flags = [...model, "--training-batch-tokens", "750"];

/** Server for tests in which the server itself survives and only restarts its child processes. */
const serverOfTests = serverOfFile({ flags });

function childrenThatRun(server: RunningServer, part: string): readonly number[] {
  return childrenOf(server.process.pid ?? -1)
    .filter((child) => child.command.includes(part))
    .map((child) => child.id);
}

/**
 * A request for a long answer. The model almost never samples the end-of-text token, so the answer reaches its maximum
 * length. The seed makes it the same each time.
 */
const longChat = {
  model: "tiny",
  messages: [{ role: "user", content: "go on" }],
  max_tokens: 180,
  temperature: 1,
  seed: 1,
};

test("a killed engine fails its requests with 503 and an error event, turns health red, and is restarted", async () => {
  const server = serverOfTests();
  const stream = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...longChat, n: 64, stream: true }),
  });
  const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  const whole = call(server, "POST", "/v1/chat/completions", { body: { ...longChat, n: 64, seed: 2 } });
  await eventually("both run", async () => ((await runningCount(server)) === 2 ? true : null));
  for (const id of childrenThatRun(server, "embedded-main")) process.kill(id, "SIGKILL");
  const red = await eventually("health is red", async () => {
    const health = await call(server, "GET", "/health");
    return health.status === 503 ? health : null;
  });
  assert.match(JSON.stringify(red.body), /restarted/);
  const answered = await whole;
  assert.equal(answered.status, 503, JSON.stringify(answered.body));
  assert.ok(Number(answered.headers.get("retry-after")) >= 1);
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read())
    rest += Buffer.from(part.value).toString();
  const events = rest.split("\n\n").filter((event) => event.startsWith("data: "));
  assert.equal(events.at(-1), "data: [DONE]");
  const failure = JSON.parse((events.at(-2) ?? "").slice("data: ".length)) as {
    error?: { message: string };
    detail?: unknown;
  };
  assert.ok(failure.error !== undefined && Array.isArray(failure.detail));
  await eventually("health is green again", async () =>
    (await call(server, "GET", "/health")).status === 200 ? true : null,
  );
  const again = await call(server, "POST", "/v1/chat/completions", {
    body: { ...longChat, max_tokens: 4 },
  });
  assert.equal(again.status, 200);
});

test("a client that disconnects frees its slots", async () => {
  const server = serverOfTests();
  const controller = new AbortController();
  const gone = fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...longChat, n: 128 }),
    signal: controller.signal,
  });
  await eventually("it runs", async () => ((await runningCount(server)) > 0 ? true : null));
  controller.abort();
  await assert.rejects(gone);
  await eventually("nothing runs", async () => ((await runningCount(server)) === 0 ? true : null), 5_000);
});

async function runningCount(server: RunningServer): Promise<number> {
  const { body } = await call(server, "GET", "/metrics");
  const match = /^hone_engine_requests_running(?:\{[^}]*base_model="tiny"[^}]*\})? (\d+)/m.exec(String(body));
  assert.notEqual(match, null, "the gauge of running requests is exposed");
  return Number(match?.[1]);
}

for (const how of searchedOf(["killed", "told to stop"] as const, 1)) {
  test(`a server that was ${how} finishes its job after a restart, with exactly one new version`, async () => {
    const dataFolder = newDataFolder();
    let server = await startServer({ dataFolder, flags });
    try {
      const modelId = await registerModel(server, "m");
      const jobId = await submitJob(server, modelId, 8);
      await firstStep(server, jobId);
      if (how === "killed") await server.kill();
      else assert.equal(await server.terminate(), 0);
      server = await startServer({ dataFolder, flags });
      await finish(server, jobId);
      assert.deepEqual(await stepsOf(server, modelId), [0, 1]);
      const { body: events } = await call(
        server,
        "GET",
        `/v1/preview/training-jobs/${jobId}/events?limit=100`,
      );
      const types = events.data.map((event: { type: string }) => event.type);
      assert.equal(types.filter((type: string) => type === "training_started").length, 1);
      assert.equal(types.filter((type: string) => type === "training_ended").length, 1);
      assert.equal(
        types.filter((type: string) => type === "gradient_step").length,
        events.data[0].data.num_sequences,
      );
    } finally {
      await server.terminate();
      removeDataFolder(dataFolder);
    }
  });
}

test("a killed training process costs an attempt, but does not fail the job", async () => {
  const server = serverOfTests();
  const modelId = await registerModel(server, "killed");
  const jobId = await submitJob(server, modelId, 8);
  await firstStep(server, jobId);
  for (const id of childrenThatRun(server, "child-main")) process.kill(id, "SIGKILL");
  await finish(server, jobId);
  const { body: job } = await call(server, "GET", `/v1/preview/training-jobs/${jobId}`);
  assert.equal(job.state, "succeeded");
  assert.deepEqual(await stepsOf(server, modelId), [0, 1]);
});

test("a new version is served without dropping requests, and old versions stay available", async () => {
  const server = serverOfTests();
  const modelId = await registerModel(server, "m");
  const chat = (name: string) =>
    call(server, "POST", "/v1/chat/completions", { body: { ...longChat, model: name, max_tokens: 60 } });
  const before = await chat("p/m");
  const trained = new AbortController();
  const traffic = (async () => {
    const statuses: number[] = [];
    while (!trained.signal.aborted) statuses.push((await chat("p/m")).status);
    return statuses;
  })();
  await finish(server, await submitJob(server, modelId, 6));
  trained.abort();
  const statuses = await traffic;
  assert.ok(statuses.length > 0 && statuses.every((status) => status === 200), JSON.stringify(statuses));
  const pinned = await chat("p/m:step0");
  assert.deepEqual(
    pinned.body.choices[0].token_ids,
    before.body.choices[0].token_ids,
    "step 0 says what it said before",
  );
  const newest = await chat("p/m");
  const explicit = await chat("p/m:step1");
  assert.deepEqual(newest.body.choices[0].token_ids, explicit.body.choices[0].token_ids);
  assert.notEqual(newest.body.system_fingerprint, pinned.body.system_fingerprint);
});

test("while another process locks the database, health and chats answer, and writes wait", async () => {
  const server = serverOfTests();
  const other = new Sqlite(join(server.dataFolder, "hone.db"));
  const note = { project_id: "local/p", weave_ref: "weave:///local/p/call/1", feedback_type: "note" };
  const write = (text: string) =>
    call(server, "POST", "/feedback/create", {
      body: { ...note, payload: { note: text } },
      scheme: "Basic",
    });
  other.exec("BEGIN IMMEDIATE");
  let isWritten = false;
  const writing = write("one").finally(() => (isWritten = true));
  for (let round = 0; round < 5; round++) {
    assert.equal((await call(server, "GET", "/health")).status, 200);
    const chat = await call(server, "POST", "/v1/chat/completions", {
      body: { ...longChat, max_tokens: 2 },
    });
    assert.equal(chat.status, 200);
  }
  assert.equal(isWritten, false);
  other.exec("ROLLBACK");
  other.close();
  assert.equal((await writing).status, 200);
  for (const text of ["two", "three"]) assert.equal((await write(text)).status, 200);
});
