// View of a queue's items, page by page: the beginning and the state of each, the user's answers, and a button to judge
// the item. Reviewers also see everybody's answers and the agreement, which would influence those who still judge.
import type { AnnotationItem, FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FilterChoice, FilterForm } from "../components/filter-form.tsx";
import { filledIn } from "../components/filters.ts";
import { ActionButton, type Question } from "../components/forms/action-button.tsx";
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
  const [project = "", as = "", after = "", review = "", state = ""] = [
    "project",
    "as",
    "after",
    "review",
    "state",
  ].map((name) => query.get(name) ?? "");
  const name = { project_id: project, queue_id: queueId };
  const isReview = review !== "";
  const annotator = as === "" ? session.value?.key.owner : as;
  const queue = useLoaded((signal) => hone.queues.get(name, { signal }), [hone, queueId, project]);
  const loaded = useLoaded(
    (signal) => readItems(hone, name, { after, state }, signal),
    [hone, queueId, project, after, state],
  );
  const judge = async ({ id }: AnnotationItem): Promise<void> => {
    await hone.queues.reopen({ ...name, item_id: id }, as === "" ? {} : { annotator: as });
    go(addressOf("queues", [queueId], { project, as }));
  };
  const isOwn = (answer: FeedbackRecord): boolean => (answer.creator ?? answer.vendor_user_id) === annotator;
  const columns: readonly DataColumn<JudgedItem>[] = [
    ...itemColumns,
    answersColumn((answer) => isReview || isOwn(answer)),
    {
      name: "judge",
      cell: ({ item, answers }) => {
        const says = may("judge") ? judgeText(item, annotator) : null;
        return (
          says !== null && (
            <ActionButton
              class="plain"
              act={() => judge(item)}
              {...(answers.some(isOwn) && { asks: judgeAgain })}
            >
              {says}
            </ActionButton>
          )
        );
      },
    },
  ];
  const items = (more: Readonly<Record<string, string>>): string =>
    addressOf("queues", [queueId, "items"], { project, as, review, state, ...more });
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
          <a href={items({ after, review: "" })}>Show only my answers</a>
        ) : (
          <a href={items({ after, review: "1" })} title="Others' answers may influence your own.">
            Review everybody's answers
          </a>
        )}
      </p>
      <AddAnswers hone={hone} queue={name} onAdded={loaded.reload} />
      <FilterForm
        filters={state === "" ? {} : { state }}
        onSubmit={(form) => go(items({ state: filledIn(form).get("state") ?? "" }))}
        onClear={() => go(items({ state: "" }))}
      >
        <FilterChoice name="state" label="State" value={state} choices={states} />
      </FilterForm>
      {isReview && queue.value !== null && <Agreement hone={hone} queue={queue.value} />}
      <DataList
        loaded={loaded}
        label="Items"
        columns={columns}
        idOf={({ item }) => item.id}
        filters={{ project, as, review, state }}
        none={() =>
          state !== ""
            ? "No item has this state."
            : "This queue has no items yet. Add the recorded answers of a model, or select conversations in the list of conversations."
        }
      />
    </View>
  );
}

const states = [
  ["", "all"],
  ["unstarted", "unstarted"],
  ["in_progress", "in progress"],
  ["completed", "completed"],
  ["skipped", "skipped"],
] as const;

const judgeAgain: Question = {
  title: "Judge this item again?",
  says: "Your answers to this item are deleted now, and you answer its questions anew.",
  button: "Delete my answers",
};

/** Returns the text of the button that judges an item; null while somebody else holds the item. */
function judgeText({ annotations }: AnnotationItem, annotator: string | undefined): string | null {
  const own = annotations.find((one) => one.annotator === annotator);
  if (own?.annotation_state === "completed" || own?.annotation_state === "skipped") return "Judge again";
  const isHeld = annotations.some((one) => one !== own && one.annotation_state === "in_progress");
  return isHeld ? null : "Judge";
}
