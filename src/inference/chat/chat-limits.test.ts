// Tests limits of an answer that come from the request or the engine: sampling, token budget, beams, and features that
// the engine lacks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { constraintFeatures, constraintFeaturesOf } from "../../base/domain/generation.ts";
import type { ConstraintFeature, EngineFeature, GenerationRequest } from "../../base/domain/generation.ts";
import { plainSampling } from "../../base/domain/sampling.ts";
import { featureRequests } from "../../base/domain/testing/feature-requests.ts";
import { requestOf } from "../engine/testing/run-loop.ts";
import { callFormats } from "./tools/call-formats.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { readCompletion } from "./testing/read-completion.ts";
import { plainReplies } from "./testing/plain-replies.ts";
import type { GenerationDefaults } from "./served-base.ts";
import {
  endOfText,
  ScriptedEngine,
  prompt,
  finished,
  tokens,
  idsOf,
  oneByOne,
  message,
  hello,
  anyJson,
  caller,
  serve,
  check,
  refused,
  beams,
} from "./testing/scripted-engine.ts";

test("takes sampling from the request, else the model's recommended defaults, else neutral values", async () => {
  const sampling = async (
    request: RequestChanges["sampling"],
    defaults: Partial<GenerationDefaults> = {},
  ): Promise<unknown> => {
    const { engine } = await check(
      oneByOne(idsOf("a"), finished("length")),
      { sampling: { seed: 7, ...request } },
      { defaults },
    );
    return engine.requests[0].sampling;
  };
  assert.deepEqual(await sampling({}), { ...plainSampling, seed: 7 });
  assert.deepEqual(await sampling({}, { temperature: 0.6, topP: 0.9, topK: 20 }), {
    ...plainSampling,
    temperature: 0.6,
    topP: 0.9,
    topK: 20,
    seed: 7,
  });
  assert.deepEqual(await sampling({ temperature: 2, topP: 0.5, topK: -1 }, { temperature: 0.6, topK: 20 }), {
    ...plainSampling,
    temperature: 2,
    topP: 0.5,
    seed: 7,
  });
  assert.deepEqual(await sampling({ temperature: 0.001 }), { ...plainSampling, temperature: 0.01, seed: 7 });
  assert.deepEqual(await sampling({ temperature: 0, topP: 0.5, topK: 3 }), {
    ...plainSampling,
    temperature: 0,
    seed: 7,
  });
  const greedy = new ScriptedEngine([]);
  assert.equal((await refused(greedy, { sampling: { temperature: 0, minP: 0.5 } })).code, "unsupported");
  assert.deepEqual(await sampling({ topK: 512 }), { ...plainSampling, seed: 7 });
  assert.notDeepEqual(
    await sampling({ seed: null }),
    await sampling({ seed: null }),
    "a fresh seed each time",
  );
});

test("lets an answer fill the context but not exceed it", async () => {
  const { engine, header } = await check(oneByOne(idsOf("a"), finished("length")));
  const room = engine.limits.contextLength - header.promptTokenIds.length;
  assert.equal(engine.requests[0].stopping.maxTokens, room);
  assert.equal(
    (await check(oneByOne(idsOf("a"), finished("length")), { stopping: { maxTokens: room } })).engine
      .requests[0].stopping.maxTokens,
    room,
  );
  const script = oneByOne(idsOf("a"), finished("length"));
  const cut = await check(script, { stopping: { maxTokens: room + 1, minTokens: 0 } });
  assert.equal(cut.engine.requests[0].stopping.maxTokens, room, "more than fits is cut to what fits");
});

test("caps the answer's length by the request, or else by the recommended default, and always by the remaining context", async () => {
  const maxTokens = async (requested: number | null, recommended: number | null): Promise<number> => {
    const { engine } = await check(
      oneByOne(idsOf("a"), finished("length")),
      { stopping: { maxTokens: requested } },
      { defaults: { maxTokens: recommended } },
    );
    return engine.requests[0].stopping.maxTokens;
  };
  const room = await maxTokens(null, null);
  assert.equal(await maxTokens(null, 5), 5);
  assert.equal(await maxTokens(7, 5), 7);
  assert.equal(await maxTokens(null, 100_000), room);
});

