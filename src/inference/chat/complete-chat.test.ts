// Tests chats from the request to the last delta, over an engine that plays a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ConversationPrompt, TextPrompt, TokenPrompt } from "../../base/domain/chat.ts";
import { brokenModel } from "../../base/domain/broken-model.ts";
import type { GenerationEvent } from "../../base/domain/generation.ts";
import type { UsageCounter } from "../../base/domain/keys/usage.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import type { PromptWriter } from "./prompts/write-prompt.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { readCompletion } from "./testing/read-completion.ts";
import type { ResolvedModel } from "../models/registry/model-directory.ts";
import { searching } from "../../base/domain/testing/search.ts";
import {
  tokenizer,
  endOfText,
  type Script,
  ScriptedEngine,
  prompt,
  finished,
  tokens,
  idsOf,
  oneByOne,
  message,
  hello,
  anyJson,
  base,
  trained,
  caller,
  serve,
  check,
  refused,
} from "./testing/scripted-engine.ts";

test("counts an answer's usage once for its key, even if the client stops reading", async () => {
  const counted: unknown[] = [];
  const usage: UsageCounter = { count: (...one) => void counted.push(one) };
  const ids = [...idsOf("yes, 1"), endOfText];
  const whole = await check(oneByOne(ids, finished("stop", endOfText)), {}, { usage });
  const by = { keyId: "k", entity: "acme", model: "tiny" };
  assert.equal(whole.usage.completionTokens, ids.length);
  assert.deepEqual(counted, [[by, { requests: 1, ...whole.usage }]]);
  const service = serve(new ScriptedEngine(oneByOne(ids, finished("stop", endOfText))), { usage });
  const { signal } = new AbortController();
  const left = await service.begin(hello, caller, { signal });
  await left.leave();
  assert.deepEqual(counted.slice(1), [[by, { requests: 1, ...left.usage }]]);
});

test("emits a header, a delta per batch of tokens, the finish on the last delta, and the usage", async () => {
  const ids = [...idsOf("yes, 1"), endOfText];
  const { header, deltas, finishes, text, usage, engine } = await check(
    oneByOne(ids, finished("stop", endOfText)),
  );
  assert.equal(header.role, "assistant");
  assert.equal(header.model, "tiny");
  assert.equal(header.fingerprint, "f");
  assert.equal(text(), "yes, 1");
  assert.deepEqual(
    deltas.map((delta) => delta.tokenIds),
    ids.map((id) => [id]),
  );
  assert.deepEqual(
    deltas.map((delta) => delta.choiceTokens),
    ids.map((_, index) => index + 1),
  );
  assert.ok(deltas.slice(0, -1).every((delta) => delta.finish === null));
  assert.deepEqual(finishes, [{ choice: 0, reason: "stop", stopReason: null, matchedStop: null }]);
  assert.deepEqual(usage, {
    promptTokens: header.promptTokenIds.length,
    completionTokens: ids.length,
    cachedTokens: 3,
  });
  assert.deepEqual(deltas.at(-1)?.usage, usage);
  assert.deepEqual(engine.requests[0].prompt.tokenIds, header.promptTokenIds);
});

test("sends the header once the whole prompt is computed, with token texts in the prompt's log-probabilities", async () => {
  const [a] = idsOf("a");
  const broken = idsOf("東")[0];
  const own = { id: broken, logprob: -2, rank: 7 };
  const best = { id: a, logprob: -0.5, rank: 1 };
  const script: Script = [
    [{ kind: "prompt-logprobs", tokens: [null, { ...own, alternatives: [best] }] }],
    [{ kind: "prompt-logprobs", tokens: [{ ...best, alternatives: [best] }] }, prompt],
    [tokens([a]), finished("length")],
  ];
  const features = ["prompt-logprobs"] as const;
  const { header, engine } = await check(script, { output: { promptLogprobCount: 1 } }, { features });
  assert.equal(engine.requests[0].outputs.promptLogprobCount, 1);
  const named = { tokenId: a, text: "a", logprob: -0.5, rank: 1 };
  assert.deepEqual(header.promptLogprobs, [
    null,
    { tokenId: broken, text: tokenizer.tokenText(broken), logprob: -2, rank: 7, alternatives: [named] },
    { ...named, alternatives: [named] },
  ]);
  const silent = await check(oneByOne([a], finished("length")));
  assert.equal(silent.header.promptLogprobs, null);
});

