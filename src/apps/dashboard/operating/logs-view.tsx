// View of the server's newest log lines, for administrators. New lines appear as the server writes them.
import { useEffect, useState } from "preact/hooks";
import type { LogLine } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { FilterChoice, FilterForm, FilterText } from "../components/filter-form.tsx";
import { filledIn, filtersNamed } from "../components/filters.ts";
import { Failure } from "../components/forms/failure.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { View, WideTable } from "../components/shown.tsx";
import { addressOf, go, place } from "../router.ts";
import { messageOf } from "../components/errors/error-text.ts";
import { pause, untilVisible, whileVisible } from "../visibility.ts";
import { session } from "../session.ts";
import { addLine, isOfPage, isWanted, levels, levelIn, linesMax, lineTexts } from "./log-lines.ts";

/** Names of the filters in the URL. */
const names = ["level", "text", "page"] as const;
/** Number of lines that the page shows at first, and adds on demand. */
const pageSize = 50;
/** Time before the page connects again after the connection was lost. */
const againMs = 3000;

export function LogsView({ hone }: { readonly hone: Hone }) {
  const filters = filtersNamed(names, place.value.query);
  const { lines, failure } = useLogLines(hone, levelIn(filters.level));
  const keyId = session.value?.key.id ?? "";
  const shown = lines?.filter(
    (line) => isWanted(line, filters.text ?? "") && (filters.page !== undefined || !isOfPage(line, keyId)),
  );
  return (
    <View title="Logs" lead="The newest log lines of this server, the newest first.">
      <FilterForm
        filters={filters}
        onSubmit={(form) => go(addressOf("logs", [], { ...filtersNamed(names, filledIn(form)) }))}
        onClear={() => go(addressOf("logs"))}
      >
        <FilterChoice
          name="level"
          label="Level, at least"
          value={levelIn(filters.level)}
          choices={levels.map((level) => [level, level] as const)}
        />
        <FilterText name="text" label="Contains" value={filters.text} />
        <label class="check" title="Requests for the page's files and live data, and reads with your key">
          <input
            type="checkbox"
            name="page"
            value="1"
            defaultChecked={filters.page !== undefined}
            onChange={(event) => event.currentTarget.form?.requestSubmit()}
          />
          Requests of this page
        </label>
      </FilterForm>
      <Failure of={failure} />
      {shown === undefined ? (
        failure === null && <Skeleton />
      ) : shown.length === 0 ? (
        <p class="muted">No log lines match these filters.</p>
      ) : (
        <Lines of={shown} />
      )}
    </View>
  );
}

function Lines({ of: lines }: { readonly of: readonly LogLine[] }) {
  const [count, setCount] = useState(pageSize);
  return (
    <>
      <WideTable label="Log lines">
        <thead>
          <tr>
            <th scope="col">time</th>
            <th scope="col">level</th>
            <th scope="col">message</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, count).map((line) => (
            <tr key={line.id}>
              <td class="whole" title={line.time}>
                {new Date(line.time).toLocaleTimeString()}
              </td>
              <td class={`log-${line.level}`}>{line.level}</td>
              <td class="log-message" dir="auto">
                {lineTexts(line).message}
                <small class="log-fields">{lineTexts(line).fields}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </WideTable>
      {lines.length > count && (
        <p class="links">
          <button type="button" onClick={() => setCount(count + pageSize)}>
            Show older lines
          </button>
          <span class="muted">
            {count} of {lines.length} lines
          </span>
        </p>
      )}
    </>
  );
}

/** Follows the server's log while the page is visible. */
function useLogLines(
  hone: Hone,
  level: LogLine["level"],
): { readonly lines: readonly LogLine[] | null; readonly failure: string | null } {
  const [lines, setLines] = useState<readonly LogLine[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const follow = async (): Promise<void> => {
      while (!signal.aborted) {
        await untilVisible(signal);
        const visible = whileVisible(signal);
        try {
          const stored: LogLine[] = [];
          for await (const { data } of hone.server.logs({ level, limit: 100 }, { signal: visible }).pages()) {
            stored.push(...data);
            setLines([...stored]);
            if (stored.length >= linesMax) break;
          }
          setFailure(null);
          const after = stored[0]?.id;
          const query = { level, ...(after !== undefined && { after }) };
          for await (const line of hone.server.watchLogs(query, { signal: visible, retries: 0 }))
            setLines((before) => addLine(before ?? [], line));
        } catch (error) {
          if (!visible.aborted) setFailure(messageOf(error));
        }
        await pause(againMs, signal);
      }
    };
    setLines(null);
    void follow();
    return () => leaving.abort();
  }, [hone, level]);
  return { lines, failure };
}
