// Requests of Ollama's API that add, delete or copy models.
import { Type } from "typebox";
import type { BodyForm } from "../body.ts";
import { field, schemaOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";
import { commonFields } from "./common-fields.ts";
import { nameFields } from "./models.ts";

const pullSchema = schemaOf("OllamaPullRequest", {
  ...nameFields,
  stream: field("answer form", commonFields.stream.schema, {
    about: "True to receive the progress as lines of JSON, false for a single object.",
    default: true,
    example: false,
  }),
  insecure: field(null, nullable(Type.Boolean()), { about: "Accepted without effect.", default: false }),
});

export const pullForm: BodyForm<typeof pullSchema> = { schema: pullSchema };

const deleteSchema = schemaOf("OllamaDeleteRequest", nameFields);

export const deleteForm: BodyForm<typeof deleteSchema> = { schema: deleteSchema };

export const statusSchema = Type.Object(
  { status: Type.String({ description: "`success`, or the step that has begun." }) },
  { title: "OllamaStatus" },
);

export const emptySchema = Type.Object({}, { title: "OllamaEmpty", additionalProperties: false });

export const versionSchema = Type.Object(
  {
    version: Type.String({ description: "Version of Ollama whose API this server implements." }),
    hone_version: Type.String({ description: "Version of Hone." }),
  },
  { title: "OllamaVersion" },
);
