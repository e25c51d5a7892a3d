// The chat request: one row for each of its fields, and the schema that checks and documents bodies. A field is
// described only in its row.
import { schemaOf, type ValuesOf } from "../fields/field.ts";
import { answerFields } from "./fields/answer-fields.ts";
import { constraintFields } from "./fields/constraint-fields.ts";
import { conversationFields } from "./fields/conversation-fields.ts";
import { foreignFields } from "./fields/foreign-fields.ts";
import { recordingFields } from "./fields/recording-fields.ts";
import { replyFields } from "./fields/reply-fields.ts";
import { requestFields } from "./fields/request-fields.ts";
import { samplingFields } from "./fields/sampling-fields.ts";

/** Fields that control how an answer is sampled, ended and written. Text completions have them, too. */
export const generationFields = {
  ...requestFields,
  ...answerFields,
  ...samplingFields,
  ...constraintFields,
  ...recordingFields,
  ...foreignFields,
};

/**
 * Rows of all fields. If a request has several fields that set the same value, the first of them in this order takes
 * precedence.
 */
export const chatFields = { ...conversationFields, ...replyFields, ...generationFields };

export const chatRequestSchema = schemaOf("ChatCompletionRequest", chatFields);

export type ChatRequestBody = ValuesOf<typeof chatFields>;

/** Values of the generation fields in a checked body. */
export type GenerationBody = ValuesOf<typeof generationFields>;
