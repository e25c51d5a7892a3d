// Columns of the table of a queue's items, and the pages of the table.
import type { AnnotationItem, FeedbackRecord } from "../../client/api.ts";
import type { QueueName } from "../../client/calls/feedback/queue-calls.ts";
import type { Hone } from "../../client/hone.ts";
import type { ListedPage } from "../components/paged-table.tsx";
import { State } from "../components/shown.tsx";
import { type DataColumn, textColumn } from "../components/tables/data-table.tsx";
import { formatRecord } from "../feedback/records.ts";
import { callOf } from "../feedback-list/feedback-query.ts";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";

/** Number of items of a page. */
const pageSize = 50;
/** Maximum number of answers that are read. */
const answersMax = 1000;

export interface JudgedItem {
  readonly item: AnnotationItem;
  readonly answers: readonly FeedbackRecord[];
}

/** Columns that do not depend on the annotator. */
export const itemColumns: readonly DataColumn<JudgedItem>[] = [
  {
    name: "prompt",
    class: "words",
    isText: true,
    sort: ({ item }) => item.prompt ?? item.vendor_ref,
    text: ({ item }) => item.prompt ?? "",
    cell: ({ item }, text) => <ItemLink item={item} text={text} />,
  },
  textColumn("answer", ({ item }) => item.answer ?? ""),
  {
    name: "state",
    sort: ({ item }) => item.annotation_state,
    cell: ({ item: { annotation_state: state } }) => (
      <State of={state === "completed" ? "succeeded" : state} says={state.replace("_", " ")} />
    ),
  },
];

/** Link to the conversation of an item. Its text is the beginning of the prompt. */
function ItemLink({
  item: { prompt, vendor_ref: reference },
  text,
}: Pick<JudgedItem, "item"> & { readonly text: string }) {
  const call = callOf(reference);
  if (call === null || prompt === null) return <span title={reference}>{reference}</span>;
  return (
    <a
      href={addressOf("conversations", [call.id], { project: call.project, ...fromHere() })}
      title={prompt === "" ? reference : prompt}
      data-row
    >
      {prompt === "" ? `conversation ${call.id.slice(-8)}` : text}
    </a>
  );
}

export function answersColumn(isShown: (answer: FeedbackRecord) => boolean): DataColumn<JudgedItem> {
  return {
    name: "answers",
    class: "replies",
    isText: true,
    cell: ({ answers }) =>
      answers.filter(isShown).map((answer) => (
        <div key={answer.id}>
          {formatRecord(answer)} <span class="muted">{answer.creator ?? answer.vendor_user_id}</span>
        </div>
      )),
  };
}

/**
 * Returns a page of a queue's items with their answers.
 *
 * @param place `after` is the number of items before the page; `state` is the state of the items, or empty for all
 */
export async function readItems(
  hone: Hone,
  { project_id, queue_id }: QueueName,
  { after, state }: { readonly after: string; readonly state: string },
  signal: AbortSignal,
): Promise<ListedPage<JudgedItem>> {
  const offset = Number(after);
  // Safe cast: the server refuses other states.
  const filter = state === "" ? {} : { annotation_states: [state as AnnotationItem["annotation_state"]] };
  // One more item than is shown, which is there if there is a next page.
  const body = { project_id, offset, limit: pageSize + 1, include_beginnings: true, filter };
  const { items } = await hone.call(
    "POST /annotation_queues/{queue_id}/items/query",
    { path: { queue_id }, body },
    { isRepeatable: true, signal },
  );
  const query = {
    project_id,
    query: { $expr: { $eq: [{ $getField: "queue_id" }, { $literal: queue_id }] } },
    limit: answersMax,
  };
  const { data } = await hone.feedback.query(query, { signal }).first();
  // Safe cast: a query that selects no fields returns whole records.
  const answers = data as readonly FeedbackRecord[];
  const rows = items.slice(0, pageSize).map((item) => ({
    item,
    answers: answers.filter(({ vendor_ref: reference }) => reference === item.vendor_ref),
  }));
  return { rows, last: items.length > pageSize ? String(offset + pageSize) : null };
}
