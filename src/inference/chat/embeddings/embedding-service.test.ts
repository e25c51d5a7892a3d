// Tests the embedding service over a fake engine, whose hidden states are derived from the request.
import { AdaptersInUse } from "../../models/registry/version-uses.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EmbeddingRequest } from "../../../base/domain/text/embedding.ts";
import type {
  Engine,
  EngineFeature,
  GenerationEvent,
  GenerationRequest,
} from "../../../base/domain/generation.ts";
import { brokenModel } from "../../../base/domain/broken-model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ResolvedModel } from "../../models/registry/model-directory.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { createEmbeddingService, inputTokensMax, type EmbeddingService } from "./embedding-service.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { noDefaults } from "../testing/no-defaults.ts";
import { plainReplies } from "../testing/plain-replies.ts";
import { servedBases } from "../testing/served-bases.ts";

const folder = "test/fixtures/goldens/models/qwen3";
const tokenizer = await loadTokenizer(folder);
const prompts = await directPrompts(folder);
const caller = {
  keyId: "k",
  entity: "acme",
  role: "member",
  owner: "o",
  scopes: null,
  project: null,
} as const;
const adapter = { id: "m:1", folder: "adapters/m/1" };
const model: ResolvedModel = {
  base: "tiny",
  name: "p/m",
  fullName: "acme/p/m",
  fingerprint: "f",
  adapter,
  isTrained: true,
  modelId: "m",
  step: 1,
  projectId: "acme/games",
};
const size = 4;

/**
 * A fake engine whose hidden state has two numbers: the number of tokens and the last token. It answers in a later turn
 * of the event loop, and counts concurrent requests.
 */
class CountingEngine implements Engine {
  readonly capabilities;
  readonly requests: GenerationRequest[] = [];
  underWay = 0;
  concurrencyMax = 0;
  /** Index of a request that fails, and its error; null if none fails. */
  failure: { readonly index: number; readonly error: ServiceError } | null = null;
  hangs = false;

  constructor(features: readonly EngineFeature[] = ["embeddings"]) {
    this.capabilities = { features: new Set(features), isExact: true };
  }
  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  roomFor(): number {
    return 128;
  }
  async prepareAdapter(): Promise<void> {}
  dropAdapter(): void {}
  status(): ReturnType<Engine["status"]> {
    const limits = { contextLength: 128, vocabularySize: 512, embeddingSize: size };
    const counts = { runningCount: 0, waitingCount: 0, waitingCountMax: 1 };
    return { state: { kind: "ready", limits }, ...counts, gauges: () => [] };
  }
  submit(request: GenerationRequest): ReturnType<Engine["submit"]> {
    const index = this.requests.push(request) - 1;
    this.underWay += 1;
    this.concurrencyMax = Math.max(this.concurrencyMax, this.underWay);
    let reject: (reason: Error) => void = () => undefined;
    const aborted = new Promise<never>((_, rejectPromise) => (reject = rejectPromise));
    aborted.catch(() => undefined);
    let isOver = false;
    const end = (): void => {
      if (!isOver) this.underWay -= 1;
      isOver = true;
    };
    const { failure, hangs } = this;
    async function* events(): AsyncGenerator<readonly GenerationEvent[]> {
      await Promise.race([aborted, hangs ? aborted : new Promise((resolve) => setImmediate(resolve))]);
      if (failure?.index === index) throw failure.error;
      const { tokenIds } = request.prompt;
      const values = Float32Array.of(tokenIds.length, tokenIds.at(-1) ?? 0, 3, 4);
      yield [{ kind: "prompt-computed", cachedTokenCount: 0 }];
      yield [{ kind: "embedding", values }];
    }
    return {
      events: events(),
      stopChoice: () => undefined,
      abort: () => {
        end();
        reject(new ServiceError({ code: "cancelled", message: "aborted" }));
      },
    };
  }
}

function serviceOver(engine: Engine): EmbeddingService {
  const base = {
    model: { name: "tiny", folder },
    engine,
    prompts,
    tokenizer,
    defaults: noDefaults([2]),
    replies: plainReplies,
    contextLength: 128,
  };
  const directory = {
    resolve: async () => model,
    adapterFault: async () => new ServiceError({ code: "not_found", message: "It was deleted." }),
  };
  return createEmbeddingService({
    directory,
    bases: servedBases(base),
    adapters,
    metrics: createMetrics({ processMetrics: false }),
  });
}

const adapters = new AdaptersInUse();
const places: (number | null)[] = [];

function embed(
  service: EmbeddingService,
  asked: Partial<EmbeddingRequest>,
  signal: AbortSignal = new AbortController().signal,
) {
  const request = {
    model: "p/m",
    inputs: [{ kind: "text", text: "a" }],
    dimensions: null,
    ...asked,
  } as const;
  const located = (error: unknown, input: number): unknown => {
    places.push(input);
    return error;
  };
  return service.embed(request, caller, { signal, located });
}

