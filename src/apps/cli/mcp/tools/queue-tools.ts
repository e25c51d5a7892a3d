// Tools for annotators: list annotation queues, claim an item, answer its questions, or leave the item.
import * as z from "zod";
import { findQueue } from "../../annotate/find-queue.ts";
import { projectIdOf } from "../../feedback/selection.ts";
import { given, projectName } from "../fields.ts";
import { tool } from "../tool.ts";

const queueName = z
  .string()
  .min(3)
  .max(500)
  .describe("Queue: `project/queue` or `entity/project/queue`; its id may replace its name.");
const annotator = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .describe("Name of the annotator; use the same for all calls. Default: the key's owner.");
const itemId = z.string().min(1).max(100).describe("Id of the item, from claim_item.");

const question = z.object({
  name: z.string().describe("Key of the answer."),
  text: z.string(),
  kind: z
    .string()
    .describe("Type of the answer: `choice`, `boolean`, `integer`, `number`, `text` or `json`."),
  optional: z.boolean(),
  choices: z.array(z.unknown()).nullable(),
  minimum: z.number().nullable(),
  maximum: z.number().nullable(),
  schema: z.record(z.string(), z.unknown()).nullable().describe("JSON Schema of the answer."),
});

/** Maximum number of listed queues; the field `name` narrows the list. */
const queuesMax = 100;

const listQueues = tool({
  name: "list_queues",
  title: "List annotation queues",
  description: `Lists the first ${queuesMax} annotation queues of a project, with the names of their questions.`,
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    project: projectName,
    name: z.string().min(1).max(256).optional().describe("Only queues whose name contains this text."),
  }),
  output: z.object({
    items: z.array(
      z.object({
        id: z.string(),
        name: z.string().describe("Name of the queue as the other tools take it: `entity/project/queue`."),
        description: z.string(),
        questions: z.array(z.string()),
        annotators_per_item: z.number(),
      }),
    ),
  }),
  run: async ({ project, name }, { hone, signal }) => {
    const project_id = await projectIdOf(hone, project);
    const { data } = await hone.queues.list({ project_id, ...given({ name }) }, { signal }).first();
    return {
      items: data.slice(0, queuesMax).map((queue) => ({
        id: queue.id,
        name: `${project_id}/${queue.name}`,
        description: queue.description,
        questions: queue.asked.map(({ name: asked }) => asked),
        annotators_per_item: queue.annotators_per_item,
      })),
    };
  },
});

const claimItem = tool({
  name: "claim_item",
  title: "Claim an item to annotate",
  description:
    "Leases the next item of an annotation queue, with the chat to judge and the questions to answer. Until the lease ends, repeated calls return the same item.",
  effect: "adds",
  isIdempotent: true,
  input: z.strictObject({ queue: queueName, annotator }),
  output: z.object({
    item: z
      .object({
        id: z.string(),
        reference: z.string(),
        held_until: z.string().nullable().describe("End of the lease."),
        messages: z.array(z.unknown()).nullable().describe("Prompt; null if the chat is not recorded."),
        answers: z.array(z.unknown()).nullable().describe("Answers to judge."),
      })
      .nullable()
      .describe("Null if no item is available now."),
    questions: z.array(question),
    annotator: z.string(),
    open: z
      .number()
      .describe("Number of items that the annotator has left, including the item in this answer."),
  }),
  run: async ({ queue: name, annotator: who }, { hone, signal }) => {
    const queue = await findQueue(hone, name);
    const claimed = await hone.queues.claim(queue, given({ annotator: who }), { signal });
    const { item, content } = claimed;
    const own = item?.annotations.find((one) => one.annotator === claimed.annotator);
    return {
      item: item && {
        id: item.id,
        reference: item.vendor_ref,
        held_until: own?.held_until ?? null,
        messages: content && [...content.messages],
        answers: content && [...content.answers],
      },
      questions: queue.asked.map(
        ({ name: key, text, kind, optional, choices, minimum, maximum, schema }) => ({
          name: key,
          text,
          kind,
          optional,
          choices: choices && [...choices],
          minimum,
          maximum,
          schema,
        }),
      ),
      annotator: claimed.annotator,
      open: claimed.remaining.open,
    };
  },
});

const answerItem = tool({
  name: "answer_item",
  title: "Answer an item's questions",
  description:
    "Stores the answers to the questions of a claimed item as feedback on its chat, and completes the item. If the item was answered before, the new answers replace the earlier ones.",
  effect: "adds",
  isIdempotent: true,
  input: z.strictObject({
    queue: queueName,
    item_id: itemId,
    answers: z.record(z.string(), z.unknown()).describe("Answer to each question, by the question's name."),
    annotator,
  }),
  output: z.object({ state: z.string(), feedback_ids: z.array(z.string()) }),
  run: async ({ queue: name, item_id, answers, annotator: who }, { hone, signal }) => {
    const { project_id, queue_id } = await findQueue(hone, name);
    const body = { answers, ...given({ annotator: who }) };
    const { item, feedback } = await hone.queues.answer({ project_id, queue_id, item_id }, body, { signal });
    return { state: item.annotation_state, feedback_ids: feedback.map(({ id }) => id) };
  },
});

const leaveItem = tool({
  name: "leave_item",
  title: "Leave a claimed item",
  description:
    "Leaves a claimed item without answers: `release` returns it to the queue, `skip` also never offers it to this annotator again.",
  effect: "adds",
  isIdempotent: false,
  input: z.strictObject({
    queue: queueName,
    item_id: itemId,
    action: z.enum(["release", "skip"]),
    annotator,
  }),
  output: z.object({ state: z.string() }),
  run: async ({ queue: name, item_id, action, annotator: who }, { hone, signal }) => {
    const { project_id, queue_id } = await findQueue(hone, name);
    const [place, said] = [{ project_id, queue_id, item_id }, given({ annotator: who })];
    const item =
      action === "release"
        ? await hone.queues.release(place, said, { signal })
        : await hone.queues.progress(place, { ...said, annotation_state: "skipped" }, { signal });
    return { state: item.annotation_state };
  },
});

export const queueTools = [listQueues, claimItem, answerItem, leaveItem];
