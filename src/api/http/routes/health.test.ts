import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeChat } from "../testing/fake-chat.ts";
import { bearer, fakeServer, helloBody } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;

const get = (server: Server, url: string) => server.ask({ method: "GET", url });

test("reports a ready server without credentials", async () => {
  const server = await fakeServer();
  for (const url of ["/health", "/v1/health", "/ping"]) {
    const answer = await get(server, url);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(answer.json(), {
      status: "ok",
      state: "ready",
      reason: "",
      models: { tiny: "loaded" },
    });
  }
  assert.deepEqual((await get(server, "/v1/system-check")).json(), {
    status: "ok",
    api: "ok",
    database: "ok",
    cpu_queue: "ok",
    gpu_queue: "ok",
    disk: "ok",
    note: "",
  });
  assert.equal((await server.ask({ method: "HEAD", url: "/health" })).statusCode, 200);
  await server.close();
});

test("reports the state, the reason and a retry time if the server is not ready", async () => {
  const server = await fakeServer();
  server.state.engine = { state: "restarting", reason: "its process ended", models: {} };
  const answer = await get(server, "/health");
  assert.equal(answer.statusCode, 503);
  assert.match(String(answer.headers["retry-after"]), /^\d+$/);
  const { status, state, reason, error } = answer.json<Record<string, unknown>>();
  assert.deepEqual([status, state, reason], ["unavailable", "restarting", "its process ended"]);
  const { code, message } = error as { readonly code: string; readonly message: string };
  assert.deepEqual([code, message], ["unavailable", "The server is restarting: its process ended"]);
  assert.equal(
    (await get(server, "/v1/system-check")).json<Record<string, unknown>>()["gpu_queue"],
    "restarting: its process ended",
  );
  await server.close();
});

test("reports that it waits for an unreachable database, and why", async () => {
  const server = await fakeServer();
  server.state.databaseFault = "connect ECONNREFUSED";
  const answer = await get(server, "/health");
  assert.equal(answer.statusCode, 503);
  const { state, reason } = answer.json<Record<string, unknown>>();
  assert.deepEqual([state, reason], ["waiting", "The database cannot be reached: connect ECONNREFUSED"]);
  server.state.databaseFault = null;
  assert.equal((await get(server, "/health")).statusCode, 200);
  await server.close();
});

test("reports notices that are not faults besides the state of each component", async () => {
  const server = await fakeServer();
  server.state.databaseNote = "A newer program is beside this one.";
  const answer = await get(server, "/v1/system-check");
  assert.equal(answer.statusCode, 200);
  const { status, note } = answer.json<Record<string, unknown>>();
  assert.deepEqual([status, note], ["ok", "A newer program is beside this one."]);
  await server.close();
});

test("refuses requests to models before it checks keys if it only trains, but reports health and metrics", async () => {
  const server = await fakeServer({ wrap: (dependencies) => ({ ...dependencies, isServing: false }) });
  for (const path of ["/health", "/metrics", "/version"])
    assert.equal((await get(server, path)).statusCode, 200);
  for (const path of ["/v1/models", "/v1/preview/models"]) {
    const answer = await get(server, path);
    assert.equal(answer.statusCode, 503);
    assert.match(
      answer.json<{ error: { message: string } }>().error.message,
      /only trains .* ask one that serves/,
    );
  }
  await server.close();
});

test("reports a draining server, and an unreachable database", async () => {
  const server = await fakeServer();
  server.state.isDraining = true;
  server.state.isDatabaseDown = true;
  assert.equal((await get(server, "/health")).json<Record<string, unknown>>()["state"], "draining");
  const check = await get(server, "/v1/system-check");
  assert.equal(check.statusCode, 503);
  const { api, database } = check.json<Record<string, unknown>>();
  assert.deepEqual([api, database], ["draining", "failed"]);
  await server.close();
});

test("reports a failed component with its reason until the component recovers", async () => {
  const server = await fakeServer();
  server.state.diskFault = new ServiceError({ code: "unavailable", message: "The disk is full." });
  const red = await get(server, "/v1/system-check");
  const { disk, error } = red.json<Record<string, unknown>>();
  const { message } = error as { readonly message: string };
  assert.deepEqual([red.statusCode, disk, message], [503, "The disk is full.", "disk: The disk is full."]);
  server.state.diskFault = new Error("of /secret/path");
  assert.equal((await get(server, "/v1/system-check")).json<Record<string, unknown>>()["disk"], "failed");
  server.state.diskFault = null;
  server.state.jobFault = new ServiceError({ code: "unavailable", message: "2 training jobs wait." });
  const stuck = await get(server, "/v1/system-check");
  const { cpu_queue: queue } = stuck.json<Record<string, unknown>>();
  assert.deepEqual([stuck.statusCode, queue], [503, "2 training jobs wait."]);
  server.state.jobFault = null;
  assert.equal((await get(server, "/v1/system-check")).statusCode, 200);
  await server.close();
});

test("times a request from its headers to the end of its answer", async () => {
  const clock = new FakeClock();
  await clock.advance(1000);
  const chat = new FakeChat();
  const server = await fakeServer({
    clock,
    chat: {
      begin: async (...request) => {
        await clock.advance(2000);
        return chat.begin(...request);
      },
    },
  });
  const url = "/v1/chat/completions";
  await server.ask({ method: "POST", url, headers: { authorization: bearer() }, payload: helloBody });
  const { body } = await get(server, "/metrics");
  assert.match(body, /hone_http_request_seconds_sum\{route="\/v1\/chat\/completions"\} 2\n/);
  await server.close();
});

test("reports the number of requests in progress as the load", async () => {
  const server = await fakeServer();
  const load = async (): Promise<unknown> => (await get(server, "/load")).json();
  assert.deepEqual(await load(), { server_load: 0 });
  server.chat.script.hangs = true;
  const seen = server.chat.nextSeen();
  const headers = { authorization: bearer() };
  const chat = server.ask({ method: "POST", url: "/v1/chat/completions", headers, payload: helloBody });
  void chat.then(() => undefined);
  await seen;
  assert.deepEqual(await load(), { server_load: 1 });
  await server.close();
  await chat;
});

test("counts answered requests in the metrics", async () => {
  const server = await fakeServer({ isOwn: true });
  await get(server, "/health");
  await get(server, "/nope");
  const { body, headers } = await get(server, "/metrics");
  assert.match(String(headers["content-type"]), /^text\/plain/);
  assert.match(body, /hone_http_requests_total\{method="GET",route="\/health",status="200"\} 1/);
  assert.match(body, /hone_http_requests_total\{method="GET",route="none",status="404"\} 1/);
  assert.match(body, /hone_http_requests_in_flight 0/);
  await server.close();
});
