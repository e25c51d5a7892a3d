import assert from "node:assert/strict";
import { test } from "node:test";
import type { LightMyRequestResponse } from "fastify";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ErrorBody } from "../errors.ts";
import { bearer, fakeServer } from "../testing/fake-server.ts";

type Server = Awaited<ReturnType<typeof fakeServer>>;
type Body = Record<string, unknown>;

const complete = (server: Server, payload: object): Promise<LightMyRequestResponse> =>
  server.ask({ method: "POST", url: "/v1/completions", headers: { authorization: bearer() }, payload });

const chunksOf = ({ body }: LightMyRequestResponse): readonly Body[] =>
  body
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)) as Body);

/** Sends a body that must be refused. Checks the status and the faults. */
async function refuses(payload: object, status: number, faults: readonly (readonly [string, RegExp])[]) {
  const server = await fakeServer({ settings: { completionPrompts: 4 } });
  const answer = await complete(server, payload);
  await server.close();
  assert.equal(answer.statusCode, status, answer.body);
  const { detail } = answer.json<ErrorBody>();
  assert.deepEqual(
    detail.map(({ loc }) => loc.join(".")),
    faults.map(([place]) => place),
    answer.body,
  );
  for (const [index, [, text]] of faults.entries()) assert.match(detail[index]?.msg ?? "", text);
}

test("answers with every field of OpenAI's and vLLM's APIs", async () => {
  const server = await fakeServer();
  const answer = await complete(server, { prompt: "Say hello", request_id: "r1", model: "tiny" });
  assert.equal(answer.statusCode, 200, answer.body);
  assert.deepEqual(answer.json(), {
    id: "cmpl-r1",
    request_id: "r1",
    object: "text_completion",
    created: 1_700_000_000,
    model: "tiny",
    service_tier: "default",
    system_fingerprint: "tiny@base+test",
    choices: [
      {
        index: 0,
        text: "Hello",
        logprobs: null,
        finish_reason: "stop",
        stop_reason: null,
        matched_stop: null,
        token_ids: null,
        prompt_token_ids: null,
        prompt_logprobs: null,
      },
    ],
    usage: {
      prompt_tokens: 3,
      total_tokens: 5,
      completion_tokens: 2,
      prompt_tokens_details: { cached_tokens: 2 },
    },
    kv_transfer_params: null,
  });
  await server.close();
});

test("sends notices about the request in a header of the complete answer or the stream", async () => {
  const server = await fakeServer();
  server.chat.script.notice = "format: no such format is known";
  for (const [prompt, stream] of [
    ["a", false],
    [["a", "b"], true],
  ] as const) {
    const { headers } = await complete(server, { prompt, stream });
    assert.equal(headers["x-hone-notice"], "format: no such format is known");
  }
  await server.close();
});

test("accepts one or several texts or lists of token ids as prompts, and makes a chat request of each", async () => {
  const text = (content: string, addSpecialTokens = true): object => ({
    kind: "text",
    text: content,
    addSpecialTokens,
    truncation: null,
    echo: false,
  });
  const tokens = (tokenIds: readonly number[]): object => ({
    kind: "tokens",
    tokenIds,
    truncation: null,
    echo: false,
  });
  for (const [body, prompts] of [
    [{ prompt: "a" }, [text("a")]],
    [{ prompt: "a", add_special_tokens: false }, [text("a", false)]],
    [{ prompt: ["a", ""] }, [text("a"), text("")]],
    [{ prompt: [1, 2] }, [tokens([1, 2])]],
    [{ prompt: [[1, 2], [3]] }, [tokens([1, 2]), tokens([3])]],
  ] as const) {
    const server = await fakeServer();
    const answer = await complete(server, {
      ...body,
      request_id: "r",
      n: 2,
      temperature: 0.5,
      stop: "x",
      seed: 3,
    });
    assert.equal(answer.statusCode, 200, answer.body);
    const seen = server.chat.seen.map(({ request }) => request);
    assert.deepEqual(
      seen.map(({ prompt }) => prompt),
      prompts,
    );
    for (const [index, { identity, sampling, stopping, calls, output }] of seen.entries()) {
      assert.equal(identity.requestId, index === 0 ? "r" : `r-${index}`);
      assert.deepEqual([sampling.temperature, sampling.seed, stopping.stop], [0.5, 3, ["x"]]);
      assert.deepEqual([stopping.maxTokens, calls.choice, output.logprobs], [16, { kind: "none" }, null]);
    }
    const { choices, usage } = answer.json<{ choices: { index: number }[]; usage: Body }>();
    assert.deepEqual(
      choices.map(({ index }) => index),
      [...Array(2 * prompts.length).keys()],
    );
    assert.deepEqual(
      [usage["prompt_tokens"], usage["completion_tokens"]],
      [3 * prompts.length, 4 * prompts.length],
    );
    await server.close();
  }
});

