// Columns of the table of recorded chats.
import type { StoredChatCompletion } from "../../client/api.ts";
import { msText, shortNumber } from "../components/numbers.ts";
import { When } from "../components/shown.tsx";
import { costColumns } from "../components/tables/cost-columns.ts";
import { type DataColumn, textColumn } from "../components/tables/data-table.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { recordedModel } from "./recorded-model.ts";

/**
 * Returns the columns.
 *
 * @param names full names of models by id
 * @param rows rows of the table, which has costs if any row has one
 */
export function columnsWith(
  names: ReadonlyMap<string, string>,
  rows: readonly StoredChatCompletion[],
): readonly DataColumn<StoredChatCompletion>[] {
  const modelOf = (row: StoredChatCompletion) => recordedModel(row, names);
  return [
    {
      name: "answered",
      sort: ({ ended_at: at }) => at,
      cell: (row) => (
        <a href={chatAddress(row)} data-row>
          <When at={row.ended_at} />
        </a>
      ),
    },
    textColumn("prompt", ({ prompt }) => prompt),
    textColumn("answer", ({ answer }) => answer),
    {
      name: "model",
      class: "model-name",
      sort: modelOf,
      cell: (row) => <ModelName name={modelOf(row)} />,
    },
    { name: "version", isNumber: true, sort: ({ step }) => step, cell: ({ step }) => step ?? "–" },
    {
      name: "tokens",
      isNumber: true,
      sort: ({ usage }) => usage.completion_tokens,
      cell: ({ usage }) => usage.completion_tokens.toLocaleString("en"),
    },
    ...costColumns(rows),
    {
      name: "duration",
      isNumber: true,
      sort: msOf,
      cell: (row) => msText(msOf(row)),
    },
    {
      name: "tokens/s",
      isNumber: true,
      isExtra: true,
      sort: speedOf,
      cell: (row) => shortNumber(speedOf(row) ?? NaN),
    },
    { name: "owner", sort: ({ owner }) => owner, cell: ({ owner }) => owner },
    {
      name: "ended by",
      isExtra: true,
      sort: ({ finish_reasons: [reason = ""] }) => reason,
      cell: ({ finish_reasons: reasons }) => reasons.join(", "),
    },
  ];
}

/** Returns the time from the request to the end of the answer, in milliseconds. */
function msOf({ started_at: start, ended_at: end }: StoredChatCompletion): number {
  return Date.parse(end) - Date.parse(start);
}

/** Returns the tokens of the answer per second; null if the answer took less than a millisecond. */
function speedOf(row: StoredChatCompletion): number | null {
  const ms = msOf(row);
  return ms <= 0 ? null : (1000 * row.usage.completion_tokens) / ms;
}

function chatAddress({ project_id: project, request_id: id }: StoredChatCompletion): string {
  return addressOf("conversations", [id], { project, ...fromHere() });
}
