// View of a trace: its calls as a tree with a bar for the time of each, and the details of the selected call.
import { useState } from "preact/hooks";
import type { WeaveCall } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Icon } from "../components/icon.tsx";
import { counted, msText } from "../components/numbers.ts";
import { Shown, View } from "../components/shown.tsx";
import { addressOf, place } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import { callCost, callTokens } from "./call-cost.ts";
import { CallDetail } from "./call-detail.tsx";
import {
  callName,
  durationMs,
  type Timeline,
  timelineOf,
  topmost,
  type TreeRow,
  treeRows,
  visibleRows,
} from "./call-tree.ts";
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
        {
          project_id: project,
          filter: { trace_ids: [traceId] },
          limit: callsMax,
          columns: outlineColumns,
          include_costs: true,
        },
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
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const rows = treeRows(calls);
  const selected = calls.find(({ id }) => id === asked) ?? rows[0]?.call;
  const timeline = timelineOf(calls);
  // A client may add up the tokens of the calls below a call, so these would count twice.
  const counting = topmost(rows, (call) => callTokens(call) !== null);
  const tokens = counting
    .flatMap((call) => callTokens(call) ?? [])
    .reduce((sum, one) => sum + one.prompt + one.answer, 0);
  const cost = callCost(...topmost(rows, (call) => callCost(call) !== null));
  const parents = rows.filter(({ insideCount }) => insideCount > 0);
  const toggle = (id: string): void =>
    setCollapsed(
      collapsed.has(id)
        ? new Set([...collapsed].filter((other) => other !== id))
        : new Set([...collapsed, id]),
    );
  return (
    <div class="beside trace-beside">
      <div>
        <p class="muted">
          {[
            counted(calls.length, "call"),
            ...(tokens === 0 ? [] : [counted(tokens, "token")]),
            ...(cost === null ? [] : [cost]),
          ].join(", ")}
        </p>
        {calls.length === callsMax && <p class="muted">Only the first {callsMax} calls are shown.</p>}
        <div class="trace">
          <div class="trace-head">
            {parents.length > 0 && (
              <button
                type="button"
                class="plain"
                onClick={() =>
                  setCollapsed(collapsed.size > 0 ? new Set() : new Set(parents.map(({ call }) => call.id)))
                }
              >
                {collapsed.size > 0 ? "Expand all" : "Collapse all"}
              </button>
            )}
            <Axis of={timeline} />
          </div>
          <ol aria-label="Calls">
            {visibleRows(rows, collapsed).map((row) => (
              <Row
                key={row.call.id}
                traceId={traceId}
                of={row}
                isSelected={row.call === selected}
                isCollapsed={collapsed.has(row.call.id)}
                onToggle={() => toggle(row.call.id)}
                timeline={timeline}
              />
            ))}
          </ol>
        </div>
      </div>
      <aside>{selected !== undefined && <CallDetail key={selected.id} hone={hone} of={selected} />}</aside>
    </div>
  );
}

function Axis({ of: { ticksMs, tickLength } }: { readonly of: Timeline }) {
  return (
    <span class="trace-bar" aria-hidden="true">
      {ticksMs.map((ms, index) => (
        <small key={ms} style={{ insetInlineStart: `${index * tickLength}%` }}>
          {msText(ms)}
        </small>
      ))}
    </span>
  );
}

function Row({
  traceId,
  of: { call, depth, insideCount },
  isSelected,
  isCollapsed,
  onToggle,
  timeline: { barOf, tickLength },
}: {
  readonly traceId: string;
  readonly of: TreeRow<WeaveCall>;
  readonly isSelected: boolean;
  readonly isCollapsed: boolean;
  readonly onToggle: () => void;
  readonly timeline: Timeline;
}) {
  const { start, length } = barOf(call);
  const indent = 16 * Math.min(depth, indentMax);
  return (
    <li class={isSelected ? "is-selected" : undefined}>
      {insideCount > 0 && (
        <button
          type="button"
          class="plain icon-only trace-toggle"
          style={{ insetInlineStart: `${indent + 4}px` }}
          aria-expanded={!isCollapsed}
          aria-label={`Calls in ${callName(call)}`}
          onClick={onToggle}
        >
          <Icon of="chevron" />
        </button>
      )}
      <a
        href={addressOf("traces", [traceId], { project: call.project_id, call: call.id })}
        aria-current={isSelected ? "true" : undefined}
        data-row
      >
        <span class="trace-name" dir="auto" style={{ paddingInlineStart: `${indent + 28}px` }}>
          {callName(call)}
          {isCollapsed && <span class="muted"> +{insideCount.toLocaleString("en")}</span>}
        </span>
        {call.exception !== null && <span class="failure">failed</span>}
        <span class="trace-time">{msText(durationMs(call))}</span>
        <span class="trace-bar" aria-hidden="true" style={{ backgroundSize: `${tickLength}% 100%` }}>
          <i
            class={call.exception === null ? undefined : "is-failed"}
            style={{ marginInlineStart: `${start}%`, width: `${length}%` }}
          />
        </span>
      </a>
    </li>
  );
}