test("puts notices about the constraint into the header", async () => {
  const noted: GenerationEvent = { kind: "constraint-noted", notices: ["a is so", "b is so"] };
  const script: Script = [[noted], [prompt, tokens(idsOf("a")), finished("length")]];
  const { header } = await check(script, { constraint: anyJson }, { features: ["constraint-json-object"] });
  assert.equal(header.notice, "a is so; b is so");
  const silent = await check(oneByOne(idsOf("a"), finished("length")));
  assert.equal(silent.header.notice, null);
});

test("reports the id of an additional end token as the stop reason and hides its text", async () => {
  const [further] = idsOf("b");
  const { text, ids, finishes, engine } = await check(
    oneByOne([...idsOf("a"), further], finished("stop", further)),
    {},
    {
      defaults: { endTokenIds: [endOfText, further] },
    },
  );
  assert.deepEqual(engine.requests[0].stopping.stopTokenIds, [endOfText, further]);
  assert.equal(text(), "a");
  assert.deepEqual(ids(), [...idsOf("a"), further]);
  assert.deepEqual(finishes, [{ choice: 0, reason: "stop", stopReason: further, matchedStop: null }]);
});

test("sends the finish in a separate delta if the engine reports it later", async () => {
  const { deltas, finishes } = await check([[prompt, tokens(idsOf("a"))], [finished("length")]]);
  assert.deepEqual(
    deltas.map((delta) => [delta.text, delta.finish?.reason ?? null]),
    [
      ["a", null],
      ["", "length"],
    ],
  );
  assert.equal(finishes.length, 1);
});

test("emits a character that spans tokens whole, and an incomplete one as U+FFFD, also in the log-probabilities", async () => {
  const ids = [...idsOf("東"), ...idsOf("京").slice(0, 1)];
  const { deltas, text } = await check(oneByOne(ids, finished("length")), {
    output: { logprobs: { topCount: 1 } },
  });
  assert.equal(text(), "東\ufffd");
  const logprobs = deltas.flatMap((delta) => delta.logprobs);
  assert.deepEqual(
    logprobs.map((entry) => entry.text),
    ["", "", "東", "\ufffd"].slice(-ids.length),
  );
  assert.equal(Buffer.from(logprobs.flatMap((entry) => entry.bytes)).toString(), text());
});

test("makes the joined bytes of the log-probabilities equal the text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 511 }), { minLength: 1 }), async (drawn) => {
      const ids = drawn.filter((id) => id !== endOfText).concat(endOfText);
      const { deltas, text } = await check([[prompt, tokens(ids), finished("stop", endOfText)]], {
        output: { logprobs: { topCount: 1 } },
      });
      assert.equal(
        Buffer.from(deltas.flatMap((delta) => delta.logprobs).flatMap((entry) => entry.bytes)).toString(),
        text(),
      );
      assert.equal(text(), tokenizer.decode(ids, { skipSpecialTokens: true }));
    }),
    searching(30),
  );
});

test("names each token, and its alternatives, in the log-probabilities", async () => {
  const { deltas, engine, header } = await check(
    oneByOne([...idsOf("a"), endOfText], finished("stop", endOfText)),
    { output: { logprobs: { topCount: 1 } } },
  );
  assert.equal(engine.requests[0].outputs.topLogprobCount, 1);
  assert.equal(header.logprobs, "text");
  const alternative = {
    tokenId: 37,
    text: tokenizer.tokenText(37),
    bytes: [...tokenizer.tokenBytes(37)],
    logprob: -0.25,
  };
  assert.deepEqual(
    deltas.flatMap((delta) => delta.logprobs),
    [
      { tokenId: idsOf("a")[0], text: "a", bytes: [97], logprob: -0.5, alternatives: [alternative] },
      { tokenId: endOfText, text: "<|im_end|>", bytes: [], logprob: -0.5, alternatives: [alternative] },
    ],
  );
});

