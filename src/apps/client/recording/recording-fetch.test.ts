import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "./model-request.ts";
import { recordingFetch, type RecordedCall } from "./recording-fetch.ts";

const model = "e/p/m:step0";
const url = "http://host/v1/chat/completions";
const messages = [{ role: "user", content: "a" }];
const answer = {
  prompt_token_ids: [1, 2],
  choices: [
    {
      index: 0,
      finish_reason: "stop",
      message: { role: "assistant", content: "b" },
      token_ids: [3],
      prompt_token_ids: [1, 2],
    },
  ],
};

interface Sent {
  readonly url: string;
  readonly body: JsonObject | null;
  readonly request: RequestInit;
}

function recorder(respond: () => Response = () => Response.json(answer), defaults: JsonObject = {}) {
  const sent: Sent[] = [];
  const calls: RecordedCall[] = [];
  const end = new AbortController();
  let seed = 0;
  const fetch = recordingFetch({
    send: async (to, request) => {
      sent.push({
        url: to,
        body: typeof request.body === "string" ? JSON.parse(request.body) : null,
        request,
      });
      return respond();
    },
    model,
    defaults,
    seed: () => ++seed,
    signal: end.signal,
    withSampledTokens: (request) => request,
    onCall: (request) => (choices) => void calls.push({ request, choices }),
  });
  const post = (body: JsonObject, to = url) => fetch(to, { method: "POST", body: JSON.stringify(body) });
  return { fetch, post, sent, calls, end };
}

test("adds a token request, a seed and defaults to a call of the model", async () => {
  const { post, sent, calls } = recorder(undefined, {
    temperature: 1.2,
    max_completion_tokens: 9,
    top_p: 0.5,
  });
  const seen = await (await post({ model, messages, top_p: null, max_tokens: 5, logprobs: false })).json();
  assert.deepEqual(sent[0]?.body, {
    model,
    messages,
    temperature: 1.2,
    top_p: 0.5,
    max_tokens: 5,
    seed: 1,
    return_token_ids: true,
  });
  assert.deepEqual(calls[0]?.choices, answer.choices);
  const { prompt_token_ids: _prompt, ...choice }: JsonObject = answer.choices[0] ?? {};
  assert.deepEqual(seen, { prompt_token_ids: null, choices: [{ ...choice, token_ids: null }] });
  await post({ model, messages, seed: 7, temperature: 0 });
  assert.deepEqual([sent[1]?.body?.["seed"], sent[1]?.body?.["temperature"]], [7, 0]);
});

test("passes on a Request object with its signal and headers", async () => {
  const { fetch, sent, calls } = recorder();
  const end = new AbortController();
  const request = new Request(url, {
    method: "POST",
    headers: { "x-a": "1", "content-length": "3" },
    body: JSON.stringify({ model, messages }),
    signal: end.signal,
  });
  await fetch(request);
  assert.equal(calls.length, 1);
  const { headers, signal } = sent[0]?.request ?? {};
  assert.equal(new Headers(headers).get("x-a"), "1");
  assert.equal(new Headers(headers).get("content-length"), null);
  end.abort();
  assert.equal(signal?.aborted, true);
});

test("passes on requests other than calls of the model unchanged", async () => {
  const { fetch, post, sent, calls } = recorder();
  await post({ model: "another", messages });
  await fetch("http://host/v1/models");
  await fetch(new Request("http://host/v1/files", { method: "POST", body: new Uint8Array([1, 2]) }));
  assert.deepEqual(sent[0]?.body, { model: "another", messages });
  assert.equal(sent[1]?.url, "http://host/v1/models");
  assert.equal((sent[2]?.request.body as ArrayBuffer | undefined)?.byteLength, 2);
  assert.deepEqual(calls, []);
});

test("refuses a call whose answer would lack tokens, naming the route", async () => {
  const { post, sent } = recorder();
  for (const route of ["responses", "completions", "messages"]) {
    const answered = await post({ model, input: "a" }, `http://host/v1/${route}`);
    const { error } = (await answered.json()) as { readonly error: { readonly message: string } };
    assert.equal(answered.status, 400);
    assert.match(error.message, new RegExp(`^/v1/${route} cannot be recorded.*chat completions`));
  }
  assert.deepEqual(sent, []);
});

