// Recorded chats: what trained models answered, the newest first, filtered, a page at a time.
import type { RecordedOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Pager, Shown, View, When, WideTable } from "../parts/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { askedPage, type FilterName, type Filters, filtersIn } from "./recorded-query.ts";

/** How often the newest page is read again. */
const everyMs = 10_000;

/** Pages that found nothing are gone on from so often: each looked at many chats. */
const emptyPagesMax = 20;

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

/** What is typed counts once it is sent; a choice counts at once. */
function ChatFilters({
  filters,
  onChange,
}: {
  readonly filters: Filters;
  readonly onChange: (filters: Filters) => void;
}) {
  return (
    <form
      class="filters"
      aria-label="Filters"
      // Made anew where the address changes by other means than the form.
      key={JSON.stringify(filters)}
      onSubmit={(event) => {
        event.preventDefault();
        onChange(filtersOf(event.currentTarget));
      }}
    >
      <label>
        Feedback
        <select
          name="feedback"
          defaultValue={filters.feedback ?? ""}
          onChange={(event) => event.currentTarget.form?.requestSubmit()}
        >
          {[
            ["", "with or without"],
            ["any", "with"],
            ["none", "without"],
            ["vendor.reaction.1", "with a reaction"],
            ["vendor.note.1", "with a note"],
          ].map(([value, title]) => (
            <option key={value} value={value} selected={value === (filters.feedback ?? "")}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <TextField name="model" label="Model" value={filters.model} />
      <TextField name="project" label="Project" value={filters.project} />
      <TextField name="request_id" label="Request" value={filters.request_id} />
      <button type="submit">Filter</button>
      {Object.keys(filters).length > 0 && (
        <button type="button" class="plain" onClick={() => onChange({})}>
          Clear
        </button>
      )}
    </form>
  );
}

function TextField({
  name,
  label,
  value = "",
}: {
  readonly name: FilterName;
  readonly label: string;
  readonly value: string | undefined;
}) {
  return (
    <label>
      {label}
      <input name={name} defaultValue={value} />
    </label>
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
  let emptyCount = 0;
  for await (const page of hone.recordings.list(askedPage(query), { signal }).pages()) {
    emptyCount += 1;
    const { data, last_id: lastId, has_more: hasMore } = page;
    if (data.length === 0 && hasMore && emptyCount < emptyPagesMax) continue;
    return { rows: data, older: hasMore ? lastId : null };
  }
  return { rows: [], older: null };
}
