// Request fields for the recording of a completion, and for metadata by which the recording can be found.
import { Type } from "typebox";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";

/** Schema of metadata, with the limits of OpenAI's API. */
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
      "False excludes the completion from recording. True has an effect only if the server records completions on request (setting `recordings.record`). Only answers of trained models are recorded.",
    otherwise: "as the server is configured; recorded by default",
    example: false,
  }),
  metadata: field("recording.metadata", nullable(metadataSchema), {
    about:
      "Key-value pairs of strings that are recorded with the completion. In lists of completions, you can filter by them.",
    range: "at most 16 pairs, with keys of at most 64 characters and values of at most 512",
    default: {},
    example: { topic: "demo" },
    inResponses: false,
  }),
};