test("passes on error answers and answers that are not JSON without recording them", async () => {
  for (const respond of [
    () => new Response("busy", { status: 429, statusText: "Busy" }),
    () => new Response("<html>"),
  ]) {
    const { post, calls } = recorder(respond);
    const expected = respond();
    const seen = await post({ model, messages });
    assert.deepEqual(
      [seen.status, seen.statusText, await seen.text()],
      [expected.status, expected.statusText, await expected.text()],
    );
    assert.deepEqual(calls, []);
  }
});

test("sends nothing after the trajectory has ended", async () => {
  const { post, end, sent } = recorder();
  end.abort(new Error("over"));
  await assert.rejects(post({ model, messages }), /over/);
  assert.deepEqual(sent, []);
});

/** Returns a stream of these chunks, and an object that says whether the stream was cancelled. */
function streamOf(pieces: readonly (string | Error)[]) {
  const state = { cancelled: false };
  const left = [...pieces];
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const next = left.shift();
        if (next === undefined) controller.close();
        else if (next instanceof Error) controller.error(next);
        else controller.enqueue(new TextEncoder().encode(next));
      },
      cancel: () => void (state.cancelled = true),
    },
    { highWaterMark: 0 },
  );
  return { response: new Response(body), state };
}

const chunk = (content: string, ids: readonly number[], finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: finish, token_ids: ids }] })}\n\n`;
const opening = `data: ${JSON.stringify({ prompt_token_ids: [1], choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] })}\n\n`;
const whole = [opening, chunk("é", [5]), chunk("", [6]), chunk("c", [7], "stop"), "data: [DONE]\n\n"];

test("passes on a stream in chunks of any size, and records it completely", async () => {
  const bytes = new TextEncoder().encode(whole.join(""));
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const pieces = [bytes.slice(0, cut), bytes.slice(cut)];
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const { post, calls } = recorder(() => new Response(body));
    const seen = await (await post({ model, messages, stream: true, return_token_ids: true })).text();
    assert.equal(seen, whole.join(""));
    assert.deepEqual(calls[0]?.choices[0]?.["token_ids"], [5, 6, 7]);
    assert.deepEqual(calls[0]?.choices[0]?.["prompt_token_ids"], [1]);
    assert.equal((calls[0]?.choices[0]?.["message"] as JsonObject | undefined)?.["content"], "éc");
  }
});

test("hides a token without text from a caller that requested neither tokens nor log probabilities", async () => {
  const logged = recorder(() => streamOf(whole).response);
  const shown = await (await logged.post({ model, messages, stream: true, return_token_ids: false })).text();
  assert.equal(shown.match(/^data: /gm)?.length, 5);
  const { post, calls } = recorder(() => streamOf(whole).response);
  const seen = await (await post({ model, messages, stream: true, logprobs: false })).text();
  assert.equal(seen.match(/^data: /gm)?.length, 4);
  assert.ok(!/token_ids":\[/.test(seen));
  assert.deepEqual(calls[0]?.choices[0]?.["token_ids"], [5, 6, 7]);
});

test("cancels an abandoned stream at the server and records what arrived, but does not record a broken stream", async () => {
  const { response, state } = streamOf(whole);
  const left = recorder(() => response);
  const reader = (await left.post({ model, messages, stream: true })).body?.getReader();
  await reader?.read();
  await reader?.read();
  await reader?.cancel();
  assert.equal(state.cancelled, true);
  assert.deepEqual(
    [left.calls[0]?.choices[0]?.["token_ids"], left.calls[0]?.choices[0]?.["finish_reason"]],
    [[5], null],
  );
  const error = `data: ${JSON.stringify({ error: { message: "gone" } })}\n\n`;
  const broken = recorder(() => streamOf([...whole.slice(0, 2), new Error("gone")]).response);
  await assert.rejects(async () => (await broken.post({ model, messages, stream: true })).text(), /gone/);
  const failed = recorder(() => streamOf([...whole.slice(0, 2), error]).response);
  await (await failed.post({ model, messages, stream: true })).text();
  assert.deepEqual([broken.calls, failed.calls], [[], []]);
});
