// Request fields for the number of answers, the conditions that end them, and the form of their text.
import { Type } from "typebox";
import { choiceCountMax } from "../../../../base/domain/generation.ts";
import { isEmpty } from "../../body.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

export const answerFields = {
  use_beam_search: field("output.choices", Type.Optional(Type.Boolean()), {
    about:
      "Beam search instead of sampling: n beams search for the n most probable answers, which are returned in order of probability. In a stream, each answer is sent as a whole. A constraint may leave fewer than n answers. temperature and seed have no effect. stop, top_p, top_k, min_p, logit_bias, penalties and logits_processors are refused.",
    default: false,
    example: true,
    isEngineFeature: true,
    inResponses: false,
  }),
  n: field("output.choices", nullable(Type.Integer({ minimum: 1, maximum: choiceCountMax })), {
    about: "Number of answers; with use_beam_search, also the number of beams.",
    default: 1,
    example: 2,
    inResponses: false,
  }),
  length_penalty: field("output.choices", Type.Optional(Type.Number()), {
    about:
      "Exponent of the length in beam search. An answer's score is the sum of its tokens' log-probabilities, divided by its length to this power. The length in tokens includes the prompt and excludes the token that ended the answer. Requires use_beam_search.",
    default: 1,
    example: 0.8,
    isEngineFeature: true,
    inResponses: false,
  }),
  min_tokens: field("stopping.minTokens", Type.Optional(Type.Integer({ minimum: 0 })), {
    about:
      "Minimum number of answer tokens. While the answer is shorter, a token that ends the answer is sampled only if no other token is allowed, for example because the answer already completes its constraint.",
    range: "at most max_tokens",
    default: 0,
    example: 5,
    isEngineFeature: true,
  }),
  stop: field(
    "stopping.stop",
    nullable(Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list[str]" })])),
    {
      about:
        "Stop strings: the answer ends as soon as the model writes one of them, and does not include it. If several stop strings match, the one that is complete first ends the answer.",
      range: "at most 1,024 strings of 4,096 characters each, none empty, unless configured otherwise",
      default: [],
      example: ["\n\n"],
      allowedWithBeams: isEmpty,
    },
  ),
  stop_token_ids: field("stopping.stopTokenIds", nullable(Type.Array(Type.Integer({ minimum: 0 }))), {
    about:
      "Token ids that end the answer, in addition to the model's own end tokens. `stop_reason` is the id that ended the answer.",
    range: "ids of the vocabulary, at most 65,536 unless configured otherwise",
    default: [],
    example: [2],
  }),
  ignore_eos: field("stopping.ignoreEndTokens", Type.Optional(Type.Boolean()), {
    about: "True to continue the answer after the model's own end tokens; stop_token_ids still apply.",
    default: false,
    example: true,
  }),
  include_stop_str_in_output: field("stopping.includeStopText", Type.Optional(Type.Boolean()), {
    about:
      "True to keep the stop string, or the stop token's text, at the end of the answer. The text of a special token is kept only if skip_special_tokens is false.",
    default: false,
    example: true,
  }),
  prompt_logprobs: field("output.promptLogprobCount", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Number of most probable alternatives to return for each prompt token, together with the log-probability and rank of the token itself. 0 returns only the token itself. Not available in a stream.",
    otherwise: "none",
    example: 1,
    isEngineFeature: true,
    inResponses: false,
  }),
  return_token_ids: field("output.returnTokenIds", nullable(Type.Boolean()), {
    about:
      "True to return the token ids of the prompt and the answer. For a trained model, choices include them unless this field is false.",
    otherwise: "false; a trained model's choices include them",
    example: true,
    inResponses: false,
  }),
  skip_special_tokens: field("output.skipSpecialTokens", Type.Optional(Type.Boolean()), {
    about: "True to omit special tokens from the answer's text.",
    default: true,
    example: false,
  }),
  // This field has no effect: the supported tokenizers insert no blanks between special tokens, because the text of a
  // token does not depend on the tokens next to it.
  spaces_between_special_tokens: field(null, Type.Optional(Type.Boolean()), {
    about:
      "Accepted without effect, because the supported tokenizers never put spaces between special tokens.",
    default: true,
    example: false,
    inResponses: false,
  }),
};
