// Schemas of tokenization requests and answers, as in vLLM's API. A field that a chat request has too has the same
// schema as there.
import { Type } from "typebox";
import type { Tokenized } from "../../../base/domain/chat.ts";
import { conversationFields } from "../chat/fields/conversation-fields.ts";
import { requestFields } from "../chat/fields/request-fields.ts";
import { schemasOf, type Fields } from "../fields/field.ts";
import { nullable, orNull } from "../nullable.ts";

const { messages, add_special_tokens: _, ...others } = conversationFields;

/** Request fields that apply only to messages, not to a prompt. */
export const renderingFields: Fields = others;

export const tokenizeSchema = Type.Object(
  {
    model: requestFields.model.schema,
    prompt: nullable(Type.String(), {
      description: "Text to tokenize, without a chat template. Give either prompt or messages.",
      "x-default": "none",
      examples: ["What is the capital of France?"],
    }),
    messages: Type.Optional(messages.schema),
    ...schemasOf(others),
    add_special_tokens: Type.Optional(
      Type.Boolean({
        description: "Adds the tokenizer's special tokens, such as a beginning-of-text token.",
        "x-default": "true for a prompt; false for messages, because the chat template adds special tokens",
        examples: [false],
      }),
    ),
    return_token_strs: nullable(Type.Boolean(), {
      description: "True to also return each token in the tokenizer's spelling.",
      default: false,
      examples: [true],
    }),
  },
  { title: "TokenizeRequest" },
);

export const tokenizedSchema = Type.Object(
  {
    count: Type.Integer({ minimum: 0, description: "Number of tokens." }),
    max_model_len: Type.Integer({
      description: "The model's context length in tokens, prompt and answer together.",
    }),
    tokens: Type.Array(Type.Integer(), {
      description: "Token ids of the text, or of the prompt that a chat request with these messages has.",
    }),
    token_strs: orNull(Type.Array(Type.String()), {
      description:
        "Tokens in the tokenizer's spelling (such as `▁hello` or `Ġhello`), if requested; `/detokenize` returns their text.",
    }),
  },
  { title: "Tokenized" },
);

export function tokenizedBody({ tokenIds, texts, contextLength }: Tokenized): object {
  return { count: tokenIds.length, max_model_len: contextLength, tokens: tokenIds, token_strs: texts };
}

export const detokenizeSchema = Type.Object(
  {
    model: requestFields.model.schema,
    tokens: Type.Array(Type.Integer({ minimum: 0 }), {
      description: "Token ids to convert.",
      "x-range": "ids of the vocabulary",
      examples: [[10, 11, 12]],
    }),
  },
  { title: "DetokenizeRequest" },
);

export const detokenizedSchema = Type.Object(
  { prompt: Type.String({ description: "Text of the tokens, including special tokens." }) },
  { title: "Detokenized" },
);
