// Implements the stub's `POST /v1/completions`: converts a request body into a request to an engine, and the engine's
// events and errors into vLLM's form.
import type { ServerResponse } from "node:http";
import { systemClock } from "../../../base/domain/clock.ts";
import type { Constraint, ConstraintRule } from "../../../base/domain/constraint.ts";
import type {
  AdapterReference,
  Engine,
  GeneratedToken,
  GenerationEvent,
  GenerationRequest,
  PromptLogprob,
} from "../../../base/domain/generation.ts";
import type { PassedParameters } from "../../../base/domain/prompt-transfer.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { CompletionBody } from "../client/completion-body.ts";
import type { StructuredOutputs } from "../client/completion-body.ts";
import type { Latencies } from "./recorded-latencies.ts";

export type SentCompletion = CompletionBody;

/** A refusal with the text that vLLM uses. */
export class StubRefusal extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;

  constructor(status: number, type: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }
}

/** Returns the server's response to an error. */
export function refusalOf(error: unknown): { readonly status: number; readonly body: unknown } {
  const { message, type, param, status } =
    error instanceof StubRefusal
      ? error
      : { message: String(error), type: "InternalServerError", param: null, status: statusOf(error) };
  return { status, body: { error: { message, type, param, code: status } } };
}

function statusOf(error: unknown): number {
  return error instanceof ServiceError && error.code === "unsupported" ? 400 : 500;
}

export interface StubModel {
  readonly behind: Engine;
  readonly adapter: AdapterReference | null;
  readonly model: string;
  readonly contextLength: number;
  readonly vocabularySize: number;
  readonly endTokenId: number;
  readonly logprobCountMax: number;
  readonly latencies?: Latencies;
  readonly promptTokensDetails: boolean;
  /** Parameters that a connector returns for a held prompt; null without a connector. */
  readonly heldAs: PassedParameters | null;
}

let lastId = 0;

export async function answerCompletion(
  body: SentCompletion,
  model: StubModel,
  response: ServerResponse,
): Promise<void> {
  refuse(body, model);
  const generation = model.behind.submit(requestOf(body, model));
  response.once("close", () => generation.abort());
  if (body.stream !== true) {
    const events: GenerationEvent[] = [];
    for await (const batch of generation.events) events.push(...batch);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(wholeAnswer(body, model, events)));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const send = (value: unknown): void => void response.write(`data: ${JSON.stringify(value)}\n\n`);
  let cachedTokenCount = 0;
  try {
    let hasBegun = false;
    for await (const batch of generation.events) {
      for (const event of batch) if (event.kind === "prompt-computed") ({ cachedTokenCount } = event);
      for (const chunk of chunksOf(batch, body, model)) {
        const { latencies } = model;
        if (latencies !== undefined)
          await systemClock.sleep(hasBegun ? latencies.nextTokenMs() : latencies.firstTokenMs());
        hasBegun = true;
        send(chunk);
      }
    }
    if (body.stream_options?.include_usage === true)
      send({ ...headOf(body, model), choices: [], usage: usageOf(body, model, cachedTokenCount) });
  } catch (error) {
    send(refusalOf(error).body);
  }
  response.end("data: [DONE]\n\n");
}

function refuse(body: SentCompletion, { vocabularySize, logprobCountMax, contextLength }: StubModel): void {
  const bad = (message: string, parameter: string, value: unknown): never => {
    throw new StubRefusal(
      400,
      "BadRequestError",
      `${message} (parameter=${parameter}, value=${String(value)})`,
      parameter,
    );
  };
  if (body.prompt.length >= contextLength)
    bad("This model's maximum context length is too small", "input_tokens", "");
  if (body.temperature > 2)
    bad(`temperature must be in [0, 2], got ${body.temperature}.`, "temperature", body.temperature);
  if (body.temperature === 0 && body.n > 1)
    bad(`n must be 1 when using greedy sampling, got ${body.n}.`, "n", body.n);
  const strange = body.stop_token_ids.filter((id) => id >= vocabularySize);
  if (strange.length > 0)
    bad(
      `token_id(s) [${strange.join(", ")}] in stop_token_ids contain out-of-vocab token ids. Vocabulary size: ${vocabularySize}`,
      "stop_token_ids",
      `[${strange.join(", ")}]`,
    );
  for (const [name, count] of [
    ["sample", body.logprobs ?? 0],
    ["prompt", body.prompt_logprobs ?? 0],
  ] as const)
    if (count > logprobCountMax)
      bad(
        `Requested ${name} logprobs of ${count}, which is greater than max allowed: ${logprobCountMax}`,
        "logprobs",
        count,
      );
  if (body.stream === true && (body.prompt_logprobs ?? 0) > 0)
    bad("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs", body.prompt_logprobs);
  if (body.cache_salt.length > 128 || /[@/\\]/.test(body.cache_salt)) bad("cache_salt", "cache_salt", "");
}

function requestOf(body: SentCompletion, { adapter, endTokenId, behind }: StubModel): GenerationRequest {
  const isOffered = behind.capabilities.features.has("priority");
  return {
    id: `${body.request_id} ${++lastId}`,
    prompt: { tokenIds: body.prompt, adapter },
    sampling: {
      ...plainSampling,
      temperature: body.temperature,
      topP: body.top_p,
      topK: body.top_k,
      minP: body.min_p,
      repetitionPenalty: body.repetition_penalty,
      frequencyPenalty: body.frequency_penalty,
      presencePenalty: body.presence_penalty,
      logitBias: Object.entries(body.logit_bias ?? {}).map(([id, bias]) => [Number(id), bias]),
      allowedTokenIds: body.allowed_token_ids ?? null,
      // The seed differs from the embedded engine's and depends on the number of choices, as in vLLM.
      seed: body.seed * 131 + body.n,
    },
    constraint: body.structured_outputs === undefined ? null : constraintOf(body.structured_outputs),
    stopping: {
      maxTokens: body.max_tokens,
      minTokens: body.min_tokens,
      stopTokenIds: [...body.stop_token_ids, ...(body.ignore_eos ? [] : [endTokenId])],
    },
    outputs: {
      topLogprobCount: body.logprobs ?? null,
      promptLogprobCount: body.prompt_logprobs ?? null,
    },
    choices: { kind: "sample", count: body.n },
    // A server with first-come, first-served scheduling ignores the priority.
    priority: isOffered ? body.priority : 0,
    cacheOwner: "",
    cacheSalt: body.cache_salt,
  };
}

