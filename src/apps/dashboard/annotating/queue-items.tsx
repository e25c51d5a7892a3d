// View of a queue's items, page by page: the beginning and the state of each, the user's answers, and a button to judge
// the item. Reviewers also see everybody's answers and the agreement, which would influence those who still judge.
import type { AnnotationItem } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { View } from "../components/shown.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { addressOf, go, place } from "../router.ts";
import { may, session } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { AddAnswers } from "./add-answers.tsx";
import { Agreement } from "./agreement.tsx";
import { answersColumn, itemColumns, type JudgedItem, readItems } from "./item-table.tsx";

export function QueueItems({ hone, queueId }: { readonly hone: Hone; readonly queueId: string }) {
  const { query } = place.value;
  const [project = "", as = "", after = "", review = ""] = ["project", "as", "after", "review"].map(
    (name) => query.get(name) ?? "",
  );
  const name = { project_id: project, queue_id: queueId };
  const isReview = review !== "";
  const annotator = as === "" ? session.value?.key.owner : as;
  const queue = useLoaded((signal) => hone.queues.get(name, { signal }), [hone, queueId, project]);
  const loaded = useLoaded((signal) => readItems(hone, name, after, signal), [hone, queueId, project, after]);
  const judge = async ({ id }: AnnotationItem): Promise<void> => {
    await hone.queues.reopen({ ...name, item_id: id }, as === "" ? {} : { annotator: as });
    go(addressOf("queues", [queueId], { project, as }));
  };
  const columns: readonly DataColumn<JudgedItem>[] = [
    ...itemColumns,
    answersColumn((answer) => isReview || (answer.creator ?? answer.vendor_user_id) === annotator),
    {
      name: "judge",
      cell: ({ item }) => {
        const says = may("judge") ? judgeText(item, annotator) : null;
        return (
          says !== null && (
            <ActionButton class="plain" act={() => judge(item)}>
              {says}
            </ActionButton>
          )
        );
      },
    },
  ];
  const items = (more: Readonly<Record<string, string>>): string =>
    addressOf("queues", [queueId, "items"], { project, as, after, ...more });
  return (
    <View
      title={`Items of ${queue.value?.name ?? "the queue"}`}
      path={[["Queues", addressOf("queues", [], { project, as })]]}
      actions={
        may("judge") && (
          <a class="button primary" href={addressOf("queues", [queueId], { project, as })}>
            Annotate
          </a>
        )
      }
    >
      <p class="links">
        {isReview ? (
          <a href={items({})}>Show only my answers</a>
        ) : (
          <a href={items({ review: "1" })} title="Others' answers may influence your own.">
            Review everybody's answers
          </a>
        )}
      </p>
      <AddAnswers hone={hone} queue={name} onAdded={loaded.reload} />
      {isReview && queue.value !== null && <Agreement hone={hone} queue={queue.value} />}
      <DataList
        loaded={loaded}
        label="Items"
        columns={columns}
        idOf={({ item }) => item.id}
        filters={{ project, as, review }}
        none={() =>
          "This queue has no items yet. Add the recorded answers of a model, or select conversations in the list of conversations."
        }
      />
    </View>
  );
}

/** Returns the text of the button that judges an item; null while somebody else holds the item. */
function judgeText({ annotations }: AnnotationItem, annotator: string | undefined): string | null {
  const own = annotations.find((one) => one.annotator === annotator);
  if (own?.annotation_state === "completed" || own?.annotation_state === "skipped") return "Judge again";
  const isHeld = annotations.some((one) => one !== own && one.annotation_state === "in_progress");
  return isHeld ? null : "Judge";
}
