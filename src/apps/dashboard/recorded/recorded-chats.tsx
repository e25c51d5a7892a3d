// View of recorded chats, newest first, with filters, page by page.
import type { StoredChatCompletion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { AddToQueue } from "../components/tables/add-to-queue.tsx";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { Empty } from "../components/empty.tsx";
import { ModelName } from "../components/tables/job-cells.tsx";
import { durationText } from "../components/numbers.ts";
import { SelectCell, useSelection } from "../components/tables/selection.tsx";
import { FilterChoice, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn, firstFound } from "../components/filters.ts";
import { listed, PagedTable } from "../components/paged-table.tsx";
import { View, When } from "../components/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { askedPage, type Filters, filtersIn } from "./recorded-query.ts";

/** Interval in milliseconds at which the first page is reloaded. */
const everyMs = 10_000;

export function RecordedChats({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = filtersIn(query);
  const isNewest = !query.has("after");
  const loaded = useLoaded(
    async (signal) => listed(await firstFound(hone.recordings.list(askedPage(query), { signal }).pages())),
    [hone, query.toString()],
    // A search takes seconds, so the page does not repeat it.
    isNewest && filters.text === undefined ? everyMs : null,
  );
  const selection = useSelection<StoredChatCompletion>(({ reference }) => reference);
  const remove = async (rows: readonly StoredChatCompletion[]): Promise<void> => {
    for (const { request_id: id, project_id: project } of rows) await hone.recordings.delete(id, { project });
    selection.clear();
    loaded.reload();
  };
  return (
    <View title="Chats" lead="Recorded answers of trained models, the newest first.">
      <ChatFilters filters={filters} onChange={(chosen) => go(addressOf("chats", [], chosen))} />
      <PagedTable
        loaded={loaded}
        label="Recorded chats"
        columns={[
          "answered",
          "prompt",
          "answer",
          "model",
          { number: "tokens" },
          { number: "duration" },
          "owner",
        ]}
        selection={selection}
        toolbar={(rows) => (
          <BulkActions
            rows={rows}
            name="chats"
            load={() => wholeChats(hone, rows)}
            onDelete={() => remove(rows)}
          >
            <AddToQueue hone={hone} chats={rows} />
          </BulkActions>
        )}
        none={({ last }) =>
          last === null ? (
            <NoChats isFiltered={Object.keys(filters).length > 0} />
          ) : (
            "No matches so far; more chats remain to be searched."
          )
        }
        first={isNewest ? null : addressOf("chats", [], filters)}
        nextOf={(last) => addressOf("chats", [], { ...filters, after: last })}
      >
        {(row) => (
          <tr key={row.reference}>
            <SelectCell row={row} selection={selection} label={`chat ${row.request_id}`} />
            <td>
              <a href={chatAddress(row)} data-row>
                <When at={row.ended_at} />
              </a>
            </td>
            <td class="words" dir="auto">
              {row.prompt}
            </td>
            <td class="words" dir="auto">
              {row.answer}
            </td>
            <td class="whole">
              <ModelName name={row.model} /> <span class="tag">version {row.step}</span>
            </td>
            <td class="number">{row.usage.completion_tokens}</td>
            <td class="number">{latencyText(row)}</td>
            <td>{row.owner}</td>
          </tr>
        )}
      </PagedTable>
    </View>
  );
}

function NoChats({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="muted">No recorded chats match these filters.</p>;
  return (
    <Empty
      icon="chats"
      title="No recorded chats yet"
      commands={[`npx hone chat <entity/project/model> "Hello" --url ${location.origin}`]}
    >
      Hone records each answer of a trained model, so that people can judge it and jobs can train on it.
    </Empty>
  );
}

/** Loads the chats with their messages. */
function wholeChats(hone: Hone, rows: readonly StoredChatCompletion[]): Promise<readonly object[]> {
  return Promise.all(
    rows.map(({ request_id: id, project_id: project }) => hone.recordings.get(id, { project })),
  );
}

/** Returns the time from the request to the end of the answer. */
function latencyText({ started_at: start, ended_at: end }: StoredChatCompletion): string {
  const ms = Date.parse(end) - Date.parse(start);
  return ms < 10_000 ? `${ms.toLocaleString("en")} ms` : durationText(ms / 1000);
}

function chatAddress({ project_id: project, request_id: id }: StoredChatCompletion): string {
  return addressOf("chats", [id], { project });
}

function ChatFilters({
  filters,
  onChange,
}: {
  readonly filters: Filters;
  readonly onChange: (filters: Filters) => void;
}) {
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) => onChange(filtersIn(filledIn(form)))}
      onClear={() => onChange({})}
    >
      <FilterText name="text" label="Words" value={filters.text} />
      <FilterChoice
        name="feedback"
        label="Feedback"
        value={filters.feedback}
        choices={[
          ["", "any"],
          ["any", "with"],
          ["none", "without"],
          ["vendor.reaction.1", "with a reaction"],
          ["vendor.note.1", "with a note"],
        ]}
      />
      <FilterText name="model" label="Model" value={filters.model} />
      <FilterText name="project" label="Project" value={filters.project} />
      <FilterText name="request_id" label="Request" value={filters.request_id} />
    </FilterForm>
  );
}
