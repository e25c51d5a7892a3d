// View of a trace: its calls as a tree with a bar for the time of each, and the details of the selected call.
import type { WeaveCall } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { msText } from "../components/numbers.ts";
import { Shown, View } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { CallDetail } from "./call-detail.tsx";
import { barsOf, callName, durationMs, treeRows } from "./call-tree.ts";
import { outlineColumns, readCalls } from "./read-calls.ts";

/** Maximum number of calls that are shown. */
const callsMax = 500;
/** Calls deeper than this are not indented further. */
const indentMax = 12;

export function TraceView({ hone, traceId }: { readonly hone: Hone; readonly traceId: string }) {
  const { query } = place.value;
  const project = query.get("project") ?? "";
  const loaded = useLoaded(
    (signal) =>
      readCalls(
        hone,
        // The details of the selected call are loaded separately, because inputs and outputs can be large.
        { project_id: project, filter: { trace_ids: [traceId] }, limit: callsMax, columns: outlineColumns },
        signal,
      ),
    [hone, traceId, project],
  );
  const root = loaded.value?.find(({ parent_id: parent }) => parent === null) ?? loaded.value?.[0];
  return (
    <View
      title={root === undefined ? "Trace" : callName(root)}
      path={[["Traces", addressOf("traces", [], { project })]]}
    >
      <Shown loaded={loaded}>
        {(calls) =>
          calls.length === 0 ? (
            <p>There is no trace with this id in the project {project}.</p>
          ) : (
            <Trace hone={hone} traceId={traceId} calls={calls} />
          )
        }
      </Shown>
    </View>
  );
}

function Trace({
  hone,
  traceId,
  calls,
}: {
  readonly hone: Hone;
  readonly traceId: string;
  readonly calls: readonly WeaveCall[];
}) {
  const asked = place.value.query.get("call");
  const rows = treeRows(calls);
  const selected = calls.find(({ id }) => id === asked) ?? rows[0]?.call;
  const barOf = barsOf(calls);
  return (
    <div class="beside">
      <div>
        {calls.length === callsMax && <p class="muted">Only the first {callsMax} calls are shown.</p>}
        <ol class="trace" aria-label="Calls">
          {rows.map(({ call, depth }) => {
            const { start, length } = barOf(call);
            const isSelected = call === selected;
            const address = addressOf("traces", [traceId], { project: call.project_id, call: call.id });
            return (
              <li key={call.id} class={isSelected ? "is-selected" : undefined}>
                <a
                  href={address}
                  aria-current={isSelected ? "true" : undefined}
                  style={{ paddingInlineStart: `${8 + 16 * Math.min(depth, indentMax)}px` }}
                  data-row
                >
                  <span class="trace-name" dir="auto">
                    {callName(call)}
                  </span>
                  {call.exception !== null && <span class="failure">failed</span>}
                  <span class="trace-time">{msText(durationMs(call))}</span>
                  <span class="trace-bar" aria-hidden="true">
                    <i
                      class={call.exception === null ? undefined : "is-failed"}
                      style={{ marginInlineStart: `${start}%`, width: `${length}%` }}
                    />
                  </span>
                </a>
              </li>
            );
          })}
        </ol>
      </div>
      <aside>{selected !== undefined && <CallDetail key={selected.id} hone={hone} of={selected} />}</aside>
    </div>
  );
}
