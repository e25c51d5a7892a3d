// The chat request as the interface spells it: the rows of all its fields together, and the schema that checks bodies and
// documents them. What a field is stands in its row, and nowhere else.
import { schemaOf, type ValuesOf } from "../fields/field.ts";
import { answerFields } from "./fields/answer-fields.ts";
import { constraintFields } from "./fields/constraint-fields.ts";
import { conversationFields } from "./fields/conversation-fields.ts";
import { foreignFields } from "./fields/foreign-fields.ts";
import { recordingFields } from "./fields/recording-fields.ts";
import { replyFields } from "./fields/reply-fields.ts";
import { requestFields } from "./fields/request-fields.ts";
import { samplingFields } from "./fields/sampling-fields.ts";

/** Those that say how answers are drawn, ended and written, whatever they answer: a text completion has them too. */
export const generationFields = {
  ...requestFields,
  ...answerFields,
  ...samplingFields,
  ...constraintFields,
  ...recordingFields,
  ...foreignFields,
};

/** Of the fields that are read as one the first that was sent is the one that counts. */
export const chatFields = { ...conversationFields, ...replyFields, ...generationFields };

export const chatRequestSchema = schemaOf("ChatCompletionRequest", chatFields);

export type ChatRequestBody = ValuesOf<typeof chatFields>;

/** What of a body has these fields, beside others. */
export type GenerationBody = ValuesOf<typeof generationFields>;
