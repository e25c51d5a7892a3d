// What has to be known of a vLLM server before it is asked for answers: its version, its model and its limits. What it tells
// nowhere it is asked for by requests that it refuses before anything is computed, since the refusal names the limit.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAdapterName } from "../adapters/adapter-names.ts";
import type { CompletionBody } from "./completion-body.ts";
import { VllmRefusal } from "./vllm-errors.ts";
import type { VllmServer } from "./vllm-server.ts";
import { requireSupported } from "./vllm-versions.ts";

export interface ServerFacts {
  readonly version: string;
  /** By which requests name the model itself. */
  readonly model: string;
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
  /** The most alternatives that a token may carry. */
  readonly logprobCountMax: number;
  /** Those of its adapters that were loaded by servers of this program. */
  readonly adapters: readonly string[];
}

/**
 * Asks a server.
 *
 * @param vocabularySize of the model whose files are here: another one is another model
 * @throws ServiceError `unsupported` for another version, `conflict` for another model, `unavailable`
 */
export async function readServerFacts(
  server: VllmServer,
  { vocabularySize }: { readonly vocabularySize: number },
  options: { readonly signal: AbortSignal },
): Promise<ServerFacts> {
  const version = await server.version(options);
  requireSupported(version);
  const models = await server.models(options);
  const base = models.find(({ parent }) => parent === null);
  if (base?.contextLength === undefined || base.contextLength === null)
    throw new ServiceError({ code: "unavailable", message: "It lists no model with a context length." });
  const limitOf = refusedLimits(server, base.id, options);
  const theirs = await limitOf({ stop_token_ids: [idMax] }, /Vocabulary size: (\d+)/);
  if (theirs !== null && theirs !== vocabularySize)
    throw new ServiceError({
      code: "conflict",
      message: `It serves a model of ${theirs} token ids, and the files here are of one with ${vocabularySize}; name the files of the model that it serves.`,
    });
  const logprobCountMax = await limitOf({ logprobs: idMax }, /max allowed: (\d+)/);
  return {
    version,
    model: base.id,
    contextLength: base.contextLength,
    logprobCountMax: logprobCountMax ?? usualLogprobCountMax,
    adapters: models.flatMap(({ id }) => (isAdapterName(id) ? [id] : [])),
  };
}

/** More than any model has. */
const idMax = 2 ** 31 - 1;

/** vLLM's `--max-logprobs` unless it is given. */
const usualLogprobCountMax = 20;

/** What a number is at most, by the refusal of one that is greater; null where it was not refused by name. */
function refusedLimits(server: VllmServer, model: string, options: { readonly signal: AbortSignal }) {
  return async (greater: Partial<CompletionBody>, limit: RegExp): Promise<number | null> => {
    try {
      await server.complete({ ...smallest(model), ...greater }, options);
      return null;
    } catch (error) {
      const refusal = error instanceof ServiceError ? error.cause : null;
      if (!(refusal instanceof VllmRefusal)) throw error;
      const found = limit.exec(refusal.message)?.[1];
      return found === undefined ? null : Number(found);
    }
  };
}

/** A token after a token. */
function smallest(model: string): CompletionBody {
  return {
    model,
    prompt: [0],
    request_id: "limits",
    n: 1,
    max_tokens: 1,
    min_tokens: 0,
    stop_token_ids: [],
    ignore_eos: true,
    seed: 0,
    temperature: 0,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    frequency_penalty: 0,
    presence_penalty: 0,
    priority: 0,
    cache_salt: "limits",
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    skip_special_tokens: false,
  };
}