const tokens = (...tokenIds: readonly number[]) => ({ kind: "tokens", tokenIds }) as const;

test("returns a unit vector per input in input order and counts all tokens", async () => {
  const engine = new CountingEngine();
  const text = "one and one";
  const textIds = tokenizer.encode(text, { addSpecialTokens: true });
  const inputs = [tokens(5, 6, 7), { kind: "text", text } as const, tokens(9)];
  const answer = await embed(serviceOver(engine), { inputs });
  assert.equal(answer.model, "p/m");
  assert.equal(answer.tokenCount, 4 + textIds.length);
  const lastOf = [7, textIds.at(-1) ?? 0, 9];
  for (const [index, values] of answer.embeddings.entries()) {
    const wanted = [[3, textIds.length, 1][index], lastOf[index], 3, 4];
    const length = Math.hypot(...wanted);
    values.forEach((value, place) => assert.ok(Math.abs(value - wanted[place] / length) < 1e-6));
  }
  for (const { prompt, cacheOwner } of engine.requests)
    assert.deepEqual([prompt.adapter, cacheOwner], [adapter, "acme"]);
});

test("truncates to fewer dimensions and normalizes again, and refuses more than the model has", async () => {
  const service = serviceOver(new CountingEngine());
  const { embeddings } = await embed(service, { inputs: [tokens(4, 4, 4)], dimensions: 2 });
  assert.deepEqual(embeddings, [Float32Array.of(0.6, 0.8)]);
  await assert.rejects(embed(service, { dimensions: size + 1 }), {
    code: "invalid",
    message: /`dimensions` is 5; embeddings of the model tiny have 4/,
  });
});

test("submits only a few inputs at a time", async () => {
  const engine = new CountingEngine();
  const inputs = Array.from({ length: 100 }, (_, index) => tokens(index + 1));
  const { embeddings } = await embed(serviceOver(engine), { inputs });
  assert.equal(embeddings.length, 100);
  assert.deepEqual([engine.concurrencyMax, engine.underWay], [16, 0]);
});

test("reports a fault in one input before any input is computed", async () => {
  const engine = new CountingEngine();
  for (const bad of [
    tokens(),
    tokens(512),
    { kind: "text", text: "" } as const,
    tokens(...Array(129).fill(1)),
  ]) {
    places.length = 0;
    const refused = embed(serviceOver(engine), { inputs: [tokens(1), bad] });
    await assert.rejects(refused, { code: "unsupported" });
    assert.deepEqual(places, [1]);
  }
  const longest = Array.from({ length: Math.floor(inputTokensMax / 128) + 1 }, () =>
    tokens(...Array(128).fill(1)),
  );
  await assert.rejects(embed(serviceOver(engine), { inputs: longest }), {
    code: "invalid",
    message: /300000/,
  });
  assert.equal(engine.requests.length, 0);
});

test("ends all inputs if one fails, and reports an adapter's refusal as a missing model", async () => {
  for (const [code, wanted] of [
    ["overloaded", "overloaded"],
    ["conflict", "not_found"],
  ] as const) {
    const engine = new CountingEngine();
    engine.failure = { index: 3, error: new ServiceError({ code, message: "no" }) };
    const service = serviceOver(engine);
    const inputs = Array.from({ length: 100 }, (_, index) => tokens(index + 1));
    await assert.rejects(embed(service, { inputs }), { code: wanted });
    assert.ok(engine.requests.length < 100);
    assert.deepEqual([engine.underWay, service.runningCount, ...adapters.ids()], [0, 0]);
  }
});

test("names the model whose hidden states are not finite", async () => {
  const engine = new CountingEngine();
  engine.failure = { index: 0, error: brokenModel() };
  await assert.rejects(embed(serviceOver(engine), {}), {
    code: "unsupported",
    message: /^The model "[^"]+" computed numbers that are not finite/,
  });
});

test("ends when the signal aborts and keeps its adapter in use until then", async () => {
  const engine = new CountingEngine();
  engine.hangs = true;
  const service = serviceOver(engine);
  const aborter = new AbortController();
  const embedding = embed(service, {}, aborter.signal);
  while (engine.underWay === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([service.runningCount, ...adapters.ids()], [1, "m:1"]);
  aborter.abort();
  await assert.rejects(embedding, { code: "cancelled" });
  assert.deepEqual([engine.underWay, service.runningCount, ...adapters.ids()], [0, 0]);
});

test("submits nothing to an engine that does not offer embeddings", async () => {
  const refused = embed(serviceOver(new CountingEngine([])), {});
  await assert.rejects(refused, { code: "unsupported", message: /tiny offers no embeddings/ });
});
