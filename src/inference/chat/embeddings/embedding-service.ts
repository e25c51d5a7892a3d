// Computes embeddings of texts. An embedding is the model's last hidden state for the last token of a text, scaled to
// length 1. Texts use the same prompt threads and engine queue as chats; the engine gets only a few texts of a request
// at a time, so that one request never fills the queue.
import type { Caller } from "../../../base/domain/access.ts";
import { present } from "../../../base/domain/assert.ts";
import { brokenModel, isBrokenModel } from "../../../base/domain/broken-model.ts";
import type { EmbeddedInput, EmbeddingRequest, Embeddings } from "../../../base/domain/text/embedding.ts";
import type { Generation, GenerationRequest } from "../../../base/domain/generation.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { AdaptersInUse } from "../../models/registry/version-uses.ts";
import type { ModelDirectory } from "../../models/registry/model-directory.ts";
import type { Allowance } from "../../../base/domain/keys/limits.ts";
import type { UsageCounter } from "../../../base/domain/keys/usage.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import {
  acquireModel,
  type AcquiredModel,
  servedContextLength,
  servedLimits,
  type ServedBase,
  type ServedBases,
} from "../served-base.ts";
import { mapConcurrently } from "./map-concurrently.ts";
import { unitVector } from "./unit-vector.ts";
import type { WaitingSlots } from "../waiting-slots.ts";

export interface EmbeddingService {
  /**
   * Embeds the inputs of a request.
   *
   * @throws ServiceError for the model's name as chat does, and:
   * - `unsupported` for an engine without embeddings, and for inputs that are empty, too long, or contain ids that the
   *   model lacks
   * - `invalid` for more dimensions than the model has, and for too many tokens
   * - `overloaded`, `unavailable`, `cancelled` (the signal)
   */
  embed(
    request: EmbeddingRequest,
    caller: Caller,
    options: {
      readonly signal: AbortSignal;
      /** Remaining token allowance of the caller; absent or null if unlimited. */
      readonly allowance?: Allowance | null;
      /**
       * Maps an error to the field names of the client's API before it is thrown. `input` is the index of the input
       * that caused the error.
       */
      readonly located: (error: unknown, input: number) => unknown;
    },
  ): Promise<Embeddings>;
  /** Number of requests that are waiting or being answered. */
  readonly runningCount: number;
}

interface Dependencies {
  readonly directory: Pick<ModelDirectory, "resolve" | "adapterFault">;
  readonly bases: ServedBases;
  readonly metrics: Metrics;
  /** Counts the requests that use each adapter, so that no adapter in use is deleted. */
  readonly adapters?: AdaptersInUse;
  /** Counts the usage of each API key; absent or null if usage is not counted. */
  readonly usage?: UsageCounter | null;
  /**
   * Limits how many requests of each entity may wait. Shared with all other code that submits requests to the engines;
   * absent if unlimited.
   */
  readonly waitingSlots?: WaitingSlots;
}

/** Maximum number of input tokens in a request, equal to OpenAI's limit. */
export const inputTokensMax = 300_000;

/**
 * Maximum number of inputs of one request that the engine has at the same time. They fill a batch, but only a small
 * part of the queue.
 */
const concurrencyMax = 16;

export function createEmbeddingService({
  directory,
  bases,
  metrics,
  usage = null,
  waitingSlots,
  adapters = new AdaptersInUse(),
}: Dependencies): EmbeddingService {
  let runningCount = 0;
  const tokens = metrics.counter({
    name: "hone_embedding_tokens_total",
    help: "Tokens of embedded texts.",
    labels: ["base"],
  });
  const requests = metrics.counter({
    name: "hone_embedding_requests_total",
    help: "Requests for embeddings, by outcome.",
    labels: ["outcome"],
  });
  const embed: EmbeddingService["embed"] = async (request, caller, { signal, allowance = null, located }) => {
    const ends: (() => void)[] = [];
    try {
      const asked = { name: request.model, caller, signal, refuse: refuseWithout, ends };
      const reached = await acquireModel({ directory, bases, adapters }, asked);
      const size = sizeOf(request, reached.base);
      const prompts = await writeAll(request.inputs, reached.base, { caller, signal, located });
      const tokenCount = countOf(prompts);
      const reservation = allowance?.reserve(tokenCount);
      ends.push(() => reservation?.settle());
      const embeddings = await mapConcurrently(
        prompts,
        { concurrencyMax, signal },
        async (tokenIds, index, own) => {
          try {
            const values = await embedOne(tokenIds, reached, {
              caller,
              allowance,
              waitingSlots,
              signal: own,
            });
            return unitVector(values.subarray(0, size));
          } catch (error) {
            throw located(await faultOf(error, reached, directory), index);
          }
        },
      );
      reservation?.use(tokenCount);
      tokens.increase({ base: reached.base.model.name }, tokenCount);
      const { keyId, entity } = caller;
      const by = { keyId, entity, model: reached.model.fullName };
      usage?.count(by, { requests: 1, promptTokens: tokenCount });
      return { model: reached.model.name, embeddings, tokenCount };
    } finally {
      for (const end of ends.toReversed()) end();
    }
  };
  return {
    embed: async (...asked) => {
      runningCount += 1;
      let outcome = "completed";
      try {
        return await embed(...asked);
      } catch (error) {
        outcome = error instanceof ServiceError ? error.code : "internal";
        throw error;
      } finally {
        runningCount -= 1;
        requests.increase({ outcome });
      }
    },
    get runningCount() {
      return runningCount;
    },
  };
}

