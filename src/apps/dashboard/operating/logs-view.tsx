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
import { addLine, fieldsText, isWanted, levels, levelIn } from "./log-lines.ts";

/** Names of the filters in the URL. */
const names = ["level", "text"] as const;
/** Time before the page connects again after the connection was lost. */
const againMs = 3000;

export function LogsView({ hone }: { readonly hone: Hone }) {
  const filters = filtersNamed(names, place.value.query);
  const { lines, failure } = useLogLines(hone, levelIn(filters.level));
  const shown = lines?.filter((line) => isWanted(line, filters.text ?? ""));
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
  return (
    <WideTable label="Log lines">
      <thead>
        <tr>
          <th scope="col">time</th>
          <th scope="col">level</th>
          <th scope="col">message</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ id, time, level, message, fields }) => (
          <tr key={id}>
            <td class="whole" title={time}>
              {new Date(time).toLocaleTimeString()}
            </td>
            <td class={`log-${level}`}>{level}</td>
            <td class="log-message" dir="auto">
              {message}
              <small class="log-fields">{fieldsText(fields)}</small>
            </td>
          </tr>
        ))}
      </tbody>
    </WideTable>
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
          const page = await hone.server.logs({ level, limit: 100 }, { signal: visible }).first();
          setLines(page.data);
          setFailure(null);
          const after = page.data[0]?.id;
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
