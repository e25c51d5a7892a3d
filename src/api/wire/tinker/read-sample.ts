// Converts sample requests of the Tinker API to chat requests whose prompt is a list of token ids. The client chooses
// all options, so the model's own defaults are not used.
import { Type } from "typebox";
import type { ChatRequest } from "../../../base/domain/chat.ts";
import { choiceCountMax } from "../../../base/domain/generation.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import { report } from "../../../base/validation/findings.ts";
import { type BodyForm, is, type MoreChecks, never, type ValueOf } from "../body.ts";
import type { FieldPaths } from "../field-paths.ts";
import { anyObject } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";
import { typeField } from "./session-bodies.ts";

/** Maximum number of alternatives per token, as in chat requests. */
const alternativesMax = 20;

const paramsSchema = Type.Object(
  {
    max_tokens: nullable(Type.Integer({ minimum: 1 }), {
      description: "Maximum number of tokens; absent to fill the context.",
    }),
    seed: nullable(Type.Integer(), { description: "Seed of reproducible samples." }),
    stop: nullable(
      Type.Union([
        Type.String({ minLength: 1, maxLength: 4096 }),
        Type.Array(
          Type.Union([Type.String({ minLength: 1, maxLength: 4096 }), Type.Integer({ minimum: 0 })]),
          {
            maxItems: 1024,
          },
        ),
      ]),
      {
        description:
          "Texts or token ids that end a sample, besides the model's own; an empty list ends none.",
      },
    ),
    temperature: Type.Optional(Type.Number({ minimum: 0, description: "Temperature; 0 is greedy." })),
    top_k: Type.Optional(Type.Integer({ minimum: -1, description: "Top-k; -1 for no limit." })),
    top_p: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1, description: "Top-p." })),
  },
  { description: "Sampling options." },
);

const count = (about: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: alternativesMax, description: about }));
const sampleSchema = Type.Object(
  {
    num_samples: Type.Optional(
      Type.Integer({ minimum: 1, maximum: choiceCountMax, description: "Number of samples." }),
    ),
    prompt: Type.Object(
      {
        chunks: Type.Array(
          Type.Object({
            type: Type.Optional(Type.String({ description: "Only `encoded_text` is supported." })),
            tokens: Type.Optional(Type.Array(Type.Integer({ minimum: 0 }), { description: "Token ids." })),
          }),
          { description: "Parts of the prompt, in order." },
        ),
      },
      { description: "Prompt as tokens." },
    ),
    sampling_params: paramsSchema,
    sampling_session_id: nullable(Type.String(), { description: "Id of the sampling session." }),
    base_model: nullable(Type.String(), { description: "Base model, without a sampling session." }),
    model_path: nullable(Type.String(), {
      description: "Path of saved weights, without a sampling session.",
    }),
    seq_id: nullable(Type.Integer(), { description: "Number of the request in its sampling session." }),
    prompt_logprobs: nullable(Type.Boolean(), {
      description: "True to return log-probabilities of the prompt.",
    }),
    topk_prompt_logprobs: count("Number of alternatives to each token of the prompt."),
    topk_sample_logprobs: count("Number of alternatives to each sampled token."),
    prompt_logprobs_last_n: nullable(Type.Integer({ minimum: 1 }), {
      description:
        "Number of the prompt's last tokens for which to return log-probabilities; absent for all.",
    }),
    target_prompt_logprobs: nullable(anyObject, { description: "Not supported." }),
    prompt_alt_tokens_k: Type.Optional(Type.Integer({ description: "Not supported." })),
    record_stability_info: nullable(Type.Boolean(), { description: "Not supported." }),
    type: typeField,
  },
  { title: "TinkerSample" },
);

export const samplePromiseSchema = Type.Object({
  request_id: Type.String({ description: "Id with which to fetch the samples." }),
  sample_sequence_ids: Type.Array(Type.String(), { description: "Ids of the samples, in order." }),
});

export type SampleBody = ValueOf<typeof sampleSchema>;

