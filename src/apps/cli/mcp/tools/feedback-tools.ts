// Tools for feedback: add, list and summarize.
import * as z from "zod";
import type { FeedbackCreateReq } from "../../../client/api.ts";
import { invalid } from "../../../../base/domain/service-error.ts";
import { projectIdOf, queryOf, referenceOf } from "../../feedback/selection.ts";
import { given, pageOf, paging, projectName, time, toPage } from "../fields.ts";
import { tool, type ToolContext } from "../tool.ts";

const reference = z
  .string()
  .min(1)
  .max(2000)
  .describe("`request_id` of a recorded chat, or a reference such as `hone:///acme/games/call/1f2e`.");

const choice = z.int().min(0).max(127).optional();

const addFeedback = tool({
  name: "add_feedback",
  title: "Give feedback",
  description:
    "Adds feedback on a recorded chat or on anything with a reference. Give exactly one of: `emoji`, `note`, `payload` with `type`, or `better_than`, which says that this answer is better than another answer to the same prompt.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    on: reference,
    choice: choice.describe(
      "Index of the judged answer, from 0. Required if the chat has several answers (n).",
    ),
    project: projectName.optional().describe("Project of `on`. Default: the project of the recorded chat."),
    emoji: z.string().min(1).max(100).optional().describe("Reaction, such as 👍."),
    note: z.string().min(1).max(1024).optional().describe("Remark as text."),
    type: z.string().min(1).max(256).optional().describe("Feedback type of the payload, such as `rating`."),
    payload: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Content of the feedback, such as {"stars": 4}.'),
    better_than: reference.optional().describe("Chat with the worse answer: `request_id` or reference."),
    better_than_choice: choice.describe("Index of the worse answer, if its chat has several."),
    creator: z.string().min(1).max(256).optional().describe("Name of the author. Default: the key's owner."),
  }),
  output: z.object({ id: z.string(), created_at: z.string(), reference: z.string(), project_id: z.string() }),
  run: async (input, { hone, signal }) => {
    const content = contentOf(input);
    const { project_id, vendor_ref: chat } = await placeOf(input, { hone, signal });
    const { better_than: worse, better_than_choice: worseChoice } = input;
    const vendor_ref = chat + partOf(input.choice);
    const payload =
      worse === undefined
        ? content.payload
        : { better_than: referenceOf(project_id, worse) + partOf(worseChoice) };
    const record = { project_id, vendor_ref, ...content, payload, ...given({ creator: input.creator }) };
    const { id, created_at } = await hone.feedback.create(record, { signal });
    return { id, created_at, reference: vendor_ref, project_id };
  },
});

interface FeedbackInput {
  readonly on: string;
  readonly project?: string | undefined;
  readonly emoji?: string | undefined;
  readonly note?: string | undefined;
  readonly type?: string | undefined;
  readonly payload?: Readonly<Record<string, unknown>> | undefined;
  readonly better_than?: string | undefined;
  readonly better_than_choice?: number | undefined;
}

/** Type of the feedback that the field `better_than` adds, unless `type` names another. */
const preferenceType = "preference";

function contentOf({
  emoji,
  note,
  type,
  payload,
  better_than: worse,
  better_than_choice: worseChoice,
}: FeedbackInput): Pick<FeedbackCreateReq, "feedback_type" | "payload"> {
  if (worse === undefined && worseChoice !== undefined)
    throw invalid("better_than_choice is given without better_than; name the chat of the worse answer too.");
  const count = [emoji, note, payload, worse].filter((one) => one !== undefined).length;
  if (count !== 1)
    throw invalid(`${count} of emoji, note, payload and better_than are given; give exactly one.`);
  if ((payload !== undefined) !== (type !== undefined) && worse === undefined)
    throw invalid("type and payload belong together; give both, or neither.");
  if (emoji !== undefined) return { feedback_type: "vendor.reaction.1", payload: { emoji } };
  if (note !== undefined) return { feedback_type: "vendor.note.1", payload: { note } };
  return { feedback_type: type ?? preferenceType, payload: payload ?? {} };
}

/** Returns the end of a reference that selects one of a chat's answers. */
function partOf(index: number | undefined): string {
  return index === undefined ? "" : `/attr/choices/index/${index}`;
}

/** Returns the project and the reference of the feedback. The project of a recorded chat is read from the server. */
async function placeOf(
  { on, project }: FeedbackInput,
  { hone, signal }: Pick<ToolContext, "hone" | "signal">,
): Promise<{ readonly project_id: string; readonly vendor_ref: string }> {
  if (project !== undefined) {
    const project_id = await projectIdOf(hone, project);
    return { project_id, vendor_ref: referenceOf(project_id, on) };
  }
  const [, named] = /^[^:]+:\/\/\/([^/]+\/[^/]+)\//.exec(on) ?? [];
  if (named !== undefined) return { project_id: named, vendor_ref: on };
  const chat = await hone.recordings.get(on, {}, { signal });
  return { project_id: chat.project_id, vendor_ref: chat.reference };
}

const selection = {
  project: projectName,
  type: z.string().min(1).max(256).optional().describe("Only feedback of this type."),
  on: reference.optional().describe("Only feedback on this chat or reference."),
  since: time.optional().describe("Only feedback created at this time or later (ISO 8601)."),
  until: time.optional().describe("Only feedback created before this time."),
};

const listFeedback = tool({
  name: "list_feedback",
  title: "List feedback",
  description: "Lists feedback records of a project, newest first.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({ ...selection, ...paging }),
  output: z.object({
    ...pageOf(
      z.looseObject({
        id: z.string(),
        feedback_type: z.string(),
        reference: z.string(),
        payload: z.unknown(),
      }),
    ),
  }),
  run: async ({ project, limit, after, ...filter }, { hone, signal }) => {
    if (after !== undefined && !/^\d{1,15}$/.test(after))
      throw invalid(`after is ${JSON.stringify(after)}; it must be the value of next in the previous page.`);
    const project_id = await projectIdOf(hone, project);
    const body = {
      project_id,
      query: queryOf(project_id, given(filter)),
      sort_by: [{ field: "created_at", direction: "desc" as const }],
      limit,
      offset: Number(after ?? 0),
    };
    return toPage(await hone.feedback.query(body, { signal }).first(), (row) => ({
      id: String(row["id"]),
      created_at: row["created_at"],
      feedback_type: String(row["feedback_type"]),
      reference: String(row["vendor_ref"]),
      payload: row["payload"],
      creator: row["creator"] ?? row["vendor_user_id"],
    }));
  },
});

const feedbackStatistics = tool({
  name: "feedback_statistics",
  title: "Summarize feedback",
  description:
    "Counts the feedback of a project by type, with means, percentiles and histograms of the values in payloads.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject(selection),
  output: z.looseObject({ total_count: z.number(), types: z.array(z.record(z.string(), z.unknown())) }),
  run: async ({ project, ...filter }, { hone, signal }) => {
    const project_id = await projectIdOf(hone, project);
    const query = queryOf(project_id, given(filter));
    const { types, ...statistics } = await hone.feedback.stats({ project_id, query }, { signal });
    return { ...statistics, types: types.map((type) => ({ ...type })) };
  },
});

export const feedbackTools = [addFeedback, listFeedback, feedbackStatistics];
