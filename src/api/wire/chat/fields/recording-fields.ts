// The fields that say whether a completion is recorded, and under which words it is found.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** As OpenAI bounds them. */
const metadataSchema = Type.Object(
  {},
  {
    additionalProperties: Type.String({ maxLength: 512 }),
    propertyNames: { maxLength: 64 },
    maxProperties: 16,
  },
);

export const recordingFields = {
  store: field("recording.isWanted", nullable(Type.Boolean()), {
    about:
      "False excludes the completion from recording. True has an effect only if the operator records completions on request (`recordings.record`). Only answers of trained models are recorded.",
    otherwise: "the operator's setting: recorded",
    example: false,
  }),
  metadata: field("recording.metadata", nullable(metadataSchema), {
    about: "Named texts that are recorded with the completion, for finding it later.",
    range: "at most 16, of 512 characters, with names of 64",
    default: {},
    example: { topic: "demo" },
    inResponses: false,
  }),
};
