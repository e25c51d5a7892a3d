// Fields of a request for a text completion in Ollama's API.
import { Type } from "typebox";
import { type BodyForm, is, isEmpty } from "../body.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";
import { checkFormat, commonFields } from "./common-fields.ts";
import { unservedOptions } from "./options.ts";

const generateFields = {
  prompt: field("read", nullable(Type.String()), {
    about:
      "Text of the user, to which the chat template is applied unless `raw` is set. Without a prompt, the request only loads the model.",
    default: "",
    example: "Why is the sky blue?",
  }),
  system: field("read", nullable(Type.String()), {
    about: "System message before the prompt.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  raw: field("read", nullable(Type.Boolean()), {
    about: "True to continue the prompt as it is, without a chat template.",
    default: false,
    example: true,
  }),
  ...commonFields,
  template: field(null, nullable(Type.String()), {
    about: "Refused unless empty, because Hone's templates are Jinja templates.",
    default: "",
    refusedUnless: is(""),
    cure: "write the prompt as the model should read it and set raw, or send chat_template to /v1/chat/completions",
  }),
  context: field(null, nullable(Type.Array(Type.Integer())), {
    about: "Refused unless empty. Answers have no `context` either.",
    default: [],
    refusedUnless: isEmpty,
    cure: "send the earlier messages to /api/chat",
  }),
  suffix: field(null, nullable(Type.String()), {
    about: "Refused unless empty.",
    default: "",
    refusedUnless: is(""),
    cure: "leave it out",
  }),
  images: field(null, nullable(Type.Array(Type.Unknown())), {
    about: "Refused unless empty, because this server's models read only text.",
    default: [],
    refusedUnless: isEmpty,
    cure: "leave them out",
  }),
};

const generateSchema = schemaOf("OllamaGenerateRequest", generateFields);

export type GenerateBody = ValuesOf<typeof generateFields>;

export const generateForm: BodyForm<typeof generateSchema> = {
  schema: generateSchema,
  fields: generateFields,
  more: checkFormat,
  moreUnserved: unservedOptions,
};
