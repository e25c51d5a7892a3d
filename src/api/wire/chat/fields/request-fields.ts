// Request fields for the request's identity, the truncation of its prompt, and the delivery of its answer.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";
import { passingSchema } from "../../transfer/passing-params.ts";

const flag = (description: string) => nullable(Type.Boolean(), { default: false, description });

export const requestFields = {
  model: field("identity.model", nullable(Type.String()), {
    about:
      "Model that answers: the name of a base model, or a trained model by id, name, project/name or entity/project/name. A trained model's name may end in :stepN for a version, or in :latest.",
    otherwise: "the server's default model",
    example: "hone-tiny",
  }),
  request_id: field("identity.requestId", Type.Optional(Type.String({ minLength: 1, maxLength: 256 })), {
    about:
      "Id of the request; the answer's id is `chatcmpl-` followed by this id. Refused while another request with the same id is running.",
    otherwise: "a new one",
    example: "request-1",
  }),
  user: field("identity.user", nullable(Type.String()), {
    about: "The client's name for its user; accepted without effect.",
    otherwise: "none",
    example: "somebody",
  }),
  priority: field("identity.priority", Type.Optional(Type.Integer()), {
    about:
      "Priority of the request. Requests with lower values run earlier, and preempt requests with higher values. A value other than 0 is refused unless the server schedules by priority (setting `engine.scheduling`).",
    default: 0,
    example: -1,
    isEngineFeature: true,
  }),
  cache_salt: field("identity.cacheSalt", nullable(Type.String({ minLength: 1, maxLength: 1024 })), {
    about:
      "Text that restricts the sharing of cached prompts: only requests of the same entity with the same salt share them. Without a salt, other clients of the entity could learn from `cached_tokens` or from the time to the first token that someone sent the same prompt. Different entities never share cached prompts.",
    otherwise: "none",
    example: "a secret that nobody can guess",
    isEngineFeature: true,
  }),
  kv_transfer_params: field("passing", nullable(passingSchema), {
    about:
      "Disaggregated prefill: one server computes the prompt, another generates the answer. The field has the form that proxies for vLLM servers send; see [prefill-and-decode.md](../guides/prefill-and-decode.md). Refused unless the operator has configured a shared secret (`transfer.secret`).",
    otherwise: "this server computes the prompt and generates the answer",
    example: { do_remote_decode: true },
    isEngineFeature: true,
    inResponses: false,
  }),
  truncate_prompt_tokens: field(
    "prompt.truncation",
    nullable(Type.Integer({ minimum: -1, maximum: 2 ** 63 })),
    {
      about:
        "Number of tokens at the prompt's end that are kept; all earlier tokens are removed. -1 keeps as many tokens as fit into the context together with max_completion_tokens.",
      range: "not 0, and at most the context length",
      otherwise: "no truncation: a prompt that does not fit is refused",
      example: 512,
    },
  ),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "True to receive the answer as server-sent events.",
    default: false,
    example: true,
    inResponses: false,
  }),
  stream_options: field(
    "answer form",
    nullable(
      Type.Object(
        {
          include_usage: flag("True to send the token usage in a last chunk, which has no choices."),
          continuous_usage_stats: flag(
            "With include_usage: true to also send, in every chunk, the number of tokens so far.",
          ),
        },
        { title: "StreamOptions" },
      ),
    ),
    {
      about: "Reporting of token usage in a stream: in a last chunk, or in every chunk. Requires stream.",
      otherwise: "no usage",
      example: { include_usage: true },
      inResponses: false,
    },
  ),
  return_tokens_as_token_ids: field("answer form", nullable(Type.Boolean()), {
    about: "True to identify the tokens of log-probabilities as token_id:<N> instead of by their text.",
    default: false,
    example: true,
    inResponses: false,
  }),
};