const checkCombinations: MoreChecks = (body, findings) => {
  const { sampling_session_id: id, base_model: base, model_path: path } = body;
  if ([id, base, path].every((each) => typeof each !== "string"))
    report(findings, "missing", "Give sampling_session_id, base_model or model_path", "sampling_session_id");
  const chunks = (body["prompt"] as Partial<SampleBody["prompt"]> | undefined)?.chunks;
  if (!Array.isArray(chunks)) return;
  for (const [index, chunk] of chunks.entries()) {
    const type: unknown = (chunk as { readonly type?: unknown } | null)?.type ?? "encoded_text";
    if (type === "encoded_text") continue;
    const message = `Value error, inputs of the kind ${JSON.stringify(type)} are not supported`;
    report(findings, "value_error", message, "prompt", "chunks", String(index));
  }
  if (
    chunks.every((chunk) => (chunk as { readonly tokens?: readonly unknown[] } | null)?.tokens?.length === 0)
  )
    report(findings, "value_error", "Value error, the prompt has no tokens", "prompt");
};

export const sampleForm: BodyForm<typeof sampleSchema> = {
  schema: sampleSchema,
  fields: {
    target_prompt_logprobs: { refusedUnless: never },
    prompt_alt_tokens_k: { refusedUnless: is(0) },
    record_stability_info: { refusedUnless: is(false) },
  },
  more: checkCombinations,
};

/** Paths in the body of the fields that the chat service names in errors. */
export const samplePaths: FieldPaths = {
  model: ["body", "sampling_session_id"],
  "prompt.tokenIds": ["body", "prompt"],
  "sampling.temperature": ["body", "sampling_params", "temperature"],
  "sampling.topP": ["body", "sampling_params", "top_p"],
  "sampling.topK": ["body", "sampling_params", "top_k"],
  "sampling.seed": ["body", "sampling_params", "seed"],
  "stopping.maxTokens": ["body", "sampling_params", "max_tokens"],
  "stopping.stop": ["body", "sampling_params", "stop"],
  "stopping.stopTokenIds": ["body", "sampling_params", "stop"],
  "output.promptLogprobCount": ["body", "prompt_logprobs"],
};

/** @param model name of the model in chat requests */
export function sampleRequest(body: SampleBody, model: string, requestId: string): ChatRequest {
  const { prompt, sampling_params: params, num_samples: choiceCount = 1 } = body;
  const { topk_prompt_logprobs: promptTop = 0, topk_sample_logprobs: sampleTop = 0 } = body;
  const { max_tokens: maxTokens, seed, stop, temperature = 1, top_k: topK = -1, top_p: topP = 1 } = params;
  const stops = stop === undefined || stop === null ? [] : [stop].flat();
  return {
    identity: { requestId, model, user: null, priority: 0, cacheSalt: null },
    prompt: {
      kind: "tokens",
      tokenIds: prompt.chunks.flatMap(({ tokens = [] }) => tokens),
      truncation: null,
      echo: false,
    },
    sampling: {
      ...plainSampling,
      badWords: null,
      temperature,
      topP,
      topK: Math.max(0, topK),
      seed: seed ?? null,
    },
    constraint: null,
    calls: { choice: { kind: "none" }, areParallel: true, areExempt: false, texts: [] },
    stopping: {
      maxTokens: maxTokens ?? Infinity,
      minTokens: 0,
      stop: stops.filter((each) => typeof each === "string"),
      stopTokenIds: stops.filter((each) => typeof each === "number"),
      ignoreEndTokens: Array.isArray(stop) && stop.length === 0,
      includeStopText: true,
    },
    output: {
      choices: { kind: "sample", count: choiceCount },
      logprobs: { topCount: sampleTop },
      promptLogprobCount: body.prompt_logprobs === true || promptTop > 0 ? promptTop : null,
      returnTokenIds: true,
      skipSpecialTokens: false,
      includeReasoning: true,
    },
    // Not recorded: the client trains on the tokens that it receives, so it needs no recording.
    recording: { isWanted: false, metadata: {} },
    passing: null,
    unserved: [],
  };
}