test("writes log-probabilities as four lists, with offsets in characters of the text", async () => {
  const server = await fakeServer();
  server.chat.script.pieces = [{ text: "é𝄞" }, { text: "lo" }];
  const answer = await complete(server, { prompt: "x", logprobs: 2 });
  assert.deepEqual(answer.json<{ choices: Body[] }>().choices[0]?.["logprobs"], {
    tokens: ["é𝄞", "lo"],
    token_logprobs: [-0.5, -0.5],
    top_logprobs: [
      { "é𝄞": -0.5, other1: -9999 },
      { lo: -0.5, other1: -9999 },
    ],
    text_offset: [0, 2],
  });
  const ids = await complete(server, { prompt: "x", logprobs: 0, return_tokens_as_token_ids: true });
  assert.deepEqual(ids.json<{ choices: Body[] }>().choices[0]?.["logprobs"], {
    tokens: ["token_id:10", "token_id:11"],
    token_logprobs: [-0.5, -0.5],
    top_logprobs: [{ "token_id:10": -0.5 }, { "token_id:11": -0.5 }],
    text_offset: [0, 2],
  });
  await server.close();
});

test("streams the choices of all prompts as they arrive, then the total usage", async () => {
  const server = await fakeServer();
  const body = {
    prompt: ["a", "b"],
    n: 2,
    stream: true,
    return_token_ids: true,
    logprobs: 0,
    request_id: "r",
  };
  const answer = await complete(server, { ...body, stream_options: { include_usage: true } });
  assert.match(String(answer.headers["content-type"]), /event-stream/);
  assert.match(answer.body, /data: \[DONE\]\n\n$/);
  const chunks = chunksOf(answer);
  const texts = new Map<number, string>();
  const offsets = new Map<number, number[]>();
  for (const { id, object, choices } of chunks.slice(0, -1)) {
    assert.deepEqual([id, object], ["cmpl-r", "text_completion"]);
    const [choice] = choices as [{ index: number; text: string } & Body];
    const isFirst = !texts.has(choice.index);
    texts.set(choice.index, (texts.get(choice.index) ?? "") + choice.text);
    const { text_offset: at } = (choice["logprobs"] ?? { text_offset: [] }) as { text_offset: number[] };
    offsets.set(choice.index, [...(offsets.get(choice.index) ?? []), ...at]);
    assert.deepEqual(choice["prompt_token_ids"], isFirst ? [1, 2, 3] : undefined);
    assert.equal(choice["finish_reason"], choice.text === "" ? "stop" : null);
  }
  for (const index of [0, 1, 2, 3]) {
    assert.equal(texts.get(index), "Hello");
    assert.deepEqual(offsets.get(index), [0, 3]);
  }
  const { choices, usage } = chunks.at(-1) as { choices: unknown[]; usage: Body };
  assert.deepEqual([choices, usage["prompt_tokens"], usage["completion_tokens"]], [[], 6, 8]);
  await server.close();
});

test("reports in each chunk only the usage of the chunk's choice", async () => {
  const server = await fakeServer();
  const options = { include_usage: true, continuous_usage_stats: true };
  const answer = await complete(server, { prompt: ["a", "b"], stream: true, stream_options: options });
  const counts = chunksOf(answer).map(({ usage }) => (usage as Body)["completion_tokens"]);
  assert.deepEqual(counts, [1, 1, 2, 2, 2, 2, 4]);
  await server.close();
});

test("answers a request for no tokens without generated text", async () => {
  const server = await fakeServer();
  const answer = await complete(server, { prompt: "x", max_tokens: 0, logprobs: 1, return_token_ids: true });
  const { choices, usage } = answer.json<{ choices: Body[]; usage: Body }>();
  const { text, finish_reason: reason, token_ids: ids, logprobs } = choices[0] ?? {};
  assert.deepEqual([text, reason, ids], ["", "length", []]);
  assert.deepEqual(logprobs, { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] });
  assert.deepEqual([usage["completion_tokens"], server.chat.seen[0]?.request.stopping.maxTokens], [0, 1]);
  await server.close();
});

