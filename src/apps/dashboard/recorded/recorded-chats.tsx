// View of recorded chats, newest first, with filters, page by page.
import type { StoredChatCompletion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { AddToQueue } from "../components/tables/add-to-queue.tsx";
import { counted } from "../components/numbers.ts";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { Empty } from "../components/empty.tsx";
import { SavedViews } from "../components/menus/saved-views-menu.tsx";
import { DataList } from "../components/tables/data-list.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { inSteps } from "../components/tables/steps.ts";
import { layoutIn } from "../components/tables/table-layout.ts";
import { FilterChoice, FilterForm, FilterText, FilterTime } from "../components/filter-form.tsx";
import { filledIn, firstFound } from "../components/filters.ts";
import { listed } from "../components/paged-table.tsx";
import { timesIn } from "../components/forms/local-time.ts";
import { ProjectField, useProjects } from "../components/forms/projects.tsx";
import { View } from "../components/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { isModelId } from "../model/model-id.ts";
import { nameOf } from "../model/model-path.ts";
import { ModelPage } from "../model/model-page.tsx";
import { may, session } from "../session.ts";
import { useLoaded } from "../use-loaded.ts";
import { columnsWith } from "./recorded-columns.tsx";
import { askedPage, type Filters, filtersIn } from "./recorded-query.ts";

/** Interval in milliseconds at which the first page is reloaded. */
const everyMs = 10_000;
/** Number of rows of a page that is not shown. */
const rowsAtOnce = 100;

/** The list is a tab of a model if it shows the conversations of one model, which the address names by id. */
export function RecordedChats({ hone }: { readonly hone: Hone }) {
  const { model } = filtersIn(place.value.query);
  return isModelId(model) ? (
    <ChatsOfModel key={model} hone={hone} id={model} />
  ) : (
    <View
      title="Conversations"
      lead="Recorded answers of trained models, the newest first."
      actions={<SavedViews />}
    >
      <ChatList hone={hone} />
    </View>
  );
}

function ChatsOfModel({ hone, id }: { readonly hone: Hone; readonly id: string }) {
  const model = useLoaded((signal) => hone.models.get(id, { signal }), [hone, id]);
  return (
    <ModelPage id={id} model={model.value} tab="conversations" tools={<SavedViews />}>
      <ChatList hone={hone} />
    </ModelPage>
  );
}

function ChatList({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = filtersIn(query);
  const projects = useProjects(hone);
  const asked = askedPage(query, session.value?.key.entity ?? "");
  const isNewest = !query.has("after");
  const loaded = useLoaded(
    async (signal) => listed(await firstFound(hone.recordings.list(asked, { signal }).pages())),
    [hone, JSON.stringify(asked)],
    // A search takes seconds, so the page does not repeat it.
    isNewest && filters.text === undefined ? everyMs : null,
  );
  const project = asked.project ?? projects.value?.[0] ?? "";
  const types = useLoaded((signal) => feedbackTypes(hone, project, signal), [hone, project]);
  const names = useLoaded((signal) => modelNames(hone, signal), [hone]);
  const selection = useSelection<StoredChatCompletion>(({ reference }) => reference, JSON.stringify(filters));
  const remove = async (rows: readonly StoredChatCompletion[]): Promise<void> => {
    try {
      await inSteps(rows, ({ request_id: id, project_id: project }) =>
        hone.recordings.delete(id, { project }),
      );
      selection.clear();
    } finally {
      loaded.reload();
    }
  };
  return (
    <>
      <ChatFilters
        filters={filters}
        projects={projects.value ?? []}
        types={types.value ?? []}
        onChange={(chosen) => go(addressOf("conversations", [], { ...chosen, ...layoutIn(query) }))}
      />
      <DataList
        loaded={loaded}
        label="Recorded conversations"
        columns={columnsWith(names.value ?? new Map(), loaded.value?.rows ?? [])}
        idOf={({ reference }) => reference}
        nameOf={({ request_id: id }) => `conversation ${id}`}
        selection={selection}
        pages={(signal) => matchingChats(hone, filters, signal)}
        toolbar={(rows, tableOf) => (
          <BulkActions
            rows={rows}
            table={() => tableOf(rows)}
            name="conversations"
            load={() => wholeChats(hone, rows)}
            {...(may("train") && {
              removal: {
                what: counted(rows.length, "conversation"),
                names: rows.map(({ prompt }) => prompt),
                says: "The recorded messages, answers and tokens will be lost. Feedback about the answers stays.",
                act: () => remove(rows),
              },
            })}
          >
            {may("judge") && <AddToQueue hone={hone} chats={rows} />}
          </BulkActions>
        )}
        filters={filters}
        none={({ last }) =>
          last === null ? (
            <NoChats isFiltered={Object.keys(filters).length > 0} />
          ) : (
            "No matches so far; more conversations remain to be searched."
          )
        }
      />
    </>
  );
}

/** Types of feedback that the filter names in words. */
const usualTypes = [
  ["", "any"],
  ["any", "with"],
  ["none", "without"],
  ["vendor.reaction.1", "with a reaction"],
  ["vendor.note.1", "with a note"],
] as const;

/** Returns the other types of feedback in a project; none if the key may not list feedback. */
async function feedbackTypes(hone: Hone, project: string, signal: AbortSignal): Promise<readonly string[]> {
  if (project === "" || !may("readFeedback")) return [];
  const { types } = await hone.feedback.stats({ project_id: project }, { signal });
  return types.map(({ feedback_type: type }) => type);
}

/** Returns the full names of the newest 100 models, by id; none if the key may not list models. */
async function modelNames(hone: Hone, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  if (!may("readModels")) return new Map();
  const { data } = await hone.models.list({ limit: 100 }, { signal }).first();
  return new Map(data.map((model) => [model.id, nameOf(model)]));
}

function NoChats({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <p class="muted">No recorded conversations match these filters.</p>;
  return (
    <Empty
      icon="conversations"
      title="No recorded conversations yet"
      commands={[`npx hone chat <entity/project/model> "Hello" --url ${location.origin}`]}
    >
      Hone records each answer of a trained model, so that people can judge it and jobs can train on it.
    </Empty>
  );
}

/** Loads the chats with their messages. */
function wholeChats(hone: Hone, rows: readonly StoredChatCompletion[]): Promise<readonly object[]> {
  return inSteps(rows, ({ request_id: id, project_id: project }) => hone.recordings.get(id, { project }));
}

/** Reads all recorded chats that match the filters, the newest first, page by page. */
async function* matchingChats(
  hone: Hone,
  filters: Filters,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredChatCompletion[], void> {
  const asked = askedPage(new URLSearchParams(filters), session.value?.key.entity ?? "");
  const pages = hone.recordings.list({ ...asked, limit: rowsAtOnce }, { signal }).pages();
  for await (const { data } of pages) yield data;
}

function ChatFilters({
  filters,
  projects,
  types,
  onChange,
}: {
  readonly filters: Filters;
  readonly projects: readonly string[];
  /** Types of feedback that the filter offers. */
  readonly types: readonly string[];
  readonly onChange: (filters: Filters) => void;
}) {
  const { feedback = "" } = filters;
  const others = [...new Set([...types, feedback])].filter((type) =>
    usualTypes.every(([usual]) => usual !== type),
  );
  return (
    <FilterForm
      filters={filters}
      onSubmit={(form) => onChange(filtersIn(timesIn(filledIn(form), ["since", "until"])))}
      onClear={() => onChange({})}
    >
      <FilterText name="text" label="Words" value={filters.text} />
      <FilterChoice
        name="feedback"
        label="Feedback"
        value={feedback}
        choices={[...usualTypes, ...others.map((type) => [type, `with ${type}`] as const)]}
      />
      <FilterText name="model" label="Model" value={filters.model} />
      <ProjectField projects={projects} value={filters.project ?? ""} />
      <FilterText name="request_id" label="Request" value={filters.request_id} />
      <FilterText name="metadata" label="Metadata" value={filters.metadata} placeholder="name=value" />
      <FilterTime name="since" label="Answered from" value={filters.since} />
      <FilterTime name="until" label="Answered before" value={filters.until} />
    </FilterForm>
  );
}
