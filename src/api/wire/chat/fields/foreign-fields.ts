// Options of other servers (vLLM, llama.cpp, Ollama) that this server does not have under these names. The server
// refuses a value that asks for anything but the default; the error says which option this server has instead.
import { Type } from "typebox";
import { is, isEmpty, never } from "../../body.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

const drawing = "temperature, top_p, top_k and min_p control sampling here";

export const foreignFields = {
  logprob_token_ids: field(null, nullable(Type.Unknown()), {
    about: "Refused unless empty. Use top_logprobs, which returns the most probable tokens.",
    otherwise: "none",
    example: [42],
    refusedUnless: isEmpty,
    cure: "top_logprobs gives the most probable tokens, and logprobs the one that was drawn",
  }),
  truncation_side: field(null, nullable(Type.String()), {
    about:
      "Any value but `left` is refused, because truncate_prompt_tokens always removes the start of the prompt.",
    default: "left",
    example: "left",
    refusedUnless: is("left"),
    cure: 'truncate_prompt_tokens keeps the end of a prompt: send "left", or leave it out',
  }),
  repetition_detection: field(null, nullable(Type.Unknown()), {
    about:
      "Refused. Use repetition_penalty or the logits processor `no-repeat-ngram` to prevent repetitions.",
    otherwise: "none",
    example: { max_pattern_size: 20 },
    refusedUnless: never,
    cure: "repetition_penalty and the logits processor no-repeat-ngram hold repetitions back",
  }),
  mirostat: field(null, nullable(Type.Number()), {
    about: `Refused unless 0: ${drawing}.`,
    default: 0,
    example: 2,
    refusedUnless: is(0),
    cure: drawing,
  }),
  dry_multiplier: field(null, nullable(Type.Number()), {
    about: "Refused unless 0. Use the logits processor `no-repeat-ngram`, which prevents repeated sequences.",
    default: 0,
    example: 0.8,
    refusedUnless: is(0),
    cure: "repetition_penalty and the logits processor no-repeat-ngram hold repetitions back",
  }),
  xtc_probability: field(null, nullable(Type.Number()), {
    about: `Refused unless 0: ${drawing}.`,
    default: 0,
    example: 0.5,
    refusedUnless: is(0),
    cure: drawing,
  }),
  typical_p: field(null, nullable(Type.Number()), {
    about: `Refused unless 1: ${drawing}.`,
    default: 1,
    example: 0.9,
    refusedUnless: is(1),
    cure: drawing,
  }),
  repeat_penalty: field(null, nullable(Type.Number()), {
    about: "Refused unless 1. Use repetition_penalty.",
    default: 1,
    example: 1.1,
    refusedUnless: is(1),
    cure: "use repetition_penalty, which covers the whole prompt and answer",
  }),
  n_predict: field(null, nullable(Type.Number()), {
    about: "Refused unless -1. Use max_tokens.",
    default: -1,
    example: 100,
    refusedUnless: is(-1),
    cure: "use max_tokens",
  }),
  think: field(null, nullable(Type.Unknown()), {
    about: "Refused. Use reasoning_effort, which controls how much a model thinks.",
    otherwise: "none",
    example: false,
    refusedUnless: never,
    cure: 'reasoning_effort says how much a model thinks, and "none" that it does not',
  }),
  options: field(null, nullable(Type.Unknown()), {
    about: "Refused unless empty. Send its members as separate fields of the request.",
    default: {},
    example: { num_ctx: 4096 },
    refusedUnless: isEmpty,
    cure: "its members are fields of their own here (temperature, top_p, max_tokens for num_predict, ...)",
  }),
};
