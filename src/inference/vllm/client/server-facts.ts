// Reads the facts about a vLLM server that must be known before it gets requests: its version, model and limits. If the
// server does not report a limit, this module sends a request that exceeds the limit. vLLM refuses that request before
// it computes anything, and the refusal names the limit.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { isAdapterName } from "../adapters/adapter-names.ts";
import type { CompletionBody } from "./completion-body.ts";
import { VllmRefusal } from "./vllm-errors.ts";
import type { VllmServer } from "./vllm-server.ts";
import { requireSupported } from "./vllm-versions.ts";

export interface ServerFacts {
  readonly version: string;
  /** Name of the base model in requests to vLLM. */
  readonly model: string;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
  /** Maximum number of alternatives per token. */
  readonly logprobCountMax: number;
  /** Names of the adapters on the server that Hone servers (not the operator) have loaded. */
  readonly adapters: readonly string[];
}

/**
 * Reads the facts of a server.
 *
 * @param vocabularySize vocabulary size of the model whose files are on this machine; if the server's differs, it
 * serves another model
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
      message: `It serves a model of ${theirs} token ids, but the files here are for a model with ${vocabularySize}; name the files of the model that it serves.`,
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

/** A token id that is larger than any id of any model. */
const idMax = 2 ** 31 - 1;

/** Default of vLLM's option `--max-logprobs`. */
const usualLogprobCountMax = 20;

/**
 * Returns a function that sends a value above a limit to the server. That function returns the limit that the server's
 * refusal names; null if the refusal names no limit.
 */
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

/** Returns the body of the smallest possible request: a prompt of one token, and one token to generate. */
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