test("caps an answer by the engine's memory and refuses a prompt that leaves no memory for an answer", async () => {
  const engine = new ScriptedEngine(oneByOne(idsOf("a"), finished("length")));
  engine.rooms = [20];
  const { signal } = new AbortController();
  const { header } = await readCompletion(serve(engine).begin(hello, caller, { signal }));
  const promptLength = header.promptTokenIds.length;
  assert.equal(engine.requests[0].stopping.maxTokens, 20 - promptLength);
  engine.rooms = [promptLength];
  const error = await refused(engine);
  assert.equal(error.code, "unsupported");
  assert.match(error.message, /memory for \d+ tokens of prompt and answer/);
});

test("refuses more log-probabilities than an answer may have", async () => {
  const ends = Array.from({ length: 128 }, (_, choice) => finished("length", null, choice));
  const engine = new ScriptedEngine([[prompt], ends]);
  engine.state = { kind: "ready", limits: { ...engine.limits, contextLength: 4096 } };
  engine.rooms = [4096];
  const ask = (topCount: number, maxTokens: number | null): RequestChanges => ({
    output: { choices: { kind: "sample", count: 128 }, logprobs: { topCount } },
    stopping: { maxTokens },
  });
  const error = await refused(engine, ask(20, 1_000_000));
  assert.equal(error.code, "invalid");
  const [{ location, message: text }] = error.faults;
  assert.equal(location.join("."), "output.logprobs");
  // The request asks for a million tokens. Only the tokens up to the context length count.
  assert.match(
    text,
    /^`output.choices` and `stopping.maxTokens` allow 128 answers of 40\d\d tokens with 21 /,
  );
  assert.match(text, /an answer has at most 4194304/);
  const signal = new AbortController().signal;
  for (const fitting of [ask(20, 1500), ask(0, null)])
    await readCompletion(serve(engine).begin(chatRequest(fitting), caller, { signal }));
  assert.equal(engine.requests.length, 2);
});

test("divides the remaining context among beams and refuses more beams than can run", async () => {
  const engine = new ScriptedEngine([[prompt, finished("length"), finished("length", null, 1)]], ["beam"]);
  const signal = new AbortController().signal;
  const { header } = await readCompletion(serve(engine).begin(chatRequest(beams(2)), caller, { signal }));
  assert.equal(engine.requests[0].stopping.maxTokens, 100 - header.promptTokenIds.length);
  const error = await refused(engine, beams(4));
  assert.equal(error.code, "unsupported");
  assert.deepEqual(
    error.faults.map(({ location, message: text }) => [location.join("."), text]),
    [
      [
        "output.choices",
        "`output.choices` asks for 4 beams; this server has room for at most 3 at a time. Ask for fewer.",
      ],
    ],
  );
});

test("applies none of the recommended sampling defaults to a beam search", async () => {
  const { engine } = await check(
    [[prompt], [tokens(idsOf("a")), finished("length")]],
    { ...beams(1), sampling: { temperature: 0, allowedTokenIds: [4], badWords: ["b"] } },
    {
      features: ["beam", "allowed-token-ids", "bad-words"],
      defaults: { temperature: 0.2, topK: 3, topP: 0.1 },
    },
  );
  const { temperature, topK, topP, allowedTokenIds, badWords } = engine.requests[0].sampling;
  assert.deepEqual([temperature, topK, topP, allowedTokenIds], [1, 0, 1, [4]]);
  assert.deepEqual(badWords, [idsOf("b")]);
});

test("sends each answer of a beam search as a whole, and reports the number of answers in the header", async () => {
  const answers = (found: number) =>
    Array.from({ length: found }, (_, rank) => [
      tokens([...idsOf("ab"), endOfText], rank),
      finished("stop", endOfText, rank),
    ]).flat();
  const few = await check([[prompt], [{ kind: "choices-found", count: 2 }, ...answers(2)]], beams(3), {
    features: ["beam"],
  });
  assert.equal(few.header.choiceCount, 2);
  assert.deepEqual(
    few.deltas.map(({ choice, text, finish }) => [choice, text, finish?.reason]),
    [
      [0, "ab", "stop"],
      [1, "ab", "stop"],
    ],
  );
  assert.equal(few.usage.completionTokens, few.deltas.flatMap(({ tokenIds }) => tokenIds).length);
  const all = await check([[prompt], answers(3)], beams(3), { features: ["beam"] });
  assert.deepEqual([all.header.choiceCount, all.deltas.length], [3, 3]);
});

