// Fields for the number of answers, the conditions that end them, and their output.
import { Type } from "typebox";
import { choiceCountMax } from "../../../../base/domain/generation.ts";
import { isEmpty } from "../../body.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

export const answerFields = {
  use_beam_search: field("output.choices", Type.Optional(Type.Boolean()), {
    about:
      "Searches for the n most probable answers with n beams instead of sampling. Returns them whole, most probable first; a constraint may leave fewer. temperature and seed have no effect. Beam search refuses stop, top_p, top_k, min_p, logit_bias, penalties and logits_processors.",
    default: false,
    example: true,
    isEngineFeature: true,
    inResponses: false,
  }),
  n: field("output.choices", nullable(Type.Integer({ minimum: 1, maximum: choiceCountMax })), {
    about: "Number of answers; the width of a beam search.",
    default: 1,
    example: 2,
    inResponses: false,
  }),
  length_penalty: field("output.choices", Type.Optional(Type.Number()), {
    about:
      "Exponent of the length in beam search: an answer's summed log-probability is divided by its length to this power. The length includes the prompt and excludes the token that ended the answer. Requires use_beam_search.",
    default: 1,
    example: 0.8,
    isEngineFeature: true,
    inResponses: false,
  }),
  min_tokens: field("stopping.minTokens", Type.Optional(Type.Integer({ minimum: 0 })), {
    about:
      "Minimum number of answer tokens. Before that, tokens that would end the answer are not sampled unless no other token is allowed, as when the answer is complete under its constraint.",
    range: "at most max_tokens",
    default: 0,
    example: 5,
    isEngineFeature: true,
  }),
  stop: field(
    "stopping.stop",
    nullable(Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list[str]" })])),
    {
      about: "One text or several that end the answer and are not part of it. The text completed first wins.",
      range: "at most 1,024 texts of 4,096 characters each, none empty, unless configured otherwise",
      default: [],
      example: ["\n\n"],
      allowedWithBeams: isEmpty,
    },
  ),
  stop_token_ids: field("stopping.stopTokenIds", nullable(Type.Array(Type.Integer({ minimum: 0 }))), {
    about:
      "Token ids that end the answer, in addition to the model's own; `stop_reason` names the one that did.",
    range: "ids of the vocabulary, at most 65,536 unless configured otherwise",
    default: [],
    example: [2],
  }),
  ignore_eos: field("stopping.ignoreEndTokens", Type.Optional(Type.Boolean()), {
    about: "Ignores the model's own end tokens; stop_token_ids still apply.",
    default: false,
    example: true,
  }),
  include_stop_str_in_output: field("stopping.includeStopText", Type.Optional(Type.Boolean()), {
    about:
      "Keeps the text that ended the answer: the stop string, or the stop token's text unless the token is special and special tokens are skipped.",
    default: false,
    example: true,
  }),
  prompt_logprobs: field("output.promptLogprobCount", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Returns the log-probability and rank of each prompt token, with this many alternatives; 0 returns only the tokens. Not available in a stream.",
    otherwise: "none",
    example: 1,
    isEngineFeature: true,
    inResponses: false,
  }),
  return_token_ids: field("output.returnTokenIds", nullable(Type.Boolean()), {
    about:
      "Returns the token ids of prompt and answer. Choices of a trained model have them unless this is false.",
    otherwise: "false; a trained model's choices have them",
    example: true,
    inResponses: false,
  }),
  skip_special_tokens: field("output.skipSpecialTokens", Type.Optional(Type.Boolean()), {
    about: "Omits special tokens from the text.",
    default: true,
    example: false,
  }),
  // Has no effect, because no supported tokenizer inserts blanks between special tokens: a token's text does not
  // depend on its neighbours.
  spaces_between_special_tokens: field(null, Type.Optional(Type.Boolean()), {
    about:
      "Accepted without use: the tokenizers served here put no blanks between special tokens, so both values mean the same.",
    default: true,
    example: false,
    inResponses: false,
  }),
};
