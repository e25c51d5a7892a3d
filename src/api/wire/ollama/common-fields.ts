// Fields that chat requests and text completion requests of Ollama's API share.
import { Type } from "typebox";
import { report, type Findings } from "../../../base/validation/findings.ts";
import { is } from "../body.ts";
import { requestFields } from "../chat/fields/request-fields.ts";
import { anyObject } from "../fields/any-object.ts";
import { field } from "../fields/field.ts";
import { nullable } from "../nullable.ts";
import { optionsSchema } from "./options.ts";

/** Accepted values of `think`; a level sets the reasoning effort. */
const thinkLevels = ["low", "medium", "high", "max"] as const;

export const keepAliveField = () =>
  field("read", nullable(Type.Union([Type.Number({ title: "float" }), Type.String({ title: "str" })])), {
    about:
      "Accepted without effect, because the setting `models.keepAliveSeconds` decides how long a model stays loaded. Refused if it asks to unload the model.",
    otherwise: "the server's setting",
    example: "5m",
  });

export const commonFields = {
  model: field("read", nullable(Type.String()), {
    about:
      "Model that answers, by any name that a chat request accepts. `:latest` after a name changes nothing.",
    otherwise: "the server's default model",
    example: requestFields.model.example,
  }),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "True to receive the answer as lines of JSON, false for a single object.",
    default: true,
    example: false,
  }),
  format: field("read", nullable(Type.Union([Type.String({ title: "str" }), anyObject])), {
    about: "Format of the answer: `json` for any JSON object, or a JSON Schema.",
    otherwise: "free text",
    example: { type: "object", properties: { city: { type: "string" } } },
  }),
  options: field("read", nullable(optionsSchema), {
    about: "Options of sampling.",
    otherwise: "the model's own defaults",
    example: { temperature: 0, num_predict: 64 },
  }),
  think: field("read", nullable(Type.Union([Type.Boolean({ title: "bool" }), Type.Enum([...thinkLevels])])), {
    about:
      "False to forbid thinking before the answer; true, or a level, to ask for it. A model that does not think refuses true and levels.",
    otherwise: "the chat template's own",
    example: false,
  }),
  logprobs: field("read", nullable(Type.Boolean()), {
    about: "True to return the log-probability of each answer token.",
    default: false,
    example: true,
  }),
  top_logprobs: field("read", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about: "Number of most probable alternatives to return for each answer token; requires logprobs.",
    default: 0,
    example: 3,
  }),
  keep_alive: keepAliveField(),
  truncate: field(null, nullable(Type.Boolean()), {
    about:
      "Refused if true: Hone refuses a prompt that does not fit into the context, and removes no messages.",
    default: false,
    refusedUnless: is(false),
    cure: "leave it out, and send fewer messages",
  }),
  shift: field(null, nullable(Type.Boolean()), {
    about: "Refused if true: an answer ends when the context is full.",
    default: false,
    refusedUnless: is(false),
  }),
  _debug_render_only: field(null, nullable(Type.Boolean()), {
    about: "Refused if true; `POST /tokenize` returns a prompt's tokens.",
    default: false,
    refusedUnless: is(false),
    cure: "send the messages to POST /tokenize instead",
  }),
};

/** Adds a fault if `format` is a text that Ollama does not define. The body is not checked yet. */
export function checkFormat({ format }: Readonly<Record<string, unknown>>, findings: Findings): void {
  if (typeof format !== "string" || format === "" || format === "json") return;
  report(findings, "value_error", 'Value error, format should be "json" or a JSON Schema.', "format");
}