test("returns log-probabilities and token ids by default for a trained model, and only on request for a base model", async () => {
  const script = oneByOne(idsOf("a"), finished("length"));
  const modes = async (model: ResolvedModel, request: RequestChanges): Promise<unknown> => {
    const { header, engine, deltas } = await check(script, request, { model });
    const { topLogprobCount } = engine.requests[0].outputs;
    assert.equal(
      deltas.some((delta) => delta.logprobs.length > 0),
      topLogprobCount !== null,
    );
    return [header.logprobs, topLogprobCount, header.tokenIds.top, header.tokenIds.inChoices];
  };
  assert.deepEqual(await modes(trained, {}), ["token-id", 0, false, true]);
  assert.deepEqual(await modes(trained, { output: { logprobs: { topCount: 2 } } }), ["text", 2, false, true]);
  assert.deepEqual(await modes(trained, { output: { logprobs: null } }), ["off", null, false, false]);
  assert.deepEqual(await modes(trained, { output: { returnTokenIds: true } }), ["token-id", 0, true, true]);
  assert.deepEqual(await modes(base, {}), ["off", null, false, false]);
  assert.deepEqual(await modes(base, { output: { logprobs: { topCount: 0 }, returnTokenIds: true } }), [
    "text",
    0,
    true,
    false,
  ]);
});

test("passes a trained model's adapter to the engine", async () => {
  const { engine, header } = await check(oneByOne(idsOf("a"), finished("length")), {}, { model: trained });
  assert.deepEqual(engine.requests[0].prompt.adapter, trained.adapter);
  assert.equal(header.model, "agent");
});

test("names the version whose adapter an engine refuses, unless it was deleted meanwhile", async () => {
  const unreadable = new ServiceError({ code: "conflict", message: "cannot be read" });
  const codeOf = async (error: ServiceError, isDeleted: boolean): Promise<string> => {
    const { signal } = new AbortController();
    const engine = new ScriptedEngine([error]);
    return (await refused(engine, {}, signal, { model: trained, isDeleted })).code;
  };
  assert.equal(await codeOf(unreadable, false), "conflict");
  assert.equal(await codeOf(unreadable, true), "not_found");
  assert.equal(await codeOf(new ServiceError({ code: "unavailable", message: "" }), true), "unavailable");
});

test("names the model whose logits are not finite, before and during an answer", async () => {
  for (const [script, model] of [
    [[brokenModel()], base],
    [[[prompt, tokens(idsOf("a"))], brokenModel()], trained],
  ] as const) {
    const reading = readCompletion(
      serve(new ScriptedEngine(script), { model }).begin(chatRequest({}), caller, {
        signal: new AbortController().signal,
      }),
    );
    await assert.rejects(reading, (error: unknown) => {
      assert.ok(error instanceof ServiceError);
      const [{ location, message }] = error.faults;
      assert.deepEqual([error.code, location], ["unsupported", ["model"]]);
      assert.match(message, new RegExp(`^The model "${model.name}" computed numbers that are not finite`));
      return true;
    });
  }
});

test("cuts the text, but not the tokens, at a stop string that spans tokens, and frees the slot", async () => {
  const ids = idsOf("one STOP two");
  const {
    engine,
    text,
    finishes,
    ids: seen,
    usage,
  } = await check([[prompt], ...ids.map((id) => [tokens([id])]), [finished("length")]], {
    stopping: { stop: ["x", "STOP"] },
  });
  assert.equal(text(), "one ");
  assert.deepEqual(finishes, [{ choice: 0, reason: "stop", stopReason: null, matchedStop: "STOP" }]);
  assert.deepEqual(engine.stopped, [0]);
  assert.equal(tokenizer.decode(seen(), { skipSpecialTokens: true }), "one STOP");
  assert.equal(usage.completionTokens, seen().length);
});

test("reports a stop string, not the length, if the last allowed token completes it", async () => {
  const { finishes } = await check([[prompt, tokens(idsOf("a STOP")), finished("length")]], {
    stopping: { stop: ["STOP"] },
  });
  assert.deepEqual(finishes, [{ choice: 0, reason: "stop", stopReason: null, matchedStop: "STOP" }]);
});

