// Chat completions against an engine that plays a script.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ChatDelta, ConversationPrompt, TextPrompt, TokenPrompt } from "../../base/domain/chat.ts";
import type { AnsweredRequest, ChatRecorder } from "../../base/domain/recordings/chat-recorder.ts";
import { brokenModel } from "../../base/domain/broken-model.ts";
import { systemClock } from "../../base/domain/clock.ts";
import type { Constraint } from "../../base/domain/constraint.ts";
import { constraintFeatures, constraintFeaturesOf } from "../../base/domain/generation.ts";
import type {
  ChoiceRequest,
  ConstraintFeature,
  Engine,
  EngineCapabilities,
  EngineFeature,
  EngineState,
  GeneratedToken,
  GenerationEvent,
  GenerationRequest,
} from "../../base/domain/generation.ts";
import { plainSampling } from "../../base/domain/sampling.ts";
import { featureRequests } from "../../base/domain/testing/feature-requests.ts";
import { requestOf } from "../engine/testing/run-loop.ts";
import { callFormats } from "./tools/call-formats.ts";
import type { UsageCounter } from "../../base/domain/keys/usage.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { createMetrics } from "../../base/telemetry/metrics.ts";
import { loadTokenizer } from "../../lib/tokenizer/load-tokenizer.ts";
import type { PromptWriter } from "./prompts/write-prompt.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { readCompletion } from "./testing/read-completion.ts";
import { noDefaults } from "./testing/no-defaults.ts";
import { directPrompts } from "./testing/direct-prompts.ts";
import { servedBases } from "./testing/served-bases.ts";
import { plainReplies } from "./testing/plain-replies.ts";
import { createChatService } from "./complete-chat.ts";
import type { ChatService } from "./complete-chat.ts";
import type { ResolvedModel } from "../models/registry/model-directory.ts";
import type { GenerationDefaults, ServedBase } from "./served-base.ts";
import { searching } from "../../base/domain/testing/search.ts";

const folder = "test/fixtures/goldens/models/qwen3";
const tokenizer = await loadTokenizer(folder);
const prompts = await directPrompts(folder);
const endOfText = 2;

/** Events that the engine emits at once; an error instead of a batch breaks the generation off. */
type Script = readonly (readonly GenerationEvent[] | Error)[];

/** An engine that plays a script, batch by batch, and remembers what it was asked. */
class ScriptedEngine implements Engine {
  capabilities: EngineCapabilities;
  readonly limits = { contextLength: 128, vocabularySize: 512 };
  /** For one choice, and for as many beams as the index says. */
  rooms: readonly number[] = [128, 128, 100, 20];
  readonly requests: GenerationRequest[] = [];
  readonly stopped: number[] = [];
  abortCount = 0;
  state: EngineState = { kind: "ready", limits: this.limits };
  refusal: ServiceError | null = null;
  script: Script;

  constructor(script: Script, features: readonly EngineFeature[] = []) {
    this.script = script;
    this.capabilities = { features: new Set(features), isExact: true, processors: ["p"] };
  }
  start(): Promise<void> {
    return Promise.resolve();
  }
  stop(): Promise<void> {
    return Promise.resolve();
  }
  roomFor(choices: ChoiceRequest): number {
    return this.rooms[choices.kind === "beam" ? choices.width : 0] ?? 0;
  }
  prepareAdapter(): Promise<void> {
    return Promise.resolve();
  }
  dropAdapter(): void {}
  status(): ReturnType<Engine["status"]> {
    return { state: this.state, runningCount: 0, waitingCount: 0, waitingCountMax: 1, gauges: () => [] };
  }
  submit(request: GenerationRequest): ReturnType<Engine["submit"]> {
    if (this.refusal !== null) throw this.refusal;
    this.requests.push(request);
    let reject: (reason: Error) => void = () => undefined;
    const aborted = new Promise<never>((_, rejectPromise) => (reject = rejectPromise));
    aborted.catch(() => undefined);
    const { script } = this;
    async function* play(): AsyncGenerator<readonly GenerationEvent[]> {
      for (const batch of script) {
        await Promise.race([aborted, new Promise((resolve) => setTimeout(resolve, 0))]);
        if (batch instanceof Error) throw batch;
        yield batch;
      }
      if (script.length === 0) await aborted;
    }
    return {
      events: play(),
      stopChoice: (choice) => void this.stopped.push(choice),
      abort: () => {
        this.abortCount += 1;
        reject(new ServiceError({ code: "cancelled", message: "aborted" }));
      },
    };
  }
}

