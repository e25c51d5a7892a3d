// The member `options` of Ollama's requests. It contains sampling options under Ollama's names, and options of Ollama's
// runner. The latter have no effect here.
import { Type } from "typebox";
import { cut, type Fault } from "../../../base/domain/service-error.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { named } from "../fields/any-object.ts";
import { nullable } from "../nullable.ts";

/** For each option, the corresponding field of a chat request. */
export const chatNames = {
  temperature: "temperature",
  top_k: "top_k",
  top_p: "top_p",
  min_p: "min_p",
  seed: "seed",
  stop: "stop",
  num_predict: "max_tokens",
  repeat_penalty: "repetition_penalty",
  presence_penalty: "presence_penalty",
  frequency_penalty: "frequency_penalty",
} as const;

const number = (description: string) => nullable(Type.Number(), { description });
const integer = (description: string) => nullable(Type.Integer(), { description });

/** Options that control how Ollama's runner loads and computes a model. In Hone, server settings control this. */
const runnerOptions = {
  num_ctx: integer("Accepted without effect: a request may always use the model's whole context."),
  num_keep: integer("Accepted without effect, because Hone never shifts the context."),
  num_batch: integer("Accepted without effect."),
  num_gpu: integer("Accepted without effect."),
  main_gpu: integer("Accepted without effect."),
  num_thread: integer("Accepted without effect."),
  draft_num_predict: integer("Accepted without effect."),
  use_mmap: nullable(Type.Boolean(), { description: "Accepted without effect." }),
};

export const optionsSchema = Type.Object(
  {
    temperature: number("Sampling temperature; 0 always chooses the most probable token."),
    top_k: integer("Samples only from this many most probable tokens; 0 samples from all."),
    top_p: number("Samples only from the smallest set of tokens whose probabilities reach this value."),
    min_p: number("Excludes tokens whose probability is below this fraction of the highest probability."),
    seed: integer("Seed of the random sampling; -1 for a random seed."),
    stop: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list" })]),
      {
        description: "Texts that end the answer, which excludes them.",
      },
    ),
    num_predict: integer("Maximum number of answer tokens; without a limit if 0 or less."),
    repeat_penalty: number("Penalty on tokens of the prompt and of the answer so far; 1 changes nothing."),
    presence_penalty: number("Subtracted from the logits of tokens that occur in the answer so far."),
    frequency_penalty: number("Subtracted from a token's logit for each occurrence in the answer so far."),
    repeat_last_n: integer(
      "Number of tokens to which `repeat_penalty` applies. With a penalty, only -1 (all tokens) and 0 (no penalty) are supported.",
    ),
    typical_p: number("Refused unless 1, which changes nothing."),
    mirostat: integer("Refused unless 0, which is off."),
    tfs_z: number("Refused unless 1, which changes nothing."),
    ...runnerOptions,
  },
  { ...named, title: "OllamaOptions" },
);

type Options = Readonly<Record<string, unknown>>;

/** Unsupported options, each with its only accepted value, which has no effect. */
const neutral: Readonly<Record<string, number>> = { typical_p: 1, mirostat: 0, tfs_z: 1 };

/** Returns the chat request's fields that the options set. */
export function optionFields(options: Options): object {
  const fields = Object.entries(chatNames).flatMap(([option, field]) => {
    const value = options[option] ?? null;
    return value === null ? [] : [[field, value] as const];
  });
  const { max_tokens: limit, seed, ...rest } = Object.fromEntries(fields);
  return {
    ...rest,
    ...(typeof limit === "number" ? { max_tokens: limit > 0 ? limit : -1 } : {}),
    ...(seed === undefined || seed === -1 ? {} : { seed }),
    ...(options["repeat_last_n"] === 0 ? { repetition_penalty: 1 } : {}),
  };
}

/**
 * Returns faults for options that Hone does not support. The body is not checked yet, so any member may have any type.
 */
export function unservedOptions({ options }: Options): readonly Fault[] {
  if (!isObject(options)) return [];
  const fault = (name: string, cure: string): Fault => ({
    location: ["body", "options", name],
    message: `${name} is not supported by this server; ${cure}.`,
    type: "unsupported",
  });
  const { repeat_penalty: penalty = 1, repeat_last_n: count } = options;
  return [
    ...Object.entries(neutral).flatMap(([name, value]) =>
      (options[name] ?? value) === value ? [] : [fault(name, `leave it out, or send ${value}`)],
    ),
    ...((count ?? -1) === -1 || count === 0 || penalty === null || penalty === 1
      ? []
      : [fault("repeat_last_n", "repeat_penalty applies to all tokens; leave it out, or send -1")]),
  ];
}

/** Returns a notice about options that have no effect; empty if there are none. */
export function optionNotices(options: Options): readonly string[] {
  const names = Object.keys(runnerOptions).filter((name) => (options[name] ?? null) !== null);
  return names.length === 0 ? [] : [`options without effect: ${cut(names.join(", "))}`];
}
