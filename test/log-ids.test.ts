// Tests that every log line about a request or a job contains its id. Reads the log of a server after all kinds of
// requests. Each line must contain an id that a client knows, or be one of the few lines about the server itself.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import { call, eventually, newDataFolder, removeDataFolder, startServer } from "./running-server.ts";
import { finish, firstStep, model, registerModel, submitJob } from "./served-jobs.ts";

interface LogLine {
  readonly msg: string;
  readonly requestId?: string;
  readonly requestIds?: readonly string[];
  readonly jobId?: string;
}

/** Messages about the server as a whole: its engine's state. */
const ofServer = ["engine state"];

function linesOf(output: string): readonly LogLine[] {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as LogLine);
}

test("each log line about a request or a job contains its id", async (t) => {
  const dataFolder = newDataFolder();
  const flags = [...model, "--log-level", "debug", "--training-batch-tokens", "750"];
  const server = await startServer({ dataFolder, flags });
  t.after(async () => {
    await server.kill();
    removeDataFolder(dataFolder);
  });
  await eventually("the server is up", async () =>
    (await call(server, "GET", "/health")).status === 200 ? true : null,
  );
  const before = linesOf(server.output()).length;
  const sent: string[] = [];
  const ask = async (status: number, method: string, path: string, body?: unknown): Promise<any> => {
    const id = `asked-${sent.length}`;
    sent.push(id);
    const headers = { "x-request-id": id };
    const answer = await call(server, method, path, body === undefined ? { headers } : { body, headers });
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    return answer.body;
  };
  const chat = { model: "tiny", messages: [{ role: "user", content: "go on" }], max_tokens: 4 };
  await ask(200, "POST", "/v1/chat/completions", chat);
  await ask(200, "POST", "/v1/chat/completions", { ...chat, stream: true });
  await ask(422, "POST", "/v1/chat/completions", { ...chat, messages: 7 });
  await ask(404, "POST", "/v1/chat/completions", { ...chat, model: "unknown" });
  await ask(404, "GET", "/no/such/route");
  await ask(404, "DELETE", "/v1/preview/models/00000000-0000-4000-8000-000000000000");
  await ask(200, "GET", "/v1/system-check");
  const modelId = await registerModel(server, "trained");
  await ask(200, "POST", "/v1/chat/completions", { ...chat, model: modelId });
  const left = request(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${server.apiKey}`,
      "content-type": "application/json",
      "x-request-id": "left",
    },
  }).on("error", () => undefined);
  left.end(JSON.stringify({ ...chat, max_tokens: 180, n: 16, stream: true }));
  await once(left, "response");
  left.destroy();
  const finished = await submitJob(server, modelId, 2);
  await finish(server, finished);
  const cancelled = await submitJob(server, modelId, 12);
  await firstStep(server, cancelled);
  await ask(200, "POST", `/v1/preview/training-jobs/${cancelled}/cancel`);
  const ids = [...sent, "left"];
  const answered = (): readonly (string | undefined)[] =>
    linesOf(server.output())
      .filter(({ msg }) => msg === "request answered")
      .map(({ requestId }) => requestId);
  await eventually("all are answered", async () =>
    ids.every((id) => answered().includes(id)) ? true : null,
  );
  const own = answered().filter((id) => id === "left" || sent.includes(id ?? ""));
  assert.equal(own.length, ids.length, "each is answered once");
  const over = (): readonly (string | undefined)[] =>
    linesOf(server.output())
      .filter(({ msg }) => msg === "attempt over")
      .map(({ jobId }) => jobId);
  await eventually("both attempts are over", async () => (over().length === 2 ? true : null));
  assert.deepEqual(over(), [finished, cancelled]);
  for (const line of linesOf(server.output()).slice(before)) {
    const isNamed = [line.requestId, line.jobId, line.requestIds?.[0]].some((id) => (id ?? "") !== "");
    assert.ok(isNamed || ofServer.includes(line.msg), JSON.stringify(line));
  }
});
