// Recorded chats: what trained models answered, the newest first, filtered, a page at a time.
import type { RecordedOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FilterChoice, FilterForm, FilterText } from "../parts/filter-form.tsx";
import { firstFound } from "../parts/filters.ts";
import { Pager, Shown, View, When, WideTable } from "../parts/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { askedPage, type Filters, filtersIn } from "./recorded-query.ts";

/** How often the newest page is read again. */
const everyMs = 10_000;

export function RecordedChats({ hone }: { readonly hone: Hone }) {
  const { query } = place.value;
  const filters = filtersIn(query);
  const isNewest = !query.has("after");
  const loaded = useLoaded(
    (signal) => readPage(hone, query, signal),
    [hone, query.toString()],
    isNewest ? everyMs : null,
  );
  return (
    <View title="Chats">
      <ChatFilters filters={filters} onChange={(chosen) => go(addressOf("chats", [], chosen))} />
      <Shown loaded={loaded}>
        {({ rows, older }) => (
          <>
            {rows.length === 0 ? (
              <p>
                {older === null
                  ? "None that these filters let through. What trained models answer is recorded."
                  : "None found yet; there are more to look at."}
              </p>
            ) : (
              <ChatTable rows={rows} />
            )}
            <Pager
              first={isNewest ? null : addressOf("chats", [], filters)}
              next={older === null ? null : addressOf("chats", [], { ...filters, after: older })}
            />
          </>
        )}
      </Shown>
    </View>
  );
}

function ChatTable({ rows }: { readonly rows: readonly RecordedOutline[] }) {
  return (
    <WideTable label="Recorded chats">
      <thead>
        <tr>
          <th scope="col">asked</th>
          <th scope="col">prompt</th>
          <th scope="col">answer</th>
          <th scope="col">model</th>
          <th scope="col" class="number">
            tokens
          </th>
          <th scope="col">by</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
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
        ))}
      </tbody>
    </WideTable>
  );
}

function chatAddress({ project_id: project, request_id: id }: RecordedOutline): string {
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
    <FilterForm filters={filters} onSubmit={(form) => onChange(filtersOf(form))} onClear={() => onChange({})}>
      <FilterChoice
        name="feedback"
        label="Feedback"
        value={filters.feedback}
        choices={[
          ["", "with or without"],
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

function filtersOf(form: HTMLFormElement): Filters {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form))
    if (typeof value === "string" && value.trim() !== "") given.set(name, value.trim());
  return filtersIn(given);
}

interface ListedPage {
  readonly rows: readonly RecordedOutline[];
  /** Behind which place older ones follow; null where none do. */
  readonly older: string | null;
}

async function readPage(hone: Hone, query: URLSearchParams, signal: AbortSignal): Promise<ListedPage> {
  const page = await firstFound(hone.recordings.list(askedPage(query), { signal }).pages());
  return page === null
    ? { rows: [], older: null }
    : { rows: page.data, older: page.has_more ? page.last_id : null };
}