test("shows the stop string on request, and then holds back no text", async () => {
  const { text, deltas, finishes } = await check(oneByOne(idsOf("one STOP two"), finished("length")), {
    stopping: { stop: ["STOP"], includeStopText: true },
  });
  assert.equal(text(), "one STOP");
  assert.equal(finishes[0]?.matchedStop, "STOP");
  assert.deepEqual(
    deltas.map((delta) => delta.text),
    deltas.map((delta) => tokenizer.decode(delta.tokenIds, { skipSpecialTokens: true })),
  );
});

test("ignores a stop string within the minimum number of tokens", async () => {
  const ids = idsOf("ab ab");
  const { text, finishes, engine } = await check(
    [[prompt], [tokens(ids)], [finished("length")]],
    { stopping: { stop: ["ab"], minTokens: idsOf("ab").length } },
    { features: ["min-tokens"] },
  );
  assert.equal(text(), "ab ");
  assert.equal(finishes[0]?.matchedStop, "ab");
  assert.equal(engine.requests[0].stopping.minTokens, idsOf("ab").length);
});

test("shows special tokens unless they are skipped, and the end token only on request", async () => {
  const shown = async (stopping: RequestChanges["stopping"], skipSpecialTokens: boolean): Promise<string> => {
    const script = oneByOne([...idsOf("a"), 1, endOfText], finished("stop", endOfText));
    return (await check(script, { stopping, output: { skipSpecialTokens } })).text();
  };
  const [first, end] = [1, endOfText].map((id) => tokenizer.tokenText(id));
  assert.equal(await shown({}, true), "a");
  assert.equal(await shown({ includeStopText: true }, true), "a");
  assert.equal(await shown({}, false), `a${first}`);
  assert.equal(await shown({ includeStopText: true }, false), `a${first}${end}`);
});

test("echoes the last message if the answer continues it", async () => {
  const echoOf = async (last: MessageRecord, changes: Partial<ConversationPrompt>): Promise<string> => {
    const messages = [message("user", "hi"), last];
    const { header, text } = await check(oneByOne(idsOf("a"), finished("length")), {
      prompt: { messages, echo: true, ...changes },
    });
    assert.equal(text(), "a", "no delta holds it");
    return header.echo;
  };
  const goesOn = { addGenerationPrompt: false, continueFinalMessage: true };
  const said = message("assistant", "I say ");
  assert.equal(await echoOf(said, goesOn), "I say ");
  assert.equal(await echoOf(said, { addGenerationPrompt: false }), "I say ");
  assert.equal(await echoOf(said, {}), "I say ");
  assert.equal(await echoOf(said, { ...goesOn, echo: false }), "");
  assert.equal(await echoOf(message("user", "you say"), goesOn), "you say", "the answer is the user's too");
  assert.equal(await echoOf(message("user", "you say"), {}), "");
  const parts = [{ type: "text", text: "x" }, "y"];
  assert.equal(await echoOf({ role: "assistant", content: parts }, {}), "x\ny");
  assert.equal(await echoOf({ role: "assistant", content: null }, {}), "");
});

test("emits held-back text when the answer ends", async () => {
  const { text, deltas } = await check(oneByOne(idsOf("a STO"), finished("length")), {
    stopping: { stop: ["STOP"] },
  });
  assert.equal(text(), "a STO");
  assert.ok(
    deltas.some((delta) => delta.text === "" && delta.tokenIds.length > 0),
    "tokens are emitted while their text is held back",
  );
});

test("returns the same text, ids and finish however the engine batches tokens", async () => {
  const words = fc.constantFrom("a", "b", "ab", "京", " the", "👍🏽");
  await fc.assert(
    fc.asyncProperty(
      fc.array(words, { minLength: 1 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1 }),
      fc.array(fc.constantFrom("ba", "b京", "🏽a"), { maxLength: 2 }),
      async (texts, sizes, stop) => {
        const ids = idsOf(texts.join(""));
        const whole = await check([[prompt, tokens(ids), finished("length")]], { stopping: { stop } });
        const batches: (readonly GenerationEvent[])[] = [[prompt]];
        for (let at = 0, turn = 0; at < ids.length; turn++) {
          const size = sizes[turn % sizes.length];
          batches.push([tokens(ids.slice(at, at + size))]);
          at += size;
        }
        const chunked = await check([...batches, [finished("length")]], { stopping: { stop } });
        assert.equal(chunked.text(), whole.text());
        assert.deepEqual(chunked.ids(), whole.ids());
        assert.deepEqual(chunked.finishes, whole.finishes);
      },
    ),
    searching(30),
  );
});