function constraintOf(outputs: StructuredOutputs): Constraint {
  const options = { allowsAnyWhitespace: true, whitespacePattern: null, allowsAdditionalProperties: true };
  return { ...ruleOf(outputs), ...options };
}

function ruleOf(outputs: StructuredOutputs): ConstraintRule {
  if ("json" in outputs) return { kind: "json-schema", schema: outputs.json };
  if ("json_object" in outputs) return { kind: "json-object" };
  if ("regex" in outputs) return { kind: "regex", pattern: outputs.regex };
  if ("choice" in outputs) return { kind: "choice", choices: outputs.choice };
  if ("grammar" in outputs) return { kind: "grammar", text: outputs.grammar };
  return { kind: "structural-tag", tag: outputs.structural_tag };
}

/** Returns a chunk for each event. vLLM reports the end of a choice together with its last tokens. */
function chunksOf(
  batch: readonly GenerationEvent[],
  body: SentCompletion,
  model: StubModel,
): readonly unknown[] {
  return batch.flatMap((event, index) => {
    if (event.kind === "tokens") {
      const next = batch.slice(index + 1).find((other) => "choice" in other && other.choice === event.choice);
      const end = next?.kind === "choice-finished" ? next : null;
      return [chunkOf(event.choice, event.tokens, end, body, model)];
    }
    if (event.kind !== "choice-finished") return [];
    const before = batch
      .slice(0, index)
      .findLast((other) => "choice" in other && other.choice === event.choice);
    return before?.kind === "tokens" ? [] : [chunkOf(event.choice, [], event, body, model)];
  });
}

type Finish = Extract<GenerationEvent, { readonly kind: "choice-finished" }>;

function chunkOf(
  index: number,
  tokens: readonly GeneratedToken[],
  end: Finish | null,
  body: SentCompletion,
  model: StubModel,
): unknown {
  return {
    ...headOf(body, model),
    choices: [{ index, text: "", ...endOf(end, body), ...tokenFields(tokens, body) }],
  };
}

function headOf({ request_id: id }: SentCompletion, { model }: StubModel): object {
  return { id: `cmpl-${id}`, object: "text_completion", created: 1, model };
}

/** Returns a usage report. Fields that Hone does not read get arbitrary numbers. */
function usageOf({ prompt }: SentCompletion, model: StubModel, cachedTokenCount: number): object {
  const details = { cached_tokens: cachedTokenCount, created_cache_tokens: null, multimodal_tokens: null };
  return {
    prompt_tokens: prompt.length,
    completion_tokens: 1,
    total_tokens: prompt.length + 1,
    prompt_tokens_details: model.promptTokensDetails ? details : null,
  };
}

function endOf(end: Finish | null, body: SentCompletion) {
  const stopTokenId = end?.stopTokenId ?? null;
  const isNamed = stopTokenId !== null && body.stop_token_ids.includes(stopTokenId);
  return { finish_reason: end?.reason ?? null, stop_reason: isNamed ? stopTokenId : null };
}

/** Returns the token fields of a chunk. For each token, the token itself comes first, then the alternatives by rank. */
function tokenFields(tokens: readonly GeneratedToken[], body: SentCompletion) {
  const logprobs = {
    text_offset: tokens.map(() => 0),
    tokens: tokens.map(({ id }) => spelled(id)),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map((token) =>
      Object.fromEntries([token, ...token.alternatives].map(({ id, logprob }) => [spelled(id), logprob])),
    ),
  };
  return {
    logprobs: body.logprobs === undefined ? null : logprobs,
    token_ids: tokens.map(({ id }) => id),
  };
}

function spelled(id: number): string {
  return `token_id:${id}`;
}

function wholeAnswer(body: SentCompletion, model: StubModel, events: readonly GenerationEvent[]): unknown {
  const prompt = events.flatMap((event) => (event.kind === "prompt-logprobs" ? event.tokens : []));
  const choices = Array.from({ length: body.n }, (_, index) => {
    const own = events.filter((event) => "choice" in event && event.choice === index);
    const tokens = own.flatMap((event) => (event.kind === "tokens" ? event.tokens : []));
    const end = own.find((event) => event.kind === "choice-finished");
    return {
      index,
      text: "",
      ...endOf(end?.kind === "choice-finished" ? end : null, body),
      ...tokenFields(tokens, body),
      prompt_token_ids: body.prompt,
      prompt_logprobs: body.prompt_logprobs === undefined ? null : prompt.map(promptEntry),
    };
  });
  const isHeld = body.kv_transfer_params?.["do_remote_decode"] === true;
  return { ...headOf(body, model), choices, kv_transfer_params: isHeld ? model.heldAs : null };
}

function promptEntry(token: PromptLogprob | null): unknown {
  if (token === null) return null;
  const entries = [token, ...token.alternatives].map(({ id, logprob, rank }) => [
    String(id),
    { logprob, rank, decoded_token: "" },
  ]);
  return Object.fromEntries(entries);
}
