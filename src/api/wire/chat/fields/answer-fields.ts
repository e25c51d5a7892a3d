// The fields that say how many answers there are, what ends them, and what is shown of them.
import { Type } from "typebox";
import { choiceCountMax } from "../../../../base/domain/generation.ts";
import { isEmpty } from "../../body.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

export const answerFields = {
  use_beam_search: field("output.choices", Type.Optional(Type.Boolean()), {
    about:
      "Searches the n most probable answers with n beams instead of drawing, and returns them whole, the best first; fewer where a constraint leaves fewer. temperature and seed have no effect; stop, top_p, top_k, min_p, logit_bias, penalties and logits_processors are refused beside it.",
    default: false,
    example: true,
    isEngines: true,
    inResponses: false,
  }),
  n: field("output.choices", nullable(Type.Integer({ minimum: 1, maximum: choiceCountMax })), {
    about: "How many answers; the width of a beam search.",
    default: 1,
    example: 2,
    inResponses: false,
  }),
  length_penalty: field("output.choices", Type.Optional(Type.Number()), {
    about:
      "How beam search weighs length: an answer's summed log-probability is divided by its length, prompt included and without the token that ended it, to this power. Needs use_beam_search.",
    default: 1,
    example: 0.8,
    isEngines: true,
    inResponses: false,
  }),
  min_tokens: field("stopping.minTokens", Type.Optional(Type.Integer({ minimum: 0 })), {
    about:
      "Fewest tokens of an answer: what would end it is not drawn before, unless nothing else may come, as where it is complete under its constraint.",
    range: "at most max_tokens",
    default: 0,
    example: 5,
    isEngines: true,
  }),
  stop: field(
    "stopping.stop",
    nullable(Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list[str]" })])),
    {
      about:
        "One text or several that end the answer, and are not part of it; the one that is completed first wins.",
      range: "at most 1,024 texts of 4,096 characters each, none empty, unless configured otherwise",
      default: [],
      example: ["\n\n"],
      besideBeams: isEmpty,
    },
  ),
  stop_token_ids: field("stopping.stopTokenIds", nullable(Type.Array(Type.Integer({ minimum: 0 }))), {
    about: "Token ids that end the answer, beside the model's own; `stop_reason` says which.",
    range: "ids of the vocabulary, at most 65,536 unless configured otherwise",
    default: [],
    example: [2],
  }),
  ignore_eos: field("stopping.ignoreEndTokens", Type.Optional(Type.Boolean()), {
    about: "The model's own end does not end the answer; stop_token_ids still do.",
    default: false,
    example: true,
  }),
  include_stop_str_in_output: field("stopping.includeStopText", Type.Optional(Type.Boolean()), {
    about:
      "Shows the text that ended the answer: the stop string, or that of the stop token unless it is special and these are skipped.",
    default: false,
    example: true,
  }),
  prompt_logprobs: field("output.promptLogprobCount", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Returns how probable each token of the prompt was after those before it, with its rank and so many alternatives; 0 gives the tokens alone. Not in a stream.",
    otherwise: "none",
    example: 1,
    isEngines: true,
    inResponses: false,
  }),
  return_token_ids: field("output.returnTokenIds", nullable(Type.Boolean()), {
    about:
      "Returns the ids of prompt and answer; in the choices of a trained model they are unless it is false.",
    otherwise: "false; a trained model's choices have them",
    example: true,
    inResponses: false,
  }),
  skip_special_tokens: field("output.skipSpecialTokens", Type.Optional(Type.Boolean()), {
    about: "Leaves special tokens out of the text.",
    default: true,
    example: false,
  }),
  // No tokenizer that is read puts blanks there: what a token adds to a text does not depend on its neighbours.
  spaces_between_special_tokens: field(null, Type.Optional(Type.Boolean()), {
    about:
      "Accepted without use: the tokenizers served here put no blanks between special tokens, so both values mean the same.",
    default: true,
    example: false,
    inResponses: false,
  }),
};