test("keeps the text and finish of several choices apart and counts all of them in the usage", async () => {
  const { text, finishes, usage, deltas } = await check(
    [
      [prompt, tokens(idsOf("a"), 0), tokens(idsOf("STOP"), 1)],
      [tokens(idsOf("c"), 0), finished("length", null, 0)],
    ],
    { output: { choices: { kind: "sample", count: 2 } }, stopping: { stop: ["STOP"] } },
  );
  assert.equal(text(0), "ac");
  assert.equal(text(1), "");
  assert.deepEqual(
    finishes.map(({ choice, reason }) => [choice, reason]),
    [
      [1, "stop"],
      [0, "length"],
    ],
  );
  assert.equal(usage.completionTokens, 2 + idsOf("STOP").length);
  assert.equal(deltas.filter((delta) => delta.choice === 0).at(-1)?.choiceTokens, 2);
});

test("gives the answer the last message's role if no generation prompt is added", async () => {
  const messages = [message("user", "hi"), message("bard", "Once")];
  const { header } = await check(oneByOne(idsOf("a"), finished("length")), {
    prompt: { messages, addGenerationPrompt: false, continueFinalMessage: true },
  });
  assert.equal(header.role, "bard");
  assert.match(tokenizer.decode(header.promptTokenIds, { skipSpecialTokens: false }), /bard\nOnce$/);
});

test("accepts texts and token ids as prompts and gives the answer the role assistant", async () => {
  const answer = oneByOne(idsOf("a"), finished("length"));
  const options = { truncation: null, echo: false };
  for (const prompt of [
    { kind: "text", text: "Once upon", addSpecialTokens: false, ...options },
    { kind: "tokens", tokenIds: idsOf("Once upon"), ...options },
  ] as const) {
    const { header, engine, text } = await check(answer, { prompt });
    assert.equal(header.role, "assistant");
    assert.deepEqual(header.promptTokenIds, idsOf("Once upon"));
    assert.deepEqual(engine.requests[0].prompt.tokenIds, idsOf("Once upon"));
    assert.equal(text(), "a");
  }
});

test("echoes the text of a prompt that is not a conversation", async () => {
  const answer = oneByOne(idsOf("a"), finished("length"));
  const options = { truncation: null, echo: true };
  const echoOf = async (prompt: TextPrompt | TokenPrompt): Promise<string> =>
    (await check(answer, { prompt })).header.echo;
  assert.equal(await echoOf({ kind: "text", text: "Once ", addSpecialTokens: false, ...options }), "Once ");
  const tokenIds = [1, ...idsOf("Once ")];
  assert.equal(await echoOf({ kind: "tokens", tokenIds, ...options }), "Once ");
});

test("submits nothing to an engine that is not ready", async () => {
  const engine = new ScriptedEngine([]);
  engine.state = { kind: "starting", reason: "" };
  const error = await refused(engine);
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /tiny is not ready \(starting\)/);
  assert.ok(error.retryAfterSeconds);
  assert.equal(engine.requests.length, 0);
});

test("throws an engine's refusal before the first event", async () => {
  for (const code of ["conflict", "overloaded", "unavailable"] as const) {
    const engine = new ScriptedEngine([]);
    engine.refusal = new ServiceError({ code, message: "no" });
    assert.equal((await refused(engine)).code, code);
  }
  assert.equal(
    (await refused(new ScriptedEngine([new ServiceError({ code: "internal", message: "prefill failed" })])))
      .code,
    "internal",
  );
});

test("ends the answer with the engine's error, after the text so far, if the engine fails later", async () => {
  const engine = new ScriptedEngine([
    [prompt, tokens(idsOf("a"))],
    new ServiceError({ code: "unavailable", message: "gone" }),
  ]);
  const { signal } = new AbortController();
  const { deltas } = await serve(engine).begin(hello, caller, { signal });
  const texts: string[] = [];
  const read = async (): Promise<void> => {
    for await (const step of deltas) texts.push(...step.map(({ text }) => text));
  };
  await assert.rejects(read(), { code: "unavailable" });
  assert.deepEqual(texts, ["a"]);
});

