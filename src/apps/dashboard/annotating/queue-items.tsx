// View of a queue's items, page by page: the state of each, its answers so far, and a button to judge it again.
import type { AnnotationItem, FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import type { ListedPage } from "../components/paged-table.tsx";
import { State, View } from "../components/shown.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { callOf } from "../feedback-list/feedback-query.ts";
import { addressOf, go, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { AddAnswers } from "./add-answers.tsx";

/** Number of items of a page. */
const pageSize = 50;
/** Maximum number of answers that are read. */
const answersMax = 1000;

interface JudgedItem {
  readonly item: AnnotationItem;
  readonly answers: readonly FeedbackRecord[];
}

export function QueueItems({ hone, queueId }: { readonly hone: Hone; readonly queueId: string }) {
  const { query } = place.value;
  const [project, as, after] = ["project", "as", "after"].map((name) => query.get(name) ?? "");
  const name = { project_id: project ?? "", queue_id: queueId };
  const queue = useLoaded((signal) => hone.queues.get(name, { signal }), [hone, queueId, project]);
  const loaded = useLoaded(
    (signal) => readItems(hone, name, after ?? "", signal),
    [hone, queueId, project, after],
  );
  const { isBusy, failure, run } = useAction();
  const judge = async ({ id }: AnnotationItem): Promise<void> => {
    await hone.queues.reopen({ ...name, item_id: id }, as === "" ? {} : { annotator: as ?? "" });
    go(addressOf("queues", [queueId], { project: project ?? "", as: as ?? "" }));
  };
  const columns: readonly DataColumn<JudgedItem>[] = [
    ...itemColumns,
    {
      name: "again",
      cell: ({ item, answers }) =>
        answers.length > 0 &&
        may("judge") && (
          <button type="button" class="plain" disabled={isBusy} onClick={() => run(() => judge(item))}>
            Judge again
          </button>
        ),
    },
  ];
  return (
    <View title={`Items of ${queue.value?.name ?? "the queue"}`}>
      <nav class="links" aria-label="Annotation queue">
        {may("judge") && (
          <a href={addressOf("queues", [queueId], { project: project ?? "", as: as ?? "" })}>Annotate</a>
        )}
        <a href={addressOf("queues", [], { project: project ?? "", as: as ?? "" })}>All queues</a>
      </nav>
      <AddAnswers hone={hone} queue={name} onAdded={loaded.reload} />
      <Failure of={failure} />
      <DataList
        loaded={loaded}
        label="Items"
        columns={columns}
        idOf={({ item }) => item.id}
        filters={{ project: project ?? "", as: as ?? "" }}
        none={() =>
          "This queue has no items yet. Add the recorded answers of a model, or select conversations in the list of conversations."
        }
      />
    </View>
  );
}

const itemColumns: readonly DataColumn<JudgedItem>[] = [
  {
    name: "item",
    class: "brief",
    sort: ({ item }) => item.vendor_ref,
    cell: ({ item: { vendor_ref: reference } }) => {
      const call = callOf(reference);
      if (call === null) return reference;
      return (
        <a href={addressOf("conversations", [call.id], { project: call.project })} title={reference} data-row>
          conversation {call.id.slice(-8)}
        </a>
      );
    },
  },
  {
    name: "state",
    sort: ({ item }) => item.annotation_state,
    cell: ({ item: { annotation_state: state } }) => (
      <State of={state === "completed" ? "succeeded" : state} says={state.replace("_", " ")} />
    ),
  },
  {
    name: "answers",
    isText: true,
    cell: ({ answers }) =>
      answers.map((answer) => (
        <div key={answer.id}>
          {answer.feedback_type.replace(/^.*annotation\./, "")}: {JSON.stringify(answer.payload["value"])}{" "}
          <span class="muted">{answer.creator ?? answer.vendor_user_id}</span>
        </div>
      )),
  },
];

async function readItems(
  hone: Hone,
  name: { readonly project_id: string; readonly queue_id: string },
  after: string,
  signal: AbortSignal,
): Promise<ListedPage<JudgedItem>> {
  const offset = Number(after);
  const { items } = await hone.call(
    "POST /annotation_queues/{queue_id}/items/query",
    {
      path: { queue_id: name.queue_id },
      // One more item than is shown, which is there if there is a next page.
      body: { project_id: name.project_id, offset, limit: pageSize + 1 },
    },
    { isRepeatable: true, signal },
  );
  const query = {
    project_id: name.project_id,
    query: { $expr: { $eq: [{ $getField: "queue_id" }, { $literal: name.queue_id }] } },
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
