// Converts a generation into the body of `POST /v1/completions`, with token ids as input and output. Sets every field
// that vLLM would otherwise take from the model's generation_config.json.
import { createHash } from "node:crypto";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { newUuid } from "../../../base/domain/random.ts";
import type { PassedParameters } from "../../../base/domain/prompt-transfer.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import { unreachable } from "../../../base/domain/assert.ts";

/** Body of the request, with vLLM's field names. */
export interface CompletionBody {
  readonly model: string;
  readonly prompt: readonly number[];
  readonly request_id: string;
  readonly n: number;
  readonly max_tokens: number;
  readonly min_tokens: number;
  readonly stop_token_ids: readonly number[];
  readonly ignore_eos: boolean;
  readonly seed: number;
  readonly temperature: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly min_p: number;
  readonly repetition_penalty: number;
  readonly frequency_penalty: number;
  readonly presence_penalty: number;
  readonly logit_bias?: Readonly<Record<string, number>>;
  readonly allowed_token_ids?: readonly number[];
  readonly logprobs?: number;
  readonly prompt_logprobs?: number;
  readonly structured_outputs?: StructuredOutputs;
  readonly kv_transfer_params?: PassedParameters;
  readonly priority: number;
  readonly cache_salt: string;
  readonly return_token_ids: true;
  readonly return_tokens_as_token_ids: true;
  readonly skip_special_tokens: false;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: boolean };
}

/**
 * Returns the body of a request for an answer.
 *
 * @param model name under which vLLM serves the model or the adapter
 * @param limits.vocabularySize stop tokens with ids beyond it are left out: vLLM refuses them, and no model samples
 * them
 */
export function completionBody(
  request: GenerationRequest,
  model: string,
  { vocabularySize }: { readonly vocabularySize: number },
): CompletionBody {
  const { sampling, stopping, outputs, constraint } = request;
  const { logitBias, allowedTokenIds } = sampling;
  return {
    model,
    prompt: request.prompt.tokenIds,
    request_id: request.id,
    n: countSequences(request),
    max_tokens: stopping.maxTokens,
    min_tokens: minTokensOf(request),
    stop_token_ids: stopping.stopTokenIds.filter((id) => id < vocabularySize),
    // Under a constraint, only the model's end token shows that an answer is complete, so vLLM must be allowed to
    // sample it.
    ignore_eos: constraint === null,
    seed: seedOf(sampling.seed),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    repetition_penalty: sampling.repetitionPenalty,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    ...(logitBias.length > 0 && { logit_bias: Object.fromEntries(logitBias) }),
    ...(allowedTokenIds !== null && { allowed_token_ids: allowedTokenIds }),
    ...(outputs.topLogprobCount !== null && { logprobs: outputs.topLogprobCount }),
    ...(constraint !== null && { structured_outputs: structuredOutputs(constraint) }),
    ...(request.prompt.passed !== undefined && { kv_transfer_params: request.prompt.passed }),
    priority: request.priority,
    cache_salt: cacheSaltOf(request),
    return_token_ids: true,
    return_tokens_as_token_ids: true,
    skip_special_tokens: false,
  };
}

/**
 * Returns how many answers vLLM should sample for a request. For greedy requests it is one, because their answers are
 * identical, and vLLM refuses to sample several of them.
 */
export function countSequences({ sampling, choices }: GenerationRequest): number {
  return sampling.temperature === 0 || choices.kind === "beam" ? 1 : choices.count;
}

/**
 * Returns the body of a request for a prompt's log-probabilities, which vLLM omits from streams. vLLM must generate at
 * least one token, which Hone ignores.
 */
export function promptBody(
  request: GenerationRequest,
  model: string,
  limits: { readonly vocabularySize: number },
): CompletionBody {
  const promptLogprobCount = request.outputs.promptLogprobCount ?? 0;
  const { tokenIds, adapter } = request.prompt;
  const singleChoice: GenerationRequest = {
    ...request,
    prompt: { tokenIds, adapter },
    sampling: { ...plainSampling, temperature: 0, seed: 0 },
    constraint: null,
    stopping: { maxTokens: 1, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: null, promptLogprobCount },
    choices: { kind: "sample", count: 1 },
  };
  return { ...completionBody(singleChoice, model, limits), prompt_logprobs: promptLogprobCount };
}

/**
 * Returns the body of a probe, which makes the server generate one token. Without it, a server that can no longer
 * compute might seem healthy.
 */
export function probeBody(model: string, limits: { readonly vocabularySize: number }): CompletionBody {
  const probe: GenerationRequest = {
    id: `probe-${newUuid()}`,
    prompt: { tokenIds: [0], adapter: null },
    sampling: { ...plainSampling, temperature: 0, seed: 0 },
    constraint: null,
    stopping: { maxTokens: 1, minTokens: 0, stopTokenIds: [] },
    outputs: { topLogprobCount: null, promptLogprobCount: null },
    choices: { kind: "sample", count: 1 },
    priority: 0,
    cacheOwner: "probe",
    cacheSalt: null,
  };
  return completionBody(probe, model, limits);
}

/**
 * Returns the minimum length to request from vLLM. It is 0 if every allowed token is a stop token: under a minimum
 * length vLLM would forbid all of them, and then sample any token.
 */
function minTokensOf({ sampling: { allowedTokenIds }, stopping }: GenerationRequest): number {
  const stops = new Set(stopping.stopTokenIds);
  return allowedTokenIds?.every((id) => stops.has(id)) === true ? 0 : stopping.minTokens;
}

/**
 * Derives a seed from the request's seed by hashing. vLLM samples choice i with seed + i, so requests with adjacent
 * seeds would otherwise share the samples of nearly all their choices.
 */
function seedOf(seed: number): number {
  const spread = createHash("sha256").update(String(seed)).digest();
  // The seed has 48 bits, because JSON parsers of client and server represent such an integer exactly.
  return spread.readUIntBE(0, 6);
}

/**
 * Returns the salt for vLLM's prefix cache, which reuses cached prompts only under an equal salt. Two requests get the
 * same salt only if their owners and their own salts are equal. vLLM allows at most 128 characters, without `@/\`.
 */
function cacheSaltOf({ cacheOwner, cacheSalt }: GenerationRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([cacheOwner, cacheSalt]))
    .digest("hex");
}

/** Constraint on an answer, with vLLM's field names. */
export type StructuredOutputs =
  | { readonly json: string }
  | { readonly json_object: true }
  | { readonly regex: string }
  | { readonly choice: readonly string[] }
  | { readonly grammar: string }
  | { readonly structural_tag: string };

/**
 * Converts a constraint without its JSON style, because vLLM accepts such fields but ignores them. The engine does not
 * declare that feature, so requests that need it were refused earlier.
 */
function structuredOutputs(constraint: Constraint): StructuredOutputs {
  switch (constraint.kind) {
    case "json-schema":
      return { json: constraint.schema };
    case "json-object":
      return { json_object: true };
    case "regex":
      return { regex: constraint.pattern };
    case "choice":
      return { choice: constraint.choices };
    case "grammar":
      return { grammar: constraint.text };
    case "structural-tag":
      return { structural_tag: constraint.tag };
    default:
      return unreachable(constraint);
  }
}