const prompt: GenerationEvent = { kind: "prompt-computed", cachedTokenCount: 3 };
const finished = (
  reason: "stop" | "length",
  stopTokenId: number | null = null,
  choice = 0,
): GenerationEvent => ({
  kind: "choice-finished",
  choice,
  reason,
  stopTokenId,
});
const tokens = (ids: readonly number[], choice = 0): GenerationEvent => ({
  kind: "tokens",
  choice,
  tokens: ids.map(token),
});
const token = (id: number): GeneratedToken => ({
  id,
  logprob: -0.5,
  alternatives: [{ id: 37, logprob: -0.25 }],
});
const idsOf = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });
/** One batch per token, then the end. */
const oneByOne = (ids: readonly number[], end: GenerationEvent): Script => [
  [prompt],
  ...ids.map((id, index) => (index === ids.length - 1 ? [tokens([id]), end] : [tokens([id])])),
];

const message = (role: string, content: string): MessageRecord => ({ role, content });
const hello = chatRequest();
const anyJson: Constraint = {
  kind: "json-object",
  allowsAnyWhitespace: true,
  whitespacePattern: null,
  allowsAdditionalProperties: true,
};
const base: ResolvedModel = {
  base: "tiny",
  name: "tiny",
  fullName: "tiny",
  fingerprint: "f",
  adapter: null,
  isTrained: false,
  modelId: null,
  step: null,
  projectId: null,
};
const trained: ResolvedModel = {
  ...base,
  name: "agent",
  adapter: { id: "m:1", folder: "/m/1" },
  isTrained: true,
  modelId: "m",
  step: 1,
  projectId: "acme/games",
};
const caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
} as const;

function serve(
  engine: ScriptedEngine,
  options: Partial<Pick<ServedBase, "prompts" | "replies">> & {
    model?: ResolvedModel;
    defaults?: Partial<GenerationDefaults>;
    isDeleted?: boolean;
    recorder?: ChatRecorder;
    usage?: UsageCounter;
    features?: readonly EngineFeature[];
  } = {},
): ChatService {
  const { model = base, defaults = {} } = options;
  const served: ServedBase = {
    model: { name: "tiny", folder },
    engine,
    prompts: options.prompts ?? prompts,
    tokenizer,
    defaults: { ...noDefaults([endOfText]), ...defaults },
    replies: options.replies ?? plainReplies,
    contextLength: 4096,
  };
  return createChatService({
    directory: {
      resolve: () => Promise.resolve(model),
      adapterFault: async (_model, refusal) =>
        options.isDeleted === true ? new ServiceError({ code: "not_found", message: "deleted" }) : refusal,
    },
    bases: servedBases(served),
    recorder: options.recorder ?? null,
    usage: options.usage ?? null,
    clock: systemClock,
    metrics: createMetrics({ processMetrics: false }),
    logger: silentLogger,
  });
}

/** Runs a request over a script and sorts what came. */
async function check(
  script: Script,
  request: RequestChanges = {},
  options: Parameters<typeof serve>[1] & { readonly features?: readonly EngineFeature[] } = {},
) {
  const engine = new ScriptedEngine(script, options.features);
  const service = serve(engine, options);
  const { signal } = new AbortController();
  const read = await readCompletion(service.begin(chatRequest(request), caller, { signal }));
  assert.equal(service.runningCount, 0);
  const { deltas } = read;
  return {
    engine,
    ...read,
    finishes: deltas.flatMap((delta) =>
      delta.finish === null ? [] : [{ choice: delta.choice, ...delta.finish }],
    ),
    text: (choice = 0) =>
      deltas
        .filter((delta) => delta.choice === choice)
        .map((delta) => delta.text)
        .join(""),
    ids: (choice = 0) => deltas.filter((delta) => delta.choice === choice).flatMap((delta) => delta.tokenIds),
  };
}

