// The fields that say how tokens are drawn. Each is read as the parameter of sampling that it names: nothing else knows them.
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
      qualname: Type.String({ description: "The registered name." }),
      args: nullable(Type.Array(Type.Unknown()), { description: "Its arguments by position." }),
      kwargs: nullable(anyObject, { description: "Its arguments by name." }),
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
    about: "Divides the logits; 0 is greedy, and what is between 0 and 0.01 counts as 0.01.",
    otherwise: "the model's own, else 1",
    example: 0.7,
  }),
  top_p: field("sampling.topP", nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1 })), {
    about: "Draws among the fewest most probable tokens that have this much together.",
    otherwise: "the model's own, else 1",
    example: 0.9,
    besideBeams: is(1),
  }),
  top_k: field("sampling.topK", nullable(Type.Integer({ minimum: -1 })), {
    about: "Draws among so many most probable tokens; 0 and -1 among all.",
    otherwise: "the model's own, else 0",
    example: 40,
    besideBeams: is(0, -1),
    // -1 is another spelling of 0, which is off.
    read: (count) => (count === -1 ? 0 : count),
  }),
  min_p: field("sampling.minP", nullable(Type.Number({ minimum: 0, maximum: 1 })), {
    about: "Leaves out tokens less probable than this part of the most probable one.",
    otherwise: "the model's own, else 0",
    example: 0.05,
    besideBeams: is(0),
  }),
  top_n_sigma: field("sampling.topNSigma", nullable(Type.Number()), {
    about:
      "Leaves out tokens whose logit is more than so many standard deviations of the logits below the greatest, whatever the temperature, before min_p, top_k and top_p; 0 and less leave out none.",
    default: 0,
    example: 1,
    besideBeams: (count) => typeof count === "number" && count <= 0,
    read: (count) => Math.max(0, count),
  }),
  repetition_penalty: field("sampling.repetitionPenalty", nullable(Type.Number({ exclusiveMinimum: 0 })), {
    about:
      "Divides the positive logits of tokens that prompt or answer have, and multiplies their negative ones.",
    otherwise: "the model's own, else 1",
    example: 1.1,
    besideBeams: is(1),
  }),
  frequency_penalty: field("sampling.frequencyPenalty", nullable(Type.Number({ minimum: -2, maximum: 2 })), {
    about: "Subtracted from a token's logit for each time the answer has it.",
    default: 0,
    example: 0.5,
    besideBeams: is(0),
  }),
  presence_penalty: field("sampling.presencePenalty", nullable(Type.Number({ minimum: -2, maximum: 2 })), {
    about: "Subtracted from the logit of each token that the answer has.",
    default: 0,
    example: 0.5,
    besideBeams: is(0),
  }),
  logit_bias: field(
    "sampling.logitBias",
    nullable(Type.Object({}, { additionalProperties: Type.Number() })),
    {
      about: "Added to the logits of these token ids, greedy or not.",
      range:
        "keys are ids of the vocabulary, at most 32,768 unless configured otherwise; values beyond -100 and 100 count as these",
      otherwise: "none",
      example: { "42": -100 },
      besideBeams: isEmpty,
      // Of several spellings of one id the last counts.
      read: (biases) => [...new Map(Object.entries(biases).map(([id, bias]) => [Number(id), bias]))],
    },
  ),
  allowed_token_ids: field("sampling.allowedTokenIds", nullable(Type.Array(Type.Integer({ minimum: 0 }))), {
    about: "Only these token ids may be drawn; the model's end is not among them by itself.",
    range: "ids of the vocabulary, at least one and at most 65,536 unless configured otherwise",
    otherwise: "all",
    example: [10, 11, 12],
  }),
  bad_words: field("sampling.badWords", Type.Optional(Type.Array(Type.String())), {
    about:
      "Texts that the answer must not hold, as the model's tokens spell them at its beginning, and after a blank where that takes as many tokens; other spellings get through.",
    range:
      "at most 1,024 texts of 4,096 characters each and 65,536 together, none blank, unless configured otherwise",
    default: [],
    example: ["sorry"],
  }),
  logits_processors: field(
    "sampling.processors",
    nullable(Type.Array(logitsProcessorSchema, { maxItems: 16 })),
    {
      about:
        "Steps on the logits that the server has by name, with their arguments; in this order, after the logit bias and before penalties.",
      otherwise: "none",
      example: [{ qualname: "no-repeat-ngram", kwargs: { size: 3 } }],
      besideBeams: isEmpty,
      read: (processors) => processors.map(processorOf),
    },
  ),
  thinking_token_budget: field("sampling.processors", nullable(Type.Integer({ minimum: 0 })), {
    about:
      "Most tokens of a thought: the logits processor `thinking-budget` with this budget, for models whose vocabulary has `<think>` and `</think>`.",
    otherwise: "none",
    example: 200,
    besideBeams: never,
    read: (budget) => [{ name: "thinking-budget", args: [budget], kwargs: {} }],
  }),
  vendor_xargs: field("sampling.extraArguments", nullable(extraArguments), {
    about: "Further arguments, which every logits processor of the request is given.",
    range: "values are texts, numbers or lists of them",
    default: {},
    example: { thinking_budget: 200 },
  }),
  vllm_xargs: field("sampling.extraArguments", nullable(extraArguments), {
    about: "The same as vendor_xargs, by another name.",
    default: {},
    example: { thinking_budget: 200 },
  }),
  seed: field("sampling.seed", nullable(Type.Integer({ minimum: -seedMax, maximum: seedMax })), {
    about:
      "Makes the answer reproducible, whatever else is being answered, where the model is `exact` in `/v1/models`; of others the header `x-hone-notice` says that it does not.",
    otherwise: "a fresh one",
    example: 7,
  }),
};

function processorOf(processor: Static<typeof logitsProcessorSchema>): LogitsProcessorCall {
  if (typeof processor === "string") return { name: processor, args: [], kwargs: {} };
  const { qualname, args, kwargs } = processor;
  // Both came out of JSON.
  return { name: qualname, args: (args ?? []) as readonly Json[], kwargs: (kwargs ?? {}) as JsonObject };
}
