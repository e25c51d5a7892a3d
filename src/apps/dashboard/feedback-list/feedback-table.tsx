// Table of feedback records, newest first, page by page, with actions on selected records.
import type { ComponentChildren } from "preact";
import type { FeedbackRecord } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { counted } from "../components/numbers.ts";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { When } from "../components/shown.tsx";
import { type ListedPage, offsetText, pagesByOffset } from "../components/paged-table.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import type { DataColumn } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { inSteps } from "../components/tables/steps.ts";
import { RawRecord } from "../feedback/raw-record.tsx";
import { formatRecord } from "../feedback/records.ts";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf, place } from "../router.ts";
import { may } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { callOf, conditionOf, type FeedbackFilters } from "./feedback-query.ts";

const limit = 50;

export function FeedbackTable({
  hone,
  project,
  filters,
  none,
}: {
  readonly hone: Hone;
  readonly project: string;
  readonly filters: FeedbackFilters;
  readonly none: ComponentChildren;
}) {
  const after = place.value.query.get("after") ?? "0";
  const loaded = useLoaded(
    (signal) => readFeedback(hone, project, filters, Number(after), signal),
    [hone, project, JSON.stringify(filters), after],
    after === "0" ? 15_000 : null,
  );
  const selection = useSelection<FeedbackRecord>(({ id }) => id, JSON.stringify([project, filters]));
  const remove = async (records: readonly FeedbackRecord[]): Promise<void> => {
    try {
      await inSteps(records, ({ project_id: projectId, id }) => hone.feedback.delete(projectId, id));
      selection.clear();
    } finally {
      loaded.reload();
    }
  };
  return (
    <DataList
      loaded={loaded}
      label="Feedback"
      columns={feedbackColumns}
      idOf={({ id }) => id}
      nameOf={({ id }) => `feedback ${id}`}
      selection={selection}
      pages={(signal) => pagesByOffset((offset) => readFeedback(hone, project, filters, offset, signal))}
      toolbar={(records, tableOf) => (
        <BulkActions
          rows={records}
          table={() => tableOf(records)}
          name="feedback"
          {...(may("judge") && {
            removal: {
              what: counted(records.length, "feedback record"),
              names: records.map(formatRecord),
              says: "The selected records will be lost. Versions that were trained on this feedback stay.",
              act: () => remove(records),
            },
          })}
        />
      )}
      filters={{ ...filters, project }}
      none={() => none}
    />
  );
}

export const feedbackColumns: readonly DataColumn<FeedbackRecord>[] = [
  { name: "given", sort: ({ created_at: at }) => at, cell: ({ created_at: at }) => <When at={at} /> },
  {
    name: "feedback",
    class: "words",
    isText: true,
    sort: formatRecord,
    cell: (record) => <span title={formatRecord(record)}>{formatRecord(record)}</span>,
  },
  {
    name: "type",
    class: "brief",
    sort: ({ feedback_type: type }) => type,
    cell: ({ feedback_type: type }) => <span title={type}>{type}</span>,
  },
  {
    name: "creator",
    class: "brief",
    isText: true,
    sort: creatorOf,
    cell: creatorOf,
  },
  {
    name: "about",
    class: "brief",
    value: ({ vendor_ref: reference }) => reference,
    cell: ({ vendor_ref: reference }) => <About reference={reference} />,
  },
  { name: "record", value: ({ payload }) => payload, cell: (record) => <RawRecord record={record} /> },
];

function creatorOf({ creator, vendor_user_id: owner }: FeedbackRecord): string | null {
  return creator ?? owner;
}

function About({ reference }: { readonly reference: string }) {
  const call = callOf(reference);
  if (call === null) return <span title={reference}>{reference}</span>;
  const { project } = call;
  return (
    <a
      href={addressOf("conversations", [call.id], { project, ...fromHere({ project }) })}
      title={reference}
      data-row
    >
      conversation {call.id.slice(-8)}
    </a>
  );
}

/** Returns a page of the records, the newest first. */
export async function readFeedback(
  hone: Hone,
  project: string,
  filters: FeedbackFilters,
  offset: number,
  signal: AbortSignal,
): Promise<ListedPage<FeedbackRecord>> {
  const page = await hone.feedback
    .query(
      {
        project_id: project,
        query: conditionOf(filters),
        sort_by: [{ field: "created_at", direction: "desc" }],
        limit,
        offset,
      },
      { signal },
    )
    .first();
  // Safe cast: the query selects no fields, so the rows are whole records.
  const rows = page.data as readonly FeedbackRecord[];
  return {
    rows,
    last: page.has_more ? page.last_id : null,
    before: offset === 0 ? null : offsetText(offset - limit),
  };
}