test("never submits a prompt that is too long or that the template refuses", async () => {
  const engine = new ScriptedEngine([]);
  const tooLong = await refused(engine, { prompt: { messages: [message("user", "z".repeat(200))] } });
  assert.equal(tooLong.code, "unsupported");
  assert.match(
    tooLong.message,
    /maximum context length is 128 tokens. However, your request has \d+ input tokens/,
  );
  const broken = {
    ...message("assistant", ""),
    tool_calls: [{ type: "function", function: { name: "f", arguments: "{x" } }],
  };
  const unfit = await refused(engine, { prompt: { messages: [message("user", "a"), broken] } });
  assert.equal(unfit.code, "unsupported");
  assert.equal(engine.requests.length, 0);
});

/**
 * For each feature: a request that uses the feature, the request fields at fault if the engine lacks it, and the values
 * that a capable engine receives.
 */
const features: {
  readonly [Feature in Exclude<EngineFeature, ConstraintFeature | "embeddings">]: {
    readonly asks: RequestChanges;
    readonly fields: readonly string[];
    readonly reaches: (request: GenerationRequest) => unknown;
    readonly as: unknown;
  };
} = {
  "min-p": {
    asks: { sampling: { minP: 0.1 } },
    fields: ["sampling.minP"],
    reaches: ({ sampling }) => sampling.minP,
    as: 0.1,
  },
  penalties: {
    asks: { sampling: { repetitionPenalty: 1, frequencyPenalty: 0.5, presencePenalty: -1 } },
    fields: ["sampling.frequencyPenalty", "sampling.presencePenalty"],
    reaches: ({ sampling }) => [sampling.frequencyPenalty, sampling.presencePenalty],
    as: [0.5, -1],
  },
  "top-n-sigma": {
    asks: { sampling: { topNSigma: 1.5 } },
    fields: ["sampling.topNSigma"],
    reaches: ({ sampling }) => sampling.topNSigma,
    as: 1.5,
  },
  "logit-bias": {
    asks: { sampling: { logitBias: [[4, 1]] } },
    fields: ["sampling.logitBias"],
    reaches: ({ sampling }) => sampling.logitBias,
    as: [[4, 1]],
  },
  "allowed-token-ids": {
    asks: { sampling: { allowedTokenIds: [4] } },
    fields: ["sampling.allowedTokenIds"],
    reaches: ({ sampling }) => sampling.allowedTokenIds,
    as: [4],
  },
  "bad-words": {
    asks: { sampling: { badWords: [" a", "東"] } },
    fields: ["sampling.badWords"],
    reaches: ({ sampling }) => sampling.badWords,
    // " a" has one token more than "a", so it does not count as the same word after a blank.
    as: [idsOf("a"), idsOf("東"), idsOf(" 東")],
  },
  "logits-processors": {
    asks: { sampling: { processors: [{ name: "p", args: [], kwargs: {} }] } },
    fields: ["sampling.processors"],
    reaches: ({ sampling }) => sampling.processors,
    as: [{ name: "p", args: [], kwargs: {} }],
  },
  "min-tokens": {
    asks: { stopping: { minTokens: 2 } },
    fields: ["stopping.minTokens"],
    reaches: ({ stopping }) => stopping.minTokens,
    as: 2,
  },
  "prompt-logprobs": {
    asks: { output: { promptLogprobCount: 0 } },
    fields: ["output.promptLogprobCount"],
    reaches: ({ outputs }) => outputs.promptLogprobCount,
    as: 0,
  },
  beam: {
    asks: { output: { choices: { kind: "beam", width: 1, lengthPenalty: 2 } } },
    fields: ["output.choices"],
    reaches: ({ choices }) => choices,
    as: { kind: "beam", width: 1, lengthPenalty: 2 },
  },
  priority: {
    asks: { identity: { priority: 3 } },
    fields: ["identity.priority"],
    reaches: ({ priority }) => priority,
    as: 3,
  },
  "cache-salt": {
    asks: { identity: { cacheSalt: "s" } },
    fields: ["identity.cacheSalt"],
    reaches: ({ cacheSalt }) => cacheSalt,
    as: "s",
  },
};

for (const [feature, { asks, fields, reaches, as }] of Object.entries(features)) {
  test(`refuses ${feature} at its fields if the engine lacks it, and passes it to an engine that has it`, async () => {
    const error = await refused(new ScriptedEngine([]), asks);
    assert.equal(error.code, "unsupported");
    assert.deepEqual(
      error.faults.map(({ location }) => location.join(".")),
      fields,
    );
    // Safe cast: the record's keys are the features.
    const able = new ScriptedEngine(oneByOne(idsOf("a"), finished("length")), [feature as EngineFeature]);
    const signal = new AbortController().signal;
    await readCompletion(serve(able).begin(chatRequest(asks), caller, { signal }));
    assert.deepEqual(reaches(able.requests[0]), as);
  });
}

