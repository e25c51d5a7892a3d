// Tokenization on the wire: what is sent and what is answered, as vLLM spells it. The fields that a chat has too are the
// chat's own.
import { Type } from "typebox";
import type { Tokenized } from "../../../base/domain/chat.ts";
import { conversationFields } from "../chat/fields/conversation-fields.ts";
import { requestFields } from "../chat/fields/request-fields.ts";
import { schemasOf, type Fields } from "../fields/field.ts";
import { nullable, orNull } from "../nullable.ts";

const { messages, add_special_tokens: _, ...others } = conversationFields;

/** What may be said of messages, and means nothing for a text. */
export const renderingFields: Fields = others;

export const tokenizeSchema = Type.Object(
  {
    model: requestFields.model.schema,
    prompt: nullable(Type.String(), {
      description: "A text, tokenized as it stands.",
      "x-default": "messages are there instead",
      examples: ["What is the capital of France?"],
    }),
    messages: Type.Optional(messages.schema),
    ...schemasOf(others),
    add_special_tokens: Type.Optional(
      Type.Boolean({
        description: "Adds the tokenizer's special tokens, such as one that begins a text.",
        "x-default": "true for a prompt, false for messages, whose template writes its own",
        examples: [false],
      }),
    ),
    return_token_strs: nullable(Type.Boolean(), {
      description: "Whether each token is answered as the tokenizer spells it, too.",
      default: false,
      examples: [true],
    }),
  },
  { title: "TokenizeRequest" },
);

export const tokenizedSchema = Type.Object(
  {
    count: Type.Integer({ minimum: 0, description: "How many tokens there are." }),
    max_model_len: Type.Integer({ description: "How many the model takes, prompt and answer together." }),
    tokens: Type.Array(Type.Integer(), { description: "Their ids, as a chat would have them." }),
    token_strs: orNull(Type.Array(Type.String()), {
      description:
        "As the tokenizer spells them (`▁hello`, `Ġhello`), where that was asked for; `/detokenize` says their text.",
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
      description: "Token ids.",
      "x-range": "ids of the vocabulary",
      examples: [[10, 11, 12]],
    }),
  },
  { title: "DetokenizeRequest" },
);

export const detokenizedSchema = Type.Object(
  { prompt: Type.String({ description: "Their text, with that of special tokens." }) },
  { title: "Detokenized" },
);