function refuseWithout({ engine, model }: ServedBase): void {
  if (engine.capabilities.features.has("embeddings")) return;
  const message = `The engine of the model ${model.name} offers no embeddings; name another model.`;
  throw new ServiceError({
    code: "unsupported",
    faults: [{ location: ["model"], message, type: "unsupported" }],
  });
}

/** Returns the number of dimensions of each embedding: the requested number, or the model's own. */
function sizeOf({ dimensions }: EmbeddingRequest, base: ServedBase): number {
  const size = present(servedLimits(base).embeddingSize, "the size of embeddings that an engine offers");
  if (dimensions === null || dimensions <= size) return dimensions ?? size;
  const message = `\`dimensions\` is ${dimensions}; embeddings of the model ${base.model.name} have ${size}. Ask for at most that, or leave it out.`;
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["dimensions"], message, type: "value_error" }],
  });
}

/** Tokenizes every input before the first one is computed, so that a fault in any input is reported early. */
async function writeAll(
  inputs: readonly EmbeddedInput[],
  base: ServedBase,
  {
    caller,
    signal,
    located,
  }: {
    readonly caller: Caller;
    readonly signal: AbortSignal;
    readonly located: (error: unknown, input: number) => unknown;
  },
): Promise<readonly (readonly number[])[]> {
  const { vocabularySize } = servedLimits(base);
  const fit = { purpose: "embed", countMax: servedContextLength(base) } as const;
  const rest = { fit, wantsTexts: false, badWords: [], modelName: base.model.name, vocabularySize };
  return mapConcurrently(inputs, { concurrencyMax, signal }, async (input, index, own) => {
    const prompt = { ...input, addSpecialTokens: true, truncation: null, echo: false };
    try {
      const { tokenIds } = await base.prompts.write(
        { prompt, ...rest },
        { client: caller.entity, signal: own },
      );
      return tokenIds;
    } catch (error) {
      throw located(error, index);
    }
  });
}

function countOf(prompts: readonly (readonly number[])[]): number {
  const count = prompts.reduce((sum, { length }) => sum + length, 0);
  if (count <= inputTokensMax) return count;
  const message = `\`inputs\` has ${count} tokens together; at most ${inputTokensMax} are allowed. Send it in several requests.`;
  throw new ServiceError({ code: "invalid", faults: [{ location: ["inputs"], message, type: "too_long" }] });
}

async function embedOne(
  tokenIds: readonly number[],
  { model, base }: AcquiredModel,
  {
    caller,
    allowance,
    waitingSlots,
    signal,
  }: {
    readonly caller: Caller;
    readonly allowance: Allowance | null;
    readonly waitingSlots: WaitingSlots | undefined;
    readonly signal: AbortSignal;
  },
): Promise<Float32Array> {
  const leaveSlot = waitingSlots?.enter(caller.entity);
  let leaveQueue: (() => void) | undefined;
  try {
    leaveQueue = allowance?.wait(base.model.name, base.engine.status().waitingCountMax);
    const generation = base.engine.submit(embeddingRequest(tokenIds, model.adapter, caller));
    const abort = (): void => generation.abort();
    signal.addEventListener("abort", abort, { once: true });
    return await embeddingIn(generation).finally(() => {
      signal.removeEventListener("abort", abort);
      generation.abort();
    });
  } finally {
    leaveQueue?.();
    leaveSlot?.();
  }
}

async function embeddingIn({ events }: Generation): Promise<Float32Array> {
  for await (const batch of events) {
    for (const event of batch) if (event.kind === "embedding") return event.values;
  }
  throw new ServiceError({ code: "internal", message: "The engine ended without an embedding." });
}

function embeddingRequest(
  tokenIds: readonly number[],
  adapter: GenerationRequest["prompt"]["adapter"],
  { entity }: Caller,
): GenerationRequest {
  return {
    id: newUuid(),
    prompt: { tokenIds, adapter },
    sampling: { ...plainSampling, seed: 0 },
    constraint: null,
    stopping: { maxTokens: 0, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: null, promptLogprobCount: null, embedding: true },
    choices: { kind: "sample", count: 1 },
    priority: 0,
    cacheOwner: entity,
    cacheSalt: null,
  };
}

/** Translates an engine's error. If an adapter or a broken model caused the error, the result names the model. */
async function faultOf(
  error: unknown,
  { model }: AcquiredModel,
  directory: Pick<ModelDirectory, "adapterFault">,
): Promise<unknown> {
  if (isBrokenModel(error)) return brokenModel(model.name, error);
  const isAdapters = error instanceof ServiceError && error.code === "conflict";
  return isAdapters ? directory.adapterFault(model, error) : error;
}
