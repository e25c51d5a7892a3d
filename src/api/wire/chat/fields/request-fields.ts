// Fields for the request's identity, the truncation of its prompt, and the delivery of its answer.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";
import { passingSchema } from "../../transfer/passing-params.ts";

export const requestFields = {
  model: field("identity.model", nullable(Type.String()), {
    about:
      "A base model, or a trained model by id, name, project/name or entity/project/name, optionally followed by :stepN or :latest.",
    otherwise: "the server's default model",
    example: "hone-tiny",
  }),
  request_id: field("identity.requestId", Type.Optional(Type.String({ minLength: 1, maxLength: 256 })), {
    about: "Id of the answer, after `chatcmpl-`; refused if a request with this id is running.",
    otherwise: "a fresh one",
    example: "request-1",
  }),
  user: field("identity.user", nullable(Type.String()), {
    about: "The client's name for its user; accepted without use.",
    otherwise: "nobody",
    example: "somebody",
  }),
  priority: field("identity.priority", Type.Optional(Type.Integer()), {
    about:
      "Requests with lower values run earlier and preempt those with higher values. Refused unless 0 or the model is scheduled by priority.",
    default: 0,
    example: -1,
    isEngineFeature: true,
  }),
  cache_salt: field("identity.cacheSalt", nullable(Type.String({ minLength: 1, maxLength: 1024 })), {
    about:
      "Separates cached prompts from requests of the same entity that send another salt or none. Without it, those could learn from `cached_tokens` or the time to the first token that somebody sent the same prompt. Entities never share cached prompts.",
    otherwise: "none",
    example: "a secret that nobody can guess",
    isEngineFeature: true,
  }),
  kv_transfer_params: field("passing", nullable(passingSchema), {
    about:
      "Lets one server compute a prompt and another answer it, as proxies for vLLM servers request it: see [prefill-and-decode.md](../guides/prefill-and-decode.md). Refused unless the operator has configured a shared secret (`transfer.secret`).",
    otherwise: "the prompt is computed and answered here",
    example: { do_remote_decode: true },
    isEngineFeature: true,
    inResponses: false,
  }),
  truncate_prompt_tokens: field(
    "prompt.truncation",
    nullable(Type.Integer({ minimum: -1, maximum: 2 ** 63 })),
    {
      about:
        "Keeps only this many tokens from the prompt's end; -1 keeps as many as fit next to max_completion_tokens.",
      range: "not 0, and at most the context length",
      otherwise: "a prompt that does not fit is refused",
      example: 512,
    },
  ),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "Answers as server-sent events.",
    default: false,
    example: true,
    inResponses: false,
  }),
  stream_options: field(
    "answer form",
    nullable(
      Type.Object(
        {
          include_usage: nullable(Type.Boolean(), {
            default: false,
            description: "Sends the usage in a last chunk without choices.",
          }),
          continuous_usage_stats: nullable(Type.Boolean(), {
            default: false,
            description: "With include_usage: sends the usage so far in every chunk.",
          }),
        },
        { title: "StreamOptions" },
      ),
    ),
    {
      about: "How a stream reports its usage: in a last chunk, or in every chunk. Requires stream.",
      otherwise: "neither",
      example: { include_usage: true },
      inResponses: false,
    },
  ),
  return_tokens_as_token_ids: field("answer form", nullable(Type.Boolean()), {
    about: "Writes the tokens of log-probabilities as token_id:<N>.",
    default: false,
    example: true,
    inResponses: false,
  }),
};
