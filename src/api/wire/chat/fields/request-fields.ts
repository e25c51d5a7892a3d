// The fields that say whom a request is for, how much of its prompt is kept, and how its answer is sent.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";
import { passingSchema } from "../../transfer/passing-params.ts";

export const requestFields = {
  model: field("identity.model", nullable(Type.String()), {
    about:
      "A base model, or a trained one by id, name, project/name or entity/project/name, each with :stepN or :latest where wanted.",
    otherwise: "the server's default model",
    example: "hone-tiny",
  }),
  request_id: field("identity.requestId", Type.Optional(Type.String({ minLength: 1, maxLength: 256 })), {
    about: "The id of the answer, after `chatcmpl-`; one that is running is refused.",
    otherwise: "a fresh one",
    example: "request-1",
  }),
  user: field("identity.user", nullable(Type.String()), {
    about: "Whom the request is for, in the client's words; accepted without use.",
    otherwise: "nobody",
    example: "somebody",
  }),
  priority: field("identity.priority", Type.Optional(Type.Integer()), {
    about:
      "Lower is answered earlier, and takes room from what is higher; anything but 0 is refused unless the model is scheduled by priority.",
    default: 0,
    example: -1,
    isEngines: true,
  }),
  cache_salt: field("identity.cacheSalt", nullable(Type.String({ minLength: 1, maxLength: 1024 })), {
    about:
      "Keeps what is computed of the prompt from requests of the same entity with another salt or none, which could else find out by the time to the first token, or by `cached_tokens`, that somebody sent the same. Other entities never share it.",
    otherwise: "none",
    example: "a secret nobody guesses",
    isEngines: true,
  }),
  kv_transfer_params: field("passing", nullable(passingSchema), {
    about:
      "Has a prompt computed by one server and answered by another, as proxies before vLLM's servers ask for it: see [prefill-and-decode.md](../guides/prefill-and-decode.md). Refused unless the operator has servers share a secret (`transfer.secret`).",
    otherwise: "the prompt is computed and answered here",
    example: { do_remote_decode: true },
    isEngines: true,
    inResponses: false,
  }),
  truncate_prompt_tokens: field(
    "prompt.truncation",
    nullable(Type.Integer({ minimum: -1, maximum: 2 ** 63 })),
    {
      about: "Keeps the last so many tokens of the prompt; -1 as many as fit beside max_completion_tokens.",
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
            description: "A last chunk has the usage, and no choices.",
          }),
          continuous_usage_stats: nullable(Type.Boolean(), {
            default: false,
            description: "With include_usage: every chunk has the usage so far.",
          }),
        },
        { title: "StreamOptions" },
      ),
    ),
    {
      about: "Whether a stream ends with the usage, and carries it in every chunk; only with stream.",
      otherwise: "neither",
      example: { include_usage: true },
      inResponses: false,
    },
  ),
  return_tokens_as_token_ids: field("answer form", nullable(Type.Boolean()), {
    about: "Spells tokens of log-probabilities as token_id:<N>.",
    default: false,
    example: true,
    inResponses: false,
  }),
};
