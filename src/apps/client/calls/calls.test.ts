import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection } from "../connection.ts";
import { HoneError } from "../hone-error.ts";
import { fakePlatform } from "../testing/fake-platform.ts";
import { scriptedFetch } from "../testing/fake-fetch.ts";
import { Calls } from "./calls.ts";

function callsTo(...answers: readonly (Response | (() => Response))[]) {
  const fetch = scriptedFetch(...answers);
  return { fetch, calls: new Calls(new Connection({ baseUrl: "http://host", fetch }, fakePlatform())) };
}

const chat = { body: { messages: [{ role: "user", content: "Hi" }] } };

test("encodes any value in a path, and omits query fields that are undefined", async () => {
  const { fetch, calls } = callsTo(() => new Response("{}"));
  await calls.call("GET /v1/models/{model}", { path: { model: "acme/p/m:step1?é" } });
  await calls.call("GET /v1/files", { query: { after: "a b", purpose: undefined } });
  assert.deepEqual(
    fetch.requests.map(({ url }) => url),
    ["http://host/v1/models/acme%2Fp%2Fm%3Astep1%3F%C3%A9", "http://host/v1/files?after=a+b"],
  );
});

test("requests the longest pages by default, and continues after the last item", async () => {
  const page = (id: string, more: boolean) => () =>
    new Response(
      JSON.stringify({ object: "list", data: [{ id }], first_id: id, last_id: id, has_more: more }),
    );
  const { fetch, calls } = callsTo(page("a", true), page("b", false));
  const files = await calls.pages("GET /v1/files", { query: { purpose: "fine-tune" } }).all();
  assert.deepEqual(
    files.map(({ id }) => id),
    ["a", "b"],
  );
  assert.deepEqual(
    fetch.requests.map(({ url }) => new URL(url).search),
    ["?limit=100&purpose=fine-tune", "?limit=100&purpose=fine-tune&after=a"],
  );
  const short = callsTo(page("a", false));
  await short.calls.pages("GET /v1/files", { query: { limit: 7 } }).all();
  assert.equal(new URL(short.fetch.requests[0]?.url ?? "").search, "?limit=7");
});

test("throws a stream's error event as a HoneError with the request's id", async () => {
  const error = { message: "The engine stopped.", type: "server_error", param: null, code: "unavailable" };
  const events = `data: {"id":"one"}\n\ndata: ${JSON.stringify({ detail: [], error })}\n\ndata: {"id":"two"}\n\n`;
  const { calls } = callsTo(new Response(events, { headers: { "x-request-id": "r1" } }));
  const seen: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { id } of calls.events("POST /v1/chat/completions", chat)) seen.push(id);
    },
    { name: "HoneError", status: 200, code: "unavailable", requestId: "r1", message: error.message },
  );
  assert.deepEqual(seen, ["one"]);
});

test("ends a stream at [DONE] and ignores what follows", async () => {
  const { calls } = callsTo(new Response('data: {"id":"one"}\n\ndata: [DONE]\n\ndata: {"id":"two"}\n\n'));
  const seen: string[] = [];
  for await (const { id } of calls.events("POST /v1/chat/completions", chat)) seen.push(id);
  assert.deepEqual(seen, ["one"]);
});

test("throws an error that contains the text of a successful answer that is not JSON", async () => {
  const isShown = (error: unknown): boolean => {
    assert.ok(error instanceof HoneError);
    assert.deepEqual([error.code, error.body], ["not_json", "<html>"]);
    assert.match(error.message, /^http:\/\/host answered (GET|POST) \S+ with text that is not JSON: <html>$/);
    return true;
  };
  await assert.rejects(callsTo(new Response("<html>")).calls.call("GET /version", {}), isShown);
  const stream = callsTo(new Response("data: <html>\n\n")).calls.events("POST /v1/chat/completions", chat);
  await assert.rejects(stream.next(), isShown);
});
