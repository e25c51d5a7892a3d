// Tools that read recorded chats.
import * as z from "zod";
import { given, modelName, pageOf, paging, requestId, time, toPage } from "../fields.ts";
import { tool } from "../tool.ts";

const project = z.string().min(3).max(300).optional().describe("Project of the chat, as `entity/project`.");

const recorded = {
  request_id: z.string(),
  reference: z.string().describe("Reference of the chat in feedback."),
  model: z.string(),
  step: z.number().describe("Version that answered."),
  owner: z.string().describe("Owner of the key that sent the request."),
  ended_at: z.string(),
  completion_tokens: z.number(),
};

const listChats = tool({
  name: "list_chats",
  title: "List recorded chats",
  description:
    "Lists recorded chats with trained models, newest first, with the beginning of each prompt and answer.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    model: modelName
      .optional()
      .describe("Only chats with this model, or with one version: `project/name:step3`."),
    project: project.describe("Only chats of this project, as `entity/project`."),
    feedback: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .describe(
        "`any`: only chats with feedback. `none`: only chats without. Other values: a feedback type.",
      ),
    since: time.optional().describe("Only chats that ended at this time or later (ISO 8601)."),
    until: time.optional().describe("Only chats that ended before this time."),
    ...paging,
  }),
  output: z.object(
    pageOf(
      z.object({
        ...recorded,
        project_id: z.string(),
        prompt: z.string().describe("Beginning of the last user message."),
        answer: z.string().describe("Beginning of the first answer."),
      }),
    ),
  ),
  run: async ({ limit, ...filter }, { hone, signal }) => {
    const page = await hone.recordings.list({ limit, ...given(filter) }, { signal }).first();
    return toPage(
      page,
      ({ request_id, reference, project_id, model, step, owner, ended_at, usage, prompt, answer }) => ({
        request_id,
        reference,
        project_id,
        model,
        step,
        owner,
        ended_at,
        completion_tokens: usage.completion_tokens,
        prompt,
        answer,
      }),
    );
  },
});

/** Maximum number of feedback records that are shown with a chat; the tool `list_feedback` shows all. */
const feedbackMax = 100;

const showChat = tool({
  name: "show_chat",
  title: "Show a recorded chat",
  description: "Shows a recorded chat with all its messages, answers and feedback, but without token ids.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({ request_id: requestId, project }),
  output: z.object({
    ...recorded,
    messages: z
      .array(z.record(z.string(), z.unknown()))
      .nullable()
      .describe("Messages of the request; null if it was a text completion or too large to record."),
    prompt_text: z.string().nullable().describe("Prompt of a text completion."),
    answers: z.array(z.record(z.string(), z.unknown())),
    feedback: z.array(z.record(z.string(), z.unknown())).describe("list_feedback has the payloads."),
  }),
  run: async ({ request_id: id, project: place }, { hone, signal }) => {
    const found = await hone.recordings.get(id, given({ project: place }), { signal });
    const { request_id, reference, model, step, owner, ended_at, usage, messages, prompt_text } = found;
    return {
      request_id,
      reference,
      model,
      step,
      owner,
      ended_at,
      completion_tokens: usage.completion_tokens,
      messages: messages === null ? null : messages.map((message) => ({ ...message })),
      prompt_text,
      answers: found.choices.map(({ index, message, finish_reason }) => ({
        index,
        content: message.content,
        tool_calls: message.tool_calls,
        finish_reason,
      })),
      feedback: found.feedback
        .slice(0, feedbackMax)
        .map(({ id: recordId, feedback_type, vendor_user_id, created_at }) => ({
          id: recordId,
          feedback_type,
          creator: vendor_user_id,
          created_at,
        })),
    };
  },
});

export const recordedTools = [listChats, showChat];