test("gives the engine the caller's entity, not its key, as the owner of a prompt", async () => {
  const ownerFor = async (asker: { readonly entity: string; readonly keyId: string }) => {
    const engine = new ScriptedEngine(oneByOne(idsOf("a"), finished("length")));
    const { signal } = new AbortController();
    await readCompletion(serve(engine).begin(chatRequest({}), { ...caller, ...asker }, { signal }));
    return engine.requests[0].cacheOwner;
  };
  const owners = [await ownerFor(caller), await ownerFor({ ...caller, keyId: "other" })];
  assert.equal(owners[0], owners[1]);
  assert.notEqual(await ownerFor({ ...caller, entity: "another" }), owners[0]);
});

test("refuses each kind of constraint, and each JSON style, that the engine lacks", async () => {
  const ways = featureRequests(requestOf([1]));
  for (const feature of constraintFeatures) {
    for (const { constraint } of ways[feature]) {
      assert.ok(constraint !== null);
      const others = constraintFeatures.filter((other) => other !== feature);
      const error = await refused(new ScriptedEngine([], others), { constraint });
      assert.deepEqual(
        [error.code, error.faults.map(({ location }) => location)],
        ["unsupported", [["constraint"]]],
      );
      assert.match(error.message, /does not offer; it offers json/);
      const able = new ScriptedEngine(
        oneByOne(idsOf("a"), finished("length")),
        constraintFeaturesOf(constraint),
      );
      const { signal } = new AbortController();
      await readCompletion(serve(able).begin(chatRequest({ constraint }), caller, { signal }));
      assert.deepEqual(able.requests[0].constraint, constraint);
    }
  }
});

test("names the field that requires calls, or a thought before a constraint, if the engine cannot enforce them", async () => {
  const refusedFor = async (asks: RequestChanges): Promise<string> => {
    const engine = new ScriptedEngine([], ["constraint-json-object"]);
    const replies = { ...plainReplies, callFormat: callFormats.hermes, thinks: true };
    const error = await refused(engine, asks, undefined, { replies });
    assert.deepEqual([error.code, engine.requests.length], ["unsupported", 0]);
    return error.faults.map(({ location }) => location.join(".")).join();
  };
  const tool = { name: "f", parameters: { type: "object" } };
  const prompt = { tools: [{ type: "function", function: tool }] };
  const strict = { tools: [{ type: "function", function: { ...tool, strict: true } }] };
  assert.equal(await refusedFor({ prompt, calls: { choice: { kind: "required" } } }), "calls.choice");
  assert.equal(await refusedFor({ prompt, calls: { choice: { kind: "named", name: "f" } } }), "calls.choice");
  assert.equal(await refusedFor({ prompt: strict }), "prompt.tools.0.function.strict");
  const allowed = { choice: { kind: "auto", allowed: [] } } as const;
  assert.equal(await refusedFor({ prompt, calls: allowed }), "prompt.tools");
  assert.equal(await refusedFor({ constraint: anyJson }), "constraint");
});

test("returns a notice for a seed if the engine is not exact", async () => {
  const noticeFor = async (isExact: boolean, seed: number | null): Promise<string | null> => {
    const engine = new ScriptedEngine(oneByOne(idsOf("a"), finished("length")));
    engine.capabilities = { ...engine.capabilities, isExact };
    const { signal } = new AbortController();
    const request = chatRequest({ sampling: { seed } });
    return (await readCompletion(serve(engine).begin(request, caller, { signal }))).header.notice;
  };
  assert.deepEqual(await Promise.all([noticeFor(true, 3), noticeFor(false, null)]), [null, null]);
  assert.match((await noticeFor(false, 3)) ?? "", /^seed: the engine of this model is not exact/);
});

test("names every field that the engine does not support in one error", async () => {
  const error = await refused(new ScriptedEngine([], ["min-p"]), {
    identity: { priority: 1, cacheSalt: "s" },
    sampling: { minP: 0.5, repetitionPenalty: 2 },
  });
  assert.deepEqual(
    error.faults.map(({ message }) => message),
    [
      "`sampling.repetitionPenalty` is not supported by this server; leave it out or at its default.",
      "Got priority 1 but Priority scheduling is not enabled; send 0 or leave it out.",
      "`identity.cacheSalt` is not supported by this server; leave it out or at its default.",
    ],
  );
});
