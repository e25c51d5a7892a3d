// Request fields for sampling. Each row contains the name of the sampling parameter that its field sets; no other
// module knows these fields.
import { Type, type Static } from "typebox";
import type { LogitsProcessorCall } from "../../../../base/domain/sampling.ts";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";
import { anyObject } from "../../fields/any-object.ts";
import { is, isEmpty, never } from "../../body.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

const seedMax = 2 ** 63;

const logitsProcessorSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      qualname: Type.String({ description: "Name under which the processor is registered." }),
      args: nullable(Type.Array(Type.Unknown()), { description: "Positional arguments of the processor." }),
      kwargs: nullable(anyObject, { description: "Named arguments of the processor." }),
    },
    { title: "LogitsProcessorConstructor" },
  ),
]);

const extraArgument = Type.Union([
  Type.String({ title: "str" }),
  Type.Number({ title: "float" }),
  Type.Array(Type.Union([Type.String({ title: "str" }), Type.Number({ title: "float" })]), { title: "list" }),
]);

const extraArguments = Type.Unsafe<JsonObject>(Type.Object({}, { additionalProperties: extraArgument }));

export const samplingFields = {
  temperature: field("sampling.temperature", nullable(Type.Number({ minimum: 0 })), {
    about:
      "Sampling temperature, by which the logits are divided. 0 always chooses the most probable token. Values between 0 and 0.01 are raised to 0.01.",
    otherwise: "the model's own default, otherwise 1",
    example: 0.7,
  }),
  top_p: field("sampling.topP", nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1 })), {
    about:
      "Samples only from the smallest set of most probable tokens whose probabilities add up to at least this value.",
    otherwise: "the model's own default, otherwise 1",
    example: 0.9,
    allowedWithBeams: is(1),
  }),
  top_k: field("sampling.topK", nullable(Type.Integer({ minimum: -1 })), {
    about: "Samples only from this many most probable tokens; 0 and -1 sample from all tokens.",
    otherwise: "the model's own default, otherwise 0",
    example: 40,
    allowedWithBeams: is(0, -1),
    // Both -1 and 0 switch the option off.
    read: (count) => (count === -1 ? 0 : count),
  }),
  min_p: field("sampling.minP", nullable(Type.Number({ minimum: 0, maximum: 1 })), {
    about:
      "Excludes tokens whose probability is below this fraction of the most probable token's probability.",
    otherwise: "the model's own default, otherwise 0",
    example: 0.05,
    allowedWithBeams: is(0),
  }),
  top_n_sigma: field("sampling.topNSigma", nullable(Type.Number()), {
    about:
      "Excludes tokens whose logit is below the maximum logit by more than this many standard deviations of the logits. Applied before min_p, top_k and top_p, and independent of temperature. Values of 0 or less exclude no tokens.",
    default: 0,
    example: 1,
    allowedWithBeams: (count) => typeof count === "number" && count <= 0,
    read: (count) => Math.max(0, count),
  }),
  repetition_penalty: field("sampling.repetitionPenalty", nullable(Type.Number({ exclusiveMinimum: 0 })), {
    about:
      "Factor that changes the logits of all tokens that occur in the prompt or in the answer so far: positive logits are divided by it, and negative logits are multiplied by it. 1 changes nothing.",
    otherwise: "the model's own default, otherwise 1",
    example: 1.1,
    allowedWithBeams: is(1),
  }),
  frequency_penalty: field("sampling.frequencyPenalty", nullable(Type.Number({ minimum: -2, maximum: 2 })), {
    about: "Subtracted from a token's logit once for each occurrence of the token in the answer so far.",
    default: 0,
    example: 0.5,
    allowedWithBeams: is(0),
  }),
  presence_penalty: field("sampling.presencePenalty", nullable(Type.Number({ minimum: -2, maximum: 2 })), {
    about: "Subtracted from the logit of each token that occurs in the answer so far.",
    default: 0,
    example: 0.5,
    allowedWithBeams: is(0),
  }),
  logit_bias: field(
    "sampling.logitBias",
    nullable(Type.Object({}, { additionalProperties: Type.Number() })),
    {
      about: "Values to add to logits, keyed by token id. Also applies to greedy sampling.",
      range:
        "keys are ids of the vocabulary, at most 32,768 unless configured otherwise; values are clamped to -100 to 100",
      otherwise: "none",
      example: { "42": -100 },
      allowedWithBeams: isEmpty,
      // If several keys name the same token id, such as `7` and `07`, the last one counts.
      read: (biases) => [...new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias]))],
    },
  ),
  allowed_token_ids: field("sampling.allowedTokenIds", nullable(Type.Array(Type.Integer({ minimum: 0 }))), {
    about:
      "The only token ids that may be sampled. Include the model's end token, or the answer cannot end with it.",
    range: "ids of the vocabulary, at least one and at most 65,536 unless configured otherwise",
    otherwise: "all tokens",
    example: [10, 11, 12],
  }),
  bad_words: field("sampling.badWords", Type.Optional(Type.Array(Type.String())), {
    about:
      "Strings that the answer must not contain. The server blocks the token sequence of each string. If the string with a leading space has as many tokens, the server blocks that sequence too. Other tokenizations of the string are not blocked.",
    range:
      "at most 1,024 strings of 4,096 characters each and 65,536 in total, none blank, unless configured otherwise",
    default: [],
    example: ["sorry"],
  }),
  logits_processors: field(
    "sampling.processors",
    nullable(Type.Array(logitsProcessorSchema, { maxItems: 16 })),
    {
      about:
        "Registered logits processors, by name or with arguments. They run in the order of the list, after the logit bias and before the penalties.",
      otherwise: "none",
      example: [{ qualname: "no-repeat-ngram", kwargs: { size: 3 } }],
      allowedWithBeams: isEmpty,
      read: (processors) => processors.map(processorOf),
    },
  ),
  thinking_token_budget: field("sampling.processors", nullable(Type.Integer({ minimum: 0 })), {
    about:
      "Maximum number of thinking tokens, enforced by the logits processor `thinking-budget`. Requires a model whose vocabulary has `<think>` and `</think>`.",
    otherwise: "none",
    example: 200,
    allowedWithBeams: never,
    read: (budget) => [{ name: "thinking-budget", args: [budget], kwargs: {} }],
  }),
  vendor_xargs: field("sampling.extraArguments", nullable(extraArguments), {
    about: "Additional named arguments for all logits processors of the request.",
    range: "values are strings, numbers, or lists of these",
    default: {},
    example: { thinking_budget: 200 },
  }),
  vllm_xargs: field("sampling.extraArguments", nullable(extraArguments), {
    about: "Alias of vendor_xargs.",
    default: {},
    example: { thinking_budget: 200 },
  }),
  seed: field("sampling.seed", nullable(Type.Integer({ minimum: -seedMax, maximum: seedMax })), {
    about:
      "Seed of the random sampling. If the model is `exact` in `/v1/models`, the same request with the same seed gets the same answer, regardless of concurrent requests. For other models the header `x-hone-notice` says that the answer is not reproducible.",
    otherwise: "a new random one",
    example: 7,
  }),
};

function processorOf(processor: Static<typeof logitsProcessorSchema>): LogitsProcessorCall {
  if (typeof processor === "string") return { name: processor, args: [], kwargs: {} };
  const { qualname, args, kwargs } = processor;
  // Safe cast: parsed from JSON.
  return { name: qualname, args: (args ?? []) as readonly Json[], kwargs: (kwargs ?? {}) as JsonObject };
}
