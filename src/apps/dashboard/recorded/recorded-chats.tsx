// View of recorded chats, newest first, with filters, page by page.
import type { StoredChatCompletion } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
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
    isNewest ? everyMs : null,
  );
  return (
    <View title="Chats">
      <ChatFilters filters={filters} onChange={(chosen) => go(addressOf("chats", [], chosen))} />
      <PagedTable
        loaded={loaded}
        label="Recorded chats"
        columns={["answered", "prompt", "answer", "model", { number: "answer tokens" }, "owner"]}
        none={({ last }) =>
          last === null
            ? "No recorded chats found. Hone records answers of trained models."
            : "No matches so far; more chats remain to be searched."
        }
        first={isNewest ? null : addressOf("chats", [], filters)}
        nextOf={(last) => addressOf("chats", [], { ...filters, after: last })}
      >
        {(row) => (
          <tr key={row.reference}>
            <td>
              <a href={chatAddress(row)} data-row>
                <When at={row.ended_at} />
              </a>
            </td>
            <td class="words">{row.prompt}</td>
            <td class="words">{row.answer}</td>
            <td>
              {row.model}, version {row.step}
            </td>
            <td class="number">{row.usage.completion_tokens}</td>
            <td>{row.owner}</td>
          </tr>
        )}
      </PagedTable>
    </View>
  );
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
