// What the engine's contract runs against, and the questions it asks: engines over the reference model, requests in their
// shortest form, and all that was emitted of one. An engine passes when every part of the contract passes on it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import {
  featuresOf,
  type AdapterReference,
  type Engine,
  type EngineCapabilities,
  type Generation,
  type GenerationRequest,
} from "../../../base/domain/generation.ts";
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { packVocabulary, unpackVocabulary } from "../../../base/domain/vocabulary.ts";
import { tokensOfFile } from "../../../lib/constraints/grammar/testing/vocabularies.ts";
import { requestOf, Transcript, type ShortRequest } from "../testing/run-loop.ts";

export const modelFolder = "test/fixtures/goldens/models/qwen3";
/** What its tokens stand for. */
export const vocabulary = packVocabulary(tokensOfFile(`${modelFolder}/tokenizer.json`));
export const bytesOf = unpackVocabulary(vocabulary);
export const endTokenId = 2;
export const adapter: AdapterReference = {
  id: "golden:1",
  folder: "test/fixtures/goldens/training/adapter",
};

interface Golden {
  readonly greedy_prompt_ids: readonly number[];
  readonly greedy_ids: readonly number[];
  readonly rendered_ids: readonly number[];
  readonly rendered_prompt_logprobs: readonly (number | null)[];
}

// The fixture is this project's own.
const golden = JSON.parse(readFileSync(`${modelFolder}/golden.json`, "utf8")) as Golden;

/** A prompt, and the tokens that the reference implementation answers it with; another, and how probable it finds that. */
export const recorded = {
  prompt: golden.greedy_prompt_ids,
  answer: golden.greedy_ids,
  scored: { tokenIds: golden.rendered_ids, logprobs: golden.rendered_prompt_logprobs },
} as const;

/** How an engine differs from the reference whose weights are rounded: it is exact, and its numbers are its own. */
export interface Rounding {
  /** What it answers to the recorded prompt, greedily. */
  readonly answer: readonly number[];
  /**
   * How far log-probabilities may be from the reference's, in the mean of tokens, and those of one token in a prompt and in an
   * answer from each other.
   */
  readonly logprobTolerance: number;
}

export interface EngineUnderTest {
  /** What the tests call it. */
  readonly name: string;
  /** A new engine over the model in {@link modelFolder}, not started. */
  readonly make: (options: { readonly waitingCountMax: number }) => Engine;
  /** A new engine whose start fails with the code. */
  readonly failing: { readonly code: ErrorCode; readonly make: () => Engine };
  /** What it refuses though it offers all that it asks for, since it does not offer that together. */
  readonly refuses?: (request: GenerationRequest) => boolean;
  /** Absent where the weights are the reference's. */
  readonly rounding?: Rounding;
}

/** What an engine answers to the recorded prompt, greedily. */
export function greedyAnswer({ rounding }: EngineUnderTest): readonly number[] {
  return rounding?.answer ?? recorded.answer;
}

/** How far log-probabilities of one token may be apart that were computed in different ways. */
export function logprobTolerance({ rounding }: EngineUnderTest): number {
  return rounding?.logprobTolerance ?? 1e-4;
}

const capabilities = new Map<EngineUnderTest, EngineCapabilities>();

/** What an engine says that it can do, which is all that it is asked for. */
export function capabilitiesOf(under: EngineUnderTest): EngineCapabilities {
  const known = capabilities.get(under) ?? under.make({ waitingCountMax: 1 }).capabilities;
  capabilities.set(under, known);
  return known;
}

/** Whether an engine offers all that a request asks for. */
export function offers(under: EngineUnderTest, request: GenerationRequest): boolean {
  const { features } = capabilitiesOf(under);
  return featuresOf(request).every((feature) => features.has(feature)) && under.refuses?.(request) !== true;
}

/** Ids are the same; log-probabilities too, of an engine that is not exact as good as the same. */
export function checkSameTokens(
  { capabilities: { isExact } }: Engine,
  actual: Transcript,
  expected: Transcript,
  choice = 0,
): void {
  assert.deepEqual(actual.ids(choice), expected.ids(choice));
  const others = expected.logprobs(choice);
  if (isExact) assert.deepEqual(actual.logprobs(choice), others);
  else checkClose(actual.logprobs(choice), others);
}

function checkClose(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [index, logprob] of actual.entries()) {
    const isClose = Math.abs(logprob - expected[index]) < 1e-4;
    assert.ok(isClose || Object.is(logprob, expected[index]), `${logprob} is not ${expected[index]}`);
  }
}

const shared = new Map<EngineUnderTest, Engine>();
after(() => Promise.all([...shared.values()].map((engine) => engine.stop())));

/** The engine that the tests of one share, started at its first use and stopped when all are done. */
export function sharedEngine(under: EngineUnderTest): () => Promise<Engine> {
  return async () => {
    const engine = shared.get(under) ?? under.make({ waitingCountMax: 100 });
    shared.set(under, engine);
    await engine.start();
    return engine;
  };
}

/** A request to the recorded prompt. */
export function ask(more: ShortRequest = {}): GenerationRequest {
  return requestOf(recorded.prompt, more);
}

/** Everything that comes of a generation, `onEvent` being called in between. */
export async function read(
  generation: Generation,
  onEvent: (transcript: Transcript) => void = () => undefined,
): Promise<Transcript> {
  const transcript = new Transcript();
  try {
    for await (const batch of generation.events) {
      assert.ok(batch.length > 0, "a batch holds an event");
      for (const event of batch) {
        transcript.events.push(event);
        onEvent(transcript);
      }
    }
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    transcript.failure = `${error.code}: ${error.message}`;
  }
  return transcript;
}

/** The answer to a request that must not fail. */
export async function answerOf(engine: Engine, request: GenerationRequest): Promise<Transcript> {
  const transcript = await read(engine.submit(request));
  assert.equal(transcript.failure, null);
  return transcript;
}

/** The text of an answer without its end token. */
export function textOf(transcript: Transcript, index = 0): string {
  const ids = transcript.ids(index).filter((id) => id !== endTokenId);
  return Buffer.concat(ids.map((id) => present(bytesOf[id], "the bytes of a drawn token"))).toString();
}

/** The code with which an engine refuses a request. */
export function refusalOf(engine: Engine, request: GenerationRequest): ErrorCode {
  try {
    engine.submit(request).abort();
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error.code;
  }
  return assert.fail("the engine took the request");
}

/** Resolves when nothing runs and nothing waits. */
export async function idle(engine: Engine): Promise<void> {
  const startedAtMs = systemClock.monotonicMs();
  for (;;) {
    const { runningCount, waitingCount } = engine.status();
    if (runningCount === 0 && waitingCount === 0) return;
    assert.ok(systemClock.monotonicMs() - startedAtMs < 20_000, "the engine comes to rest within 20 s");
    await systemClock.sleep(1);
  }
}

/** The limits of an engine that is ready. */
export function limitsOf(engine: Engine) {
  const { state } = engine.status();
  return present(state.kind === "ready" ? state.limits : null, "the limits of an engine that is ready");
}