/** Runs a request that must fail before it begins, and returns the error. */
async function refused(
  engine: ScriptedEngine,
  request: RequestChanges = {},
  signal = new AbortController().signal,
  options: Parameters<typeof serve>[1] = {},
): Promise<ServiceError> {
  const beginning = serve(engine, options).begin(chatRequest(request), caller, { signal });
  const error: unknown = await beginning.then(
    ({ header }) => assert.fail(`no error but ${JSON.stringify(header)}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

test("what an answer used is counted once for its key, also of one that its reader leaves", async () => {
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

test("tells a header, a delta per batch of tokens, the finish on the last of them, and the usage", async () => {
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

test("the header waits for the whole prompt, and names the tokens of its log-probabilities", async () => {
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

test("what there is to know of the constraint stands in the header", async () => {
  const noted: GenerationEvent = { kind: "constraint-noted", notices: ["a is so", "b is so"] };
  const script: Script = [[noted], [prompt, tokens(idsOf("a")), finished("length")]];
  const { header } = await check(script, { constraint: anyJson }, { features: ["constraint-json-object"] });
  assert.equal(header.notice, "a is so; b is so");
  const silent = await check(oneByOne(idsOf("a"), finished("length")));
  assert.equal(silent.header.notice, null);
});

test("a further end token ends with its id as the reason, and its text is not shown", async () => {
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

test("the finish comes in a delta of its own when the engine tells it later", async () => {
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

test("a character spread over tokens comes whole; one left incomplete becomes U+FFFD, in the log-probabilities too", async () => {
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

test("joined bytes of the log-probabilities are the text, whatever the tokens", async () => {
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

test("log-probabilities name each token, and alternatives in its place", async () => {
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

test("a trained model tells log-probabilities and ids unless told not to; a base model only when asked", async () => {
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

test("a trained model's adapter reaches the engine", async () => {
  const { engine, header } = await check(oneByOne(idsOf("a"), finished("length")), {}, { model: trained });
  assert.deepEqual(engine.requests[0].prompt.adapter, trained.adapter);
  assert.equal(header.model, "agent");
});

test("a version whose adapter an engine refuses is refused by name, unless it was deleted meanwhile", async () => {
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

test("a model without finite scores ends its requests by name, before and amid an answer", async () => {
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

test("a stop string spread over tokens cuts the text, not the tokens, and frees the slot", async () => {
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

test("a stop string completed by the last allowed token wins over the length", async () => {
  const { finishes } = await check([[prompt, tokens(idsOf("a STOP")), finished("length")]], {
    stopping: { stop: ["STOP"] },
  });
  assert.deepEqual(finishes, [{ choice: 0, reason: "stop", stopReason: null, matchedStop: "STOP" }]);
});

test("a stop string is shown where that is asked for, and nothing is held back", async () => {
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

test("a stop string in the first tokens does not end an answer of more", async () => {
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

test("special tokens are in the text where they are not to be skipped, the one that ends it where it is to be shown", async () => {
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

test("the last message is echoed where the answer goes on in its role", async () => {
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

test("what was held back is shown when the answer ends", async () => {
  const { text, deltas } = await check(oneByOne(idsOf("a STO"), finished("length")), {
    stopping: { stop: ["STOP"] },
  });
  assert.equal(text(), "a STO");
  assert.ok(
    deltas.some((delta) => delta.text === "" && delta.tokenIds.length > 0),
    "tokens are emitted while their text is held back",
  );
});

test("however the engine batches tokens, text, ids and finish are the same", async () => {
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

test("several choices are told apart, and usage counts them all", async () => {
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

test("the answer has the last message's role when nothing opens the assistant's turn", async () => {
  const messages = [message("user", "hi"), message("bard", "Once")];
  const { header } = await check(oneByOne(idsOf("a"), finished("length")), {
    prompt: { messages, addGenerationPrompt: false, continueFinalMessage: true },
  });
  assert.equal(header.role, "bard");
  assert.match(tokenizer.decode(header.promptTokenIds, { skipSpecialTokens: false }), /bard\nOnce$/);
});

test("texts and token ids are prompts too, and the assistant answers them", async () => {
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

test("a prompt of another kind is echoed as its text", async () => {
  const answer = oneByOne(idsOf("a"), finished("length"));
  const options = { truncation: null, echo: true };
  const echoOf = async (prompt: TextPrompt | TokenPrompt): Promise<string> =>
    (await check(answer, { prompt })).header.echo;
  assert.equal(await echoOf({ kind: "text", text: "Once ", addSpecialTokens: false, ...options }), "Once ");
  const tokenIds = [1, ...idsOf("Once ")];
  assert.equal(await echoOf({ kind: "tokens", tokenIds, ...options }), "Once ");
});

test("sampling comes from the request, then the model's makers, then neutral values", async () => {
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

test("an answer may fill the context, and no more", async () => {
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

test("the longest answer is the request's, else the makers', and never more than there is room for", async () => {
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

test("an answer fills no more than the engine's memory, and a prompt that leaves no room is refused", async () => {
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

test("more log-probabilities than an answer may have are refused", async () => {
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
  // What is asked for is counted as far as the context goes.
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

const beams = (width: number): RequestChanges => ({
  output: { choices: { kind: "beam", width, lengthPenalty: 0.5 } },
});

test("beams have the room that is left to so many, and more than can run are refused", async () => {
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
        "`output.choices` asks for 4 beams; this server has room for at most 3 side by side. Ask for fewer.",
      ],
    ],
  );
});

test("nothing that the model's makers recommend for draws reaches a beam search", async () => {
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

test("the answers of a search come whole, and the header says how many were found", async () => {
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

test("a prompt that is too long, or that the template refuses, never reaches the engine", async () => {
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

/** Of each feature a request that asks for it, the fields at fault, and what an engine that has it is asked. */
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
    // " a" has a token more than "a", so it is not the same word with a blank in its first token.
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
  test(`${feature} is refused by its fields where the engine lacks it, and reaches one that has it`, async () => {
    const error = await refused(new ScriptedEngine([]), asks);
    assert.equal(error.code, "unsupported");
    assert.deepEqual(
      error.faults.map(({ location }) => location.join(".")),
      fields,
    );
    // The record's keys are the features.
    const able = new ScriptedEngine(oneByOne(idsOf("a"), finished("length")), [feature as EngineFeature]);
    const signal = new AbortController().signal;
    await readCompletion(serve(able).begin(chatRequest(asks), caller, { signal }));
    assert.deepEqual(reaches(able.requests[0]), as);
  });
}

test("the engine learns whose prompts they are, by the caller's entity and not by its key", async () => {
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

test("each kind of constraint, and how it writes JSON, is refused where the engine lacks it", async () => {
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

test("calls, and thoughts before a constraint, are refused by what asks for them where they cannot be held", async () => {
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

test("an engine that is not exact says so to whoever asks for a seed", async () => {
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

test("every field that an engine cannot serve is named at once", async () => {
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

test("an engine that is not up is not asked anything", async () => {
  const engine = new ScriptedEngine([]);
  engine.state = { kind: "starting", reason: "" };
  const error = await refused(engine);
  assert.equal(error.code, "unavailable");
  assert.match(error.message, /tiny is not ready \(starting\)/);
  assert.ok(error.retryAfterSeconds);
  assert.equal(engine.requests.length, 0);
});

test("what the engine refuses is thrown before any event", async () => {
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

test("an engine that fails later ends the answer with its error, after what it said", async () => {
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

test("a second request with a running id is refused, until the first has ended", async () => {
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

test("a signal aborts the generation, before, during and after it started", async () => {
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

test("a request whose prompt is being made counts as running, waits as its entity's, and goes with its client", async () => {
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

test("leaving early frees the slot, whether anything was read or not", async () => {
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

test("tokens that came at once for several choices are one step, and the first is not held back for it", async () => {
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

/** Keeps what it is given; an answer's end waits until `open` is called. */
function keepingRecorder(wanted = true, isStored = true) {
  const begun: AnsweredRequest[] = [];
  const deltas: ChatDelta[] = [];
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  let endCount = 0;
  const recorder: ChatRecorder = {
    records: () => wanted,
    begin: (answered) => {
      begun.push(answered);
      return {
        key: { projectId: answered.version.projectId, requestId: answered.request.identity.requestId },
        add: (more) => void deltas.push(...more),
        end: async () => {
          endCount += 1;
          await opened;
          return isStored;
        },
      };
    },
  };
  return { recorder, begun, deltas, open, ends: () => endCount };
}

test("what a trained model answers is recorded before its end, with log-probabilities that its client does not see", async () => {
  const ids = [...idsOf("yes"), endOfText];
  const script = oneByOne(ids, finished("stop", endOfText));
  const { recorder, begun, deltas, open, ends } = keepingRecorder();
  const service = serve(new ScriptedEngine(script), { model: trained, recorder });
  const { signal } = new AbortController();
  const request = chatRequest({ output: { logprobs: null }, sampling: { temperature: 0.5, seed: 7 } });
  const completion = await service.begin(request, caller, { signal });
  assert.deepEqual(completion.recordedAs, { projectId: "acme/games", requestId: "r1" });
  const seen: ChatDelta[] = [];
  let isEnded = false;
  const reading = (async () => {
    for await (const step of completion.deltas) seen.push(...step);
    isEnded = true;
  })();
  while (ends() === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isEnded, false);
  open();
  await reading;
  assert.notEqual(completion.recordedAs, null);
  assert.deepEqual(
    seen.flatMap(({ tokenIds }) => tokenIds),
    ids,
  );
  assert.deepEqual(
    seen.flatMap(({ logprobs }) => logprobs),
    [],
  );
  assert.deepEqual(
    deltas.flatMap(({ logprobs }) => logprobs.map(({ tokenId, logprob }) => [tokenId, logprob])),
    ids.map((id) => [id, -0.5]),
  );
  const [{ version, sampling, promptTokenIds, choiceCount, caller: sender }] = begun as [AnsweredRequest];
  assert.deepEqual(version, {
    projectId: "acme/games",
    modelId: "m",
    step: 1,
    model: "agent",
    fingerprint: "f",
  });
  assert.deepEqual([sampling.temperature, sampling.seed, sampling.isHeld], [0.5, 7, false]);
  assert.deepEqual([promptTokenIds, choiceCount, sender], [completion.header.promptTokenIds, 1, caller]);
});

test("what is not to be recorded is not, nor what a base model says, or fails, or is left", async () => {
  const script = oneByOne(idsOf("yes, 1"), finished("length"));
  const { signal } = new AbortController();
  const asked = { output: { logprobs: null } };
  for (const [model, wanted] of [
    [trained, false],
    [base, true],
  ] as const) {
    const { recorder, begun } = keepingRecorder(wanted);
    const engine = new ScriptedEngine(script);
    const completion = await serve(engine, { model, recorder }).begin(chatRequest(asked), caller, { signal });
    for await (const _ of completion.deltas);
    assert.deepEqual([begun, completion.recordedAs], [[], null]);
    assert.equal(engine.requests[0]?.outputs.topLogprobCount, null);
  }
  const failing = keepingRecorder();
  const broken = [...script.slice(0, 2), new Error("gone")];
  const failed = await serve(new ScriptedEngine(broken), {
    model: trained,
    recorder: failing.recorder,
  }).begin(hello, caller, { signal });
  await assert.rejects(async () => {
    for await (const _ of failed.deltas);
  }, /gone/);
  const left = keepingRecorder();
  const completion = await serve(new ScriptedEngine(script), {
    model: trained,
    recorder: left.recorder,
  }).begin(hello, caller, { signal });
  for await (const _ of completion.deltas) break;
  assert.deepEqual([failing.begun.length, failing.ends(), left.begun.length, left.ends()], [1, 0, 1, 0]);
});

test("an answer whose recording is not on disk at its end does not say that it is recorded", async () => {
  const script = oneByOne(idsOf("yes"), finished("length"));
  const { recorder, open } = keepingRecorder(true, false);
  open();
  const { signal } = new AbortController();
  const service = serve(new ScriptedEngine(script), { model: trained, recorder });
  const completion = await service.begin(hello, caller, { signal });
  for await (const _ of completion.deltas);
  assert.equal(completion.recordedAs, null);
});
