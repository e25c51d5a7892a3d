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
      "Whether the completion is recorded, where a trained model answers: false keeps it from that. True changes nothing unless the operator has only those recorded that ask for it (`recordings.record`).",
    otherwise: "as the operator has it: recorded",
    example: false,
  }),
  metadata: field("recording.metadata", nullable(metadataSchema), {
    about: "Texts by name that are recorded with the completion, by which it can be found.",
    range: "at most 16, of 512 characters, with names of 64",
    default: {},
    example: { topic: "demo" },
    inResponses: false,
  }),
};
