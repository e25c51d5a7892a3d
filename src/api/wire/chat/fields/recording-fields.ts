// Fields for the recording of a completion, and the metadata by which it can be found.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** Limits on metadata, as in OpenAI's API. */
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