test("refuses invalid prompts and contradictory fields, with their paths", async () => {
  const prompts = "body.prompt";
  await refuses({}, 422, [[prompts, /required/]]);
  await refuses({ prompt: null }, 422, [
    [`${prompts}.str`, /string/],
    [`${prompts}.list`, /list/],
  ]);
  await refuses({ prompt: [] }, 422, [[prompts, /at least 1 item/]]);
  await refuses({ prompt: ["a", [1]] }, 422, [[prompts, /not several of these/]]);
  await refuses({ prompt: [[1], []] }, 422, [[`${prompts}.1`, /empty/]]);
  await refuses({ prompt: [[1], [-1, 1.5]] }, 422, [
    [`${prompts}.1.0`, /greater than or equal to 0/],
    [`${prompts}.1.1`, /integer/],
  ]);
  await refuses({ prompt: ["a", "b", "c", "d", "e"] }, 422, [[prompts, /5 prompts; at most 4/]]);
  await refuses({ prompt: "a", suffix: "b" }, 422, [["body.suffix", /not supported/]]);
  await refuses({ prompt: "a", n: 2, best_of: 3 }, 422, [["body.best_of", /best_of is 3 and n is 2/]]);
  await refuses({ prompt: "a", min_tokens: 17 }, 422, [["body", /max_tokens=16, got 17/]]);
  await refuses({ prompt: "a", logprobs: 21, max_tokens: -2 }, 422, [
    ["body.logprobs", /less than or equal to 20/],
    ["body.max_tokens", /greater than or equal to -1/],
  ]);
  await refuses({ prompt: "a", stream_options: { include_usage: true } }, 422, [["body", /stream=True/]]);
});

test("accepts fields that ask for nothing, and reports fields of chat requests as ignored", async () => {
  const server = await fakeServer();
  const body = { prompt: "a", suffix: "", n: 2, best_of: 2, echo: null, top_logprobs: 3, tools: [] };
  const answer = await complete(server, body);
  assert.deepEqual([answer.statusCode, answer.headers["x-hone-ignored"]], [200, "top_logprobs, tools"]);
  await server.close();
});

test("locates a fault of one prompt at its path in the body", async () => {
  const server = await fakeServer();
  const fault = { location: ["prompt", "text"], message: "`prompt.text` is too long", type: "value_error" };
  server.chat.script.refusal = new ServiceError({ code: "unsupported", faults: [fault] });
  for (const [prompt, place] of [
    ["a", ["body", "prompt"]],
    [
      ["a", "b"],
      ["body", "prompt", "0"],
    ],
  ] as const) {
    for (const stream of [true, false]) {
      const answer = await complete(server, { prompt, stream });
      assert.equal(answer.statusCode, 400);
      assert.deepEqual(answer.json<ErrorBody>().detail[0]?.loc, place);
    }
  }
  await server.close();
});

test("sends an error during a stream as the last event, which ends all prompts", async () => {
  const server = await fakeServer();
  server.chat.script.failure = new ServiceError({ code: "unavailable", message: "gone" });
  const answer = await complete(server, { prompt: ["a", "b"], stream: true });
  assert.equal(answer.statusCode, 200);
  const last = chunksOf(answer).at(-1) as { error: Body };
  assert.equal(last.error["code"], "unavailable");
  assert.match(answer.body, /data: \[DONE\]\n\n$/);
  await server.close();
});

test("begins a stream during a long silence, and sends a later error as an event", async () => {
  const clock = new FakeClock();
  const server = await fakeServer({ clock });
  const { script } = server.chat;
  let open = (): void => undefined;
  script.opens = new Promise((resolve) => (open = resolve));
  script.refusal = new ServiceError({ code: "unsupported", message: "The prompt has 9 tokens." });
  const answer = complete(server, { prompt: "Say hello", stream: true });
  await clock.advance(25_000);
  open();
  const { statusCode, body } = await answer;
  await server.close();
  assert.equal(statusCode, 200);
  const [comment, event, ...rest] = body.split("\n\n");
  assert.equal(comment, ": keep-alive");
  assert.match(event ?? "", /^data: .*"The prompt has 9 tokens\.".*"code":"unsupported"/);
  assert.deepEqual(rest, ["data: [DONE]", ""]);
});
