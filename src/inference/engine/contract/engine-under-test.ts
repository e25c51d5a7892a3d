// Helpers of the contract tests: engines over the reference model, short forms of requests, and transcripts of answers.
// An engine passes if every part of the contract passes on it.
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
/** Vocabulary of the reference model. */
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

// Safe cast: the fixture belongs to this project.
const golden = JSON.parse(readFileSync(`${modelFolder}/golden.json`, "utf8")) as Golden;

/**
 * Two recorded prompts. For one, the reference implementation's answer is recorded. For the other, the
 * log-probabilities that the reference implementation gives its tokens are recorded.
 */
export const recorded = {
  prompt: golden.greedy_prompt_ids,
  answer: golden.greedy_ids,
  scored: { tokenIds: golden.rendered_ids, logprobs: golden.rendered_prompt_logprobs },
} as const;

/**
 * Allowed differences of a quantized engine from the reference implementation. Such an engine may still be exact, that
 * is, always compute the same numbers of its own.
 */
export interface Rounding {
  /** The engine's greedy answer to the recorded prompt. */
  readonly answer: readonly number[];
  /**
   * Maximum mean difference between the engine's log-probabilities and those of the reference implementation. Also the
   * maximum difference between a token's log-probability in a prompt and in an answer.
   */
  readonly logprobTolerance: number;
}

export interface EngineUnderTest {
  /** Name of the engine in the titles of tests. */
  readonly name: string;
  /** Creates an engine over the model in {@link modelFolder}, without starting it. */
  readonly make: (options: { readonly waitingCountMax: number }) => Engine;
  /** Creates an engine whose start fails with this error code. */
  readonly failing: { readonly code: ErrorCode; readonly make: () => Engine };
  /** Returns true for a request that combines features which the engine offers only separately. */
  readonly refuses?: (request: GenerationRequest) => boolean;
  /**
   * Differences that rounded weights may cause; absent if the engine uses the reference model's weights without
   * rounding.
   */
  readonly rounding?: Rounding;
}

/** Returns the greedy answer that the engine must give to the recorded prompt. */
export function greedyAnswer({ rounding }: EngineUnderTest): readonly number[] {
  return rounding?.answer ?? recorded.answer;
}

/** Returns the maximum difference between log-probabilities of the same token that were computed in different ways. */
export function logprobTolerance({ rounding }: EngineUnderTest): number {
  return rounding?.logprobTolerance ?? 1e-4;
}

const capabilities = new Map<EngineUnderTest, EngineCapabilities>();

/** Returns the declared capabilities of an engine. The suite uses no other features. */
export function capabilitiesOf(under: EngineUnderTest): EngineCapabilities {
  const known = capabilities.get(under) ?? under.make({ waitingCountMax: 1 }).capabilities;
  capabilities.set(under, known);
  return known;
}

/** True if an engine offers everything that a request asks for. */
export function offers(under: EngineUnderTest, request: GenerationRequest): boolean {
  const { features } = capabilitiesOf(under);
  return featuresOf(request).every((feature) => features.has(feature)) && under.refuses?.(request) !== true;
}

/**
 * Checks that two transcripts have the same token ids and log-probabilities. Log-probabilities must be equal for an
 * exact engine, and close for others.
 */
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

/**
 * Returns a function that gives the engine that all tests of a suite share. The engine starts at its first use and
 * stops after all tests.
 */
export function sharedEngine(under: EngineUnderTest): () => Promise<Engine> {
  return async () => {
    const engine = shared.get(under) ?? under.make({ waitingCountMax: 100 });
    shared.set(under, engine);
    await engine.start();
    return engine;
  };
}

/** Returns a request with the recorded prompt. */
export function ask(more: ShortRequest = {}): GenerationRequest {
  return requestOf(recorded.prompt, more);
}

/** Reads all events of a generation, calling `onEvent` for each. */
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

/** Returns the answer to a request, and asserts that the request does not fail. */
export async function answerOf(engine: Engine, request: GenerationRequest): Promise<Transcript> {
  const transcript = await read(engine.submit(request));
  assert.equal(transcript.failure, null);
  return transcript;
}

/** Returns the text of one choice of an answer without its end token. */
export function textOf(transcript: Transcript, index = 0): string {
  const ids = transcript.ids(index).filter((id) => id !== endTokenId);
  return Buffer.concat(ids.map((id) => present(bytesOf[id], "the bytes of a drawn token"))).toString();
}

/** Returns the code with which an engine refuses a request. */
export function refusalOf(engine: Engine, request: GenerationRequest): ErrorCode {
  try {
    engine.submit(request).abort();
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error.code;
  }
  return assert.fail("the engine took the request");
}

/** Resolves when the engine has no running or waiting request. */
export async function idle(engine: Engine): Promise<void> {
  const startedAtMs = systemClock.monotonicMs();
  for (;;) {
    const { runningCount, waitingCount } = engine.status();
    if (runningCount === 0 && waitingCount === 0) return;
    assert.ok(systemClock.monotonicMs() - startedAtMs < 20_000, "the engine comes to rest within 20 s");
    await systemClock.sleep(1);
  }
}

/** Returns the limits of an engine that is ready. */
export function limitsOf(engine: Engine) {
  const { state } = engine.status();
  return present(state.kind === "ready" ? state.limits : null, "the limits of an engine that is ready");
}