test("refuses a request with the id of a running one until that one has ended", async () => {
  const engine = new ScriptedEngine([]);
  const service = serve(engine);
  const controller = new AbortController();
  const first = readCompletion(service.begin(hello, caller, { signal: controller.signal }));
  assert.equal(service.runningCount, 1);
  await assert.rejects(readCompletion(service.begin(hello, caller, { signal: controller.signal })), {
    code: "conflict",
    message: /"r1" is already running/,
  });
  assert.equal(service.runningCount, 1, "the refusal does not free the first one's id");
  const other = { ...caller, entity: "rival" };
  const others = readCompletion(service.begin(hello, other, { signal: controller.signal }));
  assert.equal(service.runningCount, 2, "the ids of entities are apart");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(new Set(engine.requests.map(({ id }) => id)).size, 2, "for the engine too");
  controller.abort();
  await assert.rejects(first, { code: "cancelled" });
  await assert.rejects(others, { code: "cancelled" });
  engine.script = oneByOne(idsOf("a"), finished("length"));
  const { signal } = new AbortController();
  const again = await readCompletion(service.begin(hello, caller, { signal }));
  assert.equal(again.usage.completionTokens, 1);
});

test("aborts the generation on a signal before, during and after its start", async () => {
  const engine = new ScriptedEngine([]);
  assert.equal((await refused(engine, {}, AbortSignal.abort())).code, "cancelled");
  assert.equal(engine.requests.length, 0);
  const controller = new AbortController();
  const pending = refused(engine, {}, controller.signal);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(engine.requests.length, 1);
  controller.abort();
  assert.equal((await pending).code, "cancelled");
  assert.ok(engine.abortCount > 0);
});

test("counts a request as running while its prompt is written, and cancels it when its client leaves", async () => {
  const engine = new ScriptedEngine([]);
  const clients: string[] = [];
  const slowPrompts: PromptWriter = {
    write: (_, { client, signal }) => {
      clients.push(client);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(gone)));
    },
    read: () => assert.fail("a chat reads no tokens in threads"),
  };
  const gone = new ServiceError({ code: "cancelled", message: "gone" });
  const service = serve(engine, { prompts: slowPrompts });
  const controller = new AbortController();
  const pending = readCompletion(service.begin(hello, caller, { signal: controller.signal }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(clients, [caller.entity]);
  assert.equal(service.runningCount, 1);
  controller.abort();
  await assert.rejects(pending, { code: "cancelled" });
  assert.equal(service.runningCount, 0);
  assert.equal(engine.requests.length, 0);
});

test("frees the slot if the client stops reading early, even before the first delta", async () => {
  for (const reads of [true, false]) {
    const engine = new ScriptedEngine(oneByOne(idsOf("a long story"), finished("length")));
    const service = serve(engine);
    const completion = await service.begin(hello, caller, { signal: new AbortController().signal });
    assert.equal(service.runningCount, 1);
    if (reads) for await (const _ of completion.deltas) break;
    else await completion.leave();
    assert.equal(engine.abortCount, 1);
    assert.equal(service.runningCount, 0);
  }
});

test("emits the tokens of several choices in one batch as one step, without delaying the first", async () => {
  const [a, b] = [tokens(idsOf("a")), tokens(idsOf("b"), 1)];
  const ends = [finished("length"), finished("length", null, 1)];
  const engine = new ScriptedEngine([[prompt], [a], [b, a], ends]);
  const { signal } = new AbortController();
  const two = chatRequest({ output: { choices: { kind: "sample", count: 2 } } });
  const { deltas } = await serve(engine).begin(two, caller, { signal });
  const steps: unknown[] = [];
  for await (const step of deltas) steps.push(step.map(({ choice, finish }) => [choice, finish !== null]));
  assert.deepEqual(steps, [
    [[0, false]],
    [
      [1, false],
      [0, false],
    ],
    [
      [0, true],
      [1, true],
    ],
  ]);
});
